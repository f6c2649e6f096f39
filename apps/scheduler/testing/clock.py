"""A clock that only changes when it is set."""

from __future__ import annotations


class FakeClock:
    def __init__(self, now: float = 0.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def set(self, now: float) -> None:
        self._now = now

    def step(self, seconds: float) -> None:
        self._now += seconds
