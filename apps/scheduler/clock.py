"""The time the scheduler goes by: seconds since the Unix epoch, from an object that is handed in.

Nothing in the core reads the system's clock itself, so that a test, a replay or a restored queue
can say what time it is.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the Unix epoch, to the microsecond at best."""


class RealClock:
    """The system's wall clock: timestamps outlive the process, so no monotonic clock would do."""

    def now(self) -> float:
        return time.time()
