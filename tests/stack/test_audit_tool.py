"""`make audit` does not pass if no database of advisories has answered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "audit.py"


def test_an_audit_without_a_database_fails_loudly(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    lock.write_text(f"example==1.0 --hash=sha256:{'0' * 64}\n")
    # nothing listens there
    unreachable = dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, TOOL, lock],
        env={**os.environ, **unreachable, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stdout
    assert "NOT AUDITED" in done.stderr
    assert "pypi: " in done.stderr and "osv: " in done.stderr


def advisory(name: str, *events: dict[str, str], **more: Any) -> dict[str, Any]:
    affected = {
        "package": {"ecosystem": "PyPI", "name": name},
        "ranges": [{"type": "ECOSYSTEM", "events": list(events)}],
    }
    return {"id": f"ADV-{name}", "modified": "2026-11-01T00:00:00Z", "affected": [affected], **more}


def audit(folder: Path, lock: str, *known: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    (folder / "requirements.lock").write_text(lock)
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for number, each in enumerate(known):
            archive.writestr(f"{number}.json", json.dumps(each))
    return subprocess.run(
        [sys.executable, TOOL, folder / "requirements.lock", "--database", folder / "all.zip"],
        capture_output=True,
        text=True,
        check=False,
    )


DJANGO = advisory("Django", {"introduced": "3.0"}, {"fixed": "3.2.1"})


@pytest.mark.parametrize(
    ("version", "events", "is_affected"),
    [
        ("1.0", [{"introduced": "0"}, {"fixed": "1.1"}], True),
        ("1.1", [{"introduced": "0"}, {"fixed": "1.1"}], False),
        ("1.10", [{"introduced": "1.2"}, {"fixed": "1.9"}], False),
        ("1.1", [{"introduced": "0"}, {"last_affected": "1.1"}], True),
        ("1.2", [{"introduced": "0"}, {"last_affected": "1.1"}], False),
        ("2.5", [{"introduced": "0"}, {"fixed": "1.1"}, {"introduced": "2.0"}], True),
    ],
)
def test_a_file_of_advisories_is_read_without_a_network(
    tmp_path: Path, version: str, events: list[dict[str, str]], is_affected: bool
) -> None:
    lock = f"An.Example=={version} \\\n    --hash=sha256:00\n"
    done = audit(tmp_path, lock, DJANGO, advisory("an-example", *events))
    assert done.returncode == int(is_affected), done.stderr
    assert ("ADV-an-example" in done.stdout) is is_affected
    assert "changed 2026-11-01" in done.stdout


def test_withdrawn_advisories_and_files_without_advisories_do_not_count(tmp_path: Path) -> None:
    gone = advisory("example", {"introduced": "0"}, withdrawn="2026-10-01T00:00:00Z")
    assert audit(tmp_path, "example==1.0\n", DJANGO, gone).returncode == 0
    empty = audit(tmp_path, "example==1.0\n", gone)
    assert empty.returncode == 2
    assert "NOT AUDITED" in empty.stderr and "django==3.2.0" in empty.stderr
