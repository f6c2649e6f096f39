"""The time of an extension point, and of each of its plugins."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter_ns

from apps.scheduler.framework.cycle_state import CycleState


class Stopwatch:
    """Runs until ``stop``; the time since the last ``lap`` belongs to the plugin of the next.

    Times of a point that runs twice in a cycle are added.
    """

    __slots__ = ("_before", "_point", "_spent", "_start", "_state")

    def __init__(self, state: CycleState, point: str) -> None:
        self._state = state
        self._point = point
        self._spent = state.plugin_durations.setdefault(point, {})
        self._start = self._before = perf_counter_ns()

    def lap(self, plugin: str) -> None:
        now = perf_counter_ns()
        self._spent[plugin] = self._spent.get(plugin, 0) + now - self._before
        self._before = now

    def note(self, plugin: str) -> None:
        """List the plugin, which takes no time unless a ``lap`` follows."""
        self._spent.setdefault(plugin, 0)

    def note_all(self, plugins: Mapping[str, int]) -> None:
        """``note`` for all keys of ``plugins``, whose values are 0."""
        spent = self._spent
        if spent:
            for plugin in plugins:
                spent.setdefault(plugin, 0)
        else:
            spent.update(plugins)

    def stop(self) -> None:
        durations = self._state.durations
        durations[self._point] = durations.get(self._point, 0) + perf_counter_ns() - self._start
