"""`make audit` does not pass if no database of advisories has answered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
