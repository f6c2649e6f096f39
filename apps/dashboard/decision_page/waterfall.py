"""The time an attempt took: its extension points one after the other, as parts of the whole."""

from __future__ import annotations

from dataclasses import dataclass

from apps.scheduler.decision import Decision


@dataclass(frozen=True, slots=True)
class Span:
    """One extension point: its time, where its bar starts and how wide it is (0 to 100)."""

    name: str
    nanoseconds: int
    start: float
    width: float

    @property
    def share(self) -> int:
        """Percent of the whole."""
        return round(self.width)


def waterfall(decision: Decision) -> list[Span]:
    """The extension points in the order they ran."""
    whole = sum(decision.durations.values()) or 1
    found, before = [], 0
    for name, nanoseconds in decision.durations.items():
        found.append(Span(name, nanoseconds, 100 * before / whole, 100 * nanoseconds / whole))
        before += nanoseconds
    return found
