"""The scheduler's clock: seconds since the Unix epoch, from an injected object.

The core never reads the system's clock itself, so that a test, a replay or a restored queue can set
the time.
"""

from __future__ import annotations

import time
from typing import Protocol


def to_microseconds(seconds: float) -> float:
    """The seconds, rounded to whole microseconds as times of a clock are."""
    return round(seconds * 1e6) / 1e6


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the Unix epoch, to the microsecond at best."""


class RealClock:
    """The system's wall clock; not a monotonic one, since timestamps outlive the process."""

    def now(self) -> float:
        return time.time()


class VirtualClock:
    """A clock that only moves when it is told to."""

    def __init__(self, at: float = 0.0) -> None:
        #: seconds since the Unix epoch
        self.at = at

    def now(self) -> float:
        return self.at

    def step(self, seconds: float) -> None:
        self.at += seconds
