"""How long the tests of a file take: recorded by ``pytest --keep-durations``, and committed.

A unit is what one process of a test run gets at once: a file, except for those below.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

RECORD = Path(__file__).with_suffix(".json")
ROOT = Path(__file__).parents[1]
#: Tests of whole sites are one unit: two sites never compete for the machine.
SITES = "sites"
#: What a file of such tests contains.
_STARTS_SITE = "RunningSite("
#: Each part of the walk over all pages is a unit.
WALK = "tests/browser/test_every_page.py::test_every_page_fits_its_window_and_is_accessible"
#: Of a test of which nothing is recorded.
_SECONDS = 0.25

_measured: Counter[str] = Counter()


def unit_of(nodeid: str) -> str:
    path = nodeid.partition("::")[0]
    if path.startswith(("tests/stack/", "tests/faults/")) and _starts_site(path):
        return SITES
    return nodeid if nodeid.startswith(WALK) else path


@cache
def _starts_site(path: str) -> bool:
    return _STARTS_SITE in (ROOT / path).read_text()


def estimate(nodeids: Iterable[str]) -> Mapping[str, float]:
    """How many seconds the units of these tests take."""
    known = json.loads(RECORD.read_text())
    sizes = Counter(map(unit_of, nodeids))
    return {unit: known.get(unit, _SECONDS * size) for unit, size in sizes.items()}


def measure(nodeid: str, seconds: float) -> None:
    """Add what one phase of a test took to its unit."""
    _measured[unit_of(nodeid)] += seconds


def keep() -> None:
    """Write what was measured in this run; files that are deleted are forgotten."""
    merged = {**json.loads(RECORD.read_text()), **_measured}
    kept = {unit: round(seconds, 1) for unit, seconds in merged.items() if _exists(unit)}
    RECORD.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def _exists(unit: str) -> bool:
    return unit == SITES or (ROOT / unit.partition("::")[0]).exists()
