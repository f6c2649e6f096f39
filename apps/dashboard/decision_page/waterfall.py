"""The duration of an attempt: the extension points in order, and the plugins of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.scheduler.decision import Decision


@dataclass(frozen=True, slots=True)
class Span:
    """A duration; its bar starts at `start` and is `width` wide, in percent of the attempt."""

    name: str
    nanoseconds: int
    start: float
    width: float

    @property
    def share(self) -> int:
        """Percent of the attempt."""
        return round(self.width)


@dataclass(frozen=True, slots=True)
class Stage:
    """One extension point and its plugins, in the order they ran."""

    span: Span
    plugins: Sequence[Span] = ()


def waterfall_stages(decision: Decision) -> list[Stage]:
    """The extension points in the order they ran."""
    whole = sum(decision.durations.values()) or 1
    stages, before = [], 0
    for name, nanoseconds in decision.durations.items():
        plugins = decision.plugin_durations.get(name, {})
        span = _span(name, nanoseconds, before, whole)
        stages.append(Stage(span, _plugin_spans(plugins, before, whole)))
        before += nanoseconds
    return stages


def _plugin_spans(plugins: Mapping[str, int], before: int, whole: int) -> list[Span]:
    """The plugins of one extension point, from its start; the rest of its time has no bar."""
    spans = []
    for name, nanoseconds in plugins.items():
        spans.append(_span(name, nanoseconds, before, whole))
        before += nanoseconds
    return spans


def _span(name: str, nanoseconds: int, before: int, whole: int) -> Span:
    return Span(name, nanoseconds, 100 * before / whole, 100 * nanoseconds / whole)
