"""Health checks of containers without a port: a process touches a file while it works.

    python -m schedweb.alive      # exits with 1 if the file SCHEDWEB_ALIVE_FILE is missing or old

Without the variable nothing is written.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

VARIABLE = "SCHEDWEB_ALIVE_FILE"
#: A worker and the front touch it every second, beat at least every second.
INTERVAL_SECONDS = 1.0
OLD_SECONDS = 30.0
#: A part of a process that has not worked for so long is stuck: longer than it waits for a broker.
STUCK_SECONDS = 60.0


def touch() -> None:
    """Record that this process works."""
    if path := os.environ.get(VARIABLE):
        Path(path).touch()


class Living(threading.Thread):
    """Shows that a process runs, for as long as it does its work.

    A thread of its own, because the one that works also waits for others: while a broker is away,
    nobody may take the process for one that hangs.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(name="living", daemon=True)
        self._clock = clock
        self._worked_at = clock()
        self._stopped = threading.Event()

    def note_work(self) -> None:
        """The part of the process that may get stuck works."""
        self._worked_at = self._clock()

    def run(self) -> None:
        while not self._stopped.wait(INTERVAL_SECONDS):
            self.show()

    def show(self) -> None:
        """Touch the file, unless the process is stuck."""
        if self._clock() - self._worked_at < STUCK_SECONDS:
            touch()

    def stop(self) -> None:
        self._stopped.set()
        self.join()


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
