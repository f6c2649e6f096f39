"""Health checks of containers without a port: a process touches a file while it works.

    python -m schedweb.alive      # exits with 1 if the file SCHEDWEB_ALIVE_FILE is missing or old

Without the variable nothing is written.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

VARIABLE = "SCHEDWEB_ALIVE_FILE"
#: A worker touches it every two seconds, beat at least every second.
INTERVAL_SECONDS = 2.0
OLD_SECONDS = 30.0


def touch() -> None:
    """Record that this process works."""
    if path := os.environ.get(VARIABLE):
        Path(path).touch()


def problem() -> str:
    """Why the process counts as dead; "" if it works."""
    path = os.environ.get(VARIABLE)
    if not path:
        return f"{VARIABLE} is not set"
    try:
        age = time.time() - Path(path).stat().st_mtime
    except OSError as error:
        return f"{path}: {error.strerror}"
    return f"{path} is {age:.0f} s old" if age > OLD_SECONDS else ""


if __name__ == "__main__":
    sys.exit(problem() or 0)
