"""Curves of usage over time, as the annotations of pods and nodes describe them.

    60%             constant, in percent
    200m            constant, as a quantity
    50%..120%       a new value in this range for each window
    50%..120%/10m   rises from the first to the second value and falls back within the period

A percentage is one of the container's request, or of the node's capacity. Without a request, it
counts from `IDLE`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from apps import quantity
from apps.scheduler.config.durations import DurationError, parse_duration

CPU: Final = "kubelet.schedweb.dev/usage-cpu"
MEMORY: Final = "kubelet.schedweb.dev/usage-memory"
DISK: Final = "kubelet.schedweb.dev/usage-disk"
PIDS: Final = "kubelet.schedweb.dev/usage-pids"

_PERCENT = re.compile(r"(\d+(?:\.\d+)?)%")
_NANO = 10**9


@dataclass(frozen=True, slots=True)
class Level:
    """An amount: a share of the request, or absolute in cores or bytes."""

    value: float
    is_share: bool

    def amount(self, request: float) -> float:
        return self.value * request if self.is_share else self.value


@dataclass(frozen=True, slots=True)
class Curve:
    """Usage between two levels; with a period of 0 seconds anywhere between them."""

    low: Level
    high: Level
    period: float = 0.0

    @property
    def varies(self) -> bool:
        """Whether the amount depends on the time."""
        return self.low != self.high

    def amount(self, request: float, seconds: float, draw: float) -> float:
        """Cores or bytes at a time; `draw`, from 0 to 1, selects where there is no period."""
        low, high = self.low.amount(request), self.high.amount(request)
        return low + (high - low) * (self._height(seconds) if self.period else draw)

    def _height(self, seconds: float) -> float:
        phase = seconds % self.period / self.period
        return 1 - abs(2 * phase - 1)


def share(low: float, high: float) -> Curve:
    """A curve between two shares of the request, without a period."""
    return Curve(Level(low, True), Level(high, True))


def parse_curve(text: str | None) -> Curve | None:
    """The curve in an annotation; None if it is absent or invalid."""
    levels, slash, period = (text or "").strip().partition("/")
    low, between, high = levels.partition("..")
    try:
        start = _level(low)
        end = _level(high) if between else start
        seconds = parse_duration(period.strip()) if slash else 0.0
    except (DurationError, quantity.QuantityError):
        return None
    return Curve(start, end, seconds) if seconds > 0 or not slash else None


def _level(text: str) -> Level:
    """Raises QuantityError for anything but a percentage or a quantity that is not negative."""
    percent = _PERCENT.fullmatch(text.strip())
    if percent:
        return Level(float(percent[1]) / 100, True)
    nanos = quantity.parse(text.strip()).nanos
    if nanos < 0:
        raise quantity.QuantityError("usage is not negative")
    return Level(nanos / _NANO, False)
