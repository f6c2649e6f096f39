"""No document has a count by hand of what code counts, and its limits are those of the code."""

from __future__ import annotations

import re
from typing import Final

from django.conf import settings

from apps.people import throttling
from tests.documents.blocks import DOCUMENTS, ROOT

#: Records of what was measured once: their counts are those of the time.
RECORDS: Final = ("docs/adr/", "docs/performance.md", "docs/openb.md")
COUNT: Final = re.compile(
    r"\b(\d[\d,]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty[-a-z]*|thirty)"
    r" (scenarios|exercises|notebooks|recorded (cases|expressions)|operations of the (REST )?API|"
    r"feature gates|in-tree plugins|admission plugins)\b",
    re.IGNORECASE,
)


def test_what_code_counts_is_not_counted_by_hand() -> None:
    found = [
        f"{document}: {match[0]}"
        for document in DOCUMENTS
        if not document.startswith(RECORDS)
        for match in COUNT.finditer((ROOT / document).read_text(encoding="utf-8"))
    ]
    assert not found


def test_limits_of_wrong_passwords_are_those_of_the_code() -> None:
    text = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    table = text.split("| wrong passwords | limit |\n")[1].split("\n\n")[0]
    cells = [row.rpartition("| ")[2] for row in table.split("\n")[1:]]
    limits = [int(cell.split(";")[0].strip(" |")) for cell in cells]
    most = settings.AXES_FAILURE_LIMIT
    assert limits == [most, most, throttling._OF_ADDRESS, throttling._OF_NAME]
    assert f"within {settings.AXES_COOLOFF_TIME.seconds // 60} minutes is" in text
