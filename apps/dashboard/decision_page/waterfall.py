"""The time an attempt took: extension points one after the other, the plugins of each in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.scheduler.decision import Decision


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time, where its bar starts and how wide it is (0 to 100)."""

    name: str
    nanoseconds: int
    start: float
    width: float

    @property
    def share(self) -> int:
        """Percent of the whole."""
        return round(self.width)


@dataclass(frozen=True, slots=True)
class Stage:
    """One extension point and its plugins, in the order they ran."""

    span: Span
    plugins: Sequence[Span] = ()


def waterfall(decision: Decision) -> list[Stage]:
    """The extension points in the order they ran."""
    whole = sum(decision.durations.values()) or 1
    stages, before = [], 0
    for name, nanoseconds in decision.durations.items():
        plugins = decision.plugin_durations.get(name, {})
        span = _span(name, nanoseconds, before, whole)
        stages.append(Stage(span, _in_turn(plugins, before, whole)))
        before += nanoseconds
    return stages


def _in_turn(plugins: Mapping[str, int], before: int, whole: int) -> list[Span]:
    """The plugins of one extension point; what it does between them has no bar."""
    spans = []
    for name, nanoseconds in plugins.items():
        spans.append(_span(name, nanoseconds, before, whole))
        before += nanoseconds
    return spans


def _span(name: str, nanoseconds: int, before: int, whole: int) -> Span:
    return Span(name, nanoseconds, 100 * before / whole, 100 * nanoseconds / whole)
