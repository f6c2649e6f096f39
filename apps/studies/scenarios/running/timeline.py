"""When things happen in a run: a list of calls in the order of their times."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from apps.scheduler.clock import to_microseconds
from apps.studies.scenarios.language.checking import order_of
from apps.studies.scenarios.language.types import Operation, Scenario, Workload

Call = Callable[[], None]


@dataclass(slots=True)
class Timeline:
    """Calls by time, in seconds since the start; calls of one time in the order they were added."""

    _heap: list[tuple[float, int, Call]] = field(default_factory=list)
    _serial: Iterator[int] = field(default_factory=count)

    def add(self, at: float, call: Call) -> None:
        heapq.heappush(self._heap, (to_microseconds(at), next(self._serial), call))

    def next_time(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> Iterator[Call]:
        """Remove and return the calls up to `now`."""
        while self._heap and self._heap[0][0] <= now:
            yield heapq.heappop(self._heap)[2]


def start_times(scenario: Scenario, length: Callable[[Workload, float], float]) -> list[float]:
    """When each workload and then each operation starts.

    `length` is how long after its start the last pod of a workload arrives.
    """
    entries: list[Workload | Operation] = [*scenario.workloads, *scenario.operations]
    named = {each.name: each for each in entries if each.name}
    chains = order_of(scenario)
    ends: dict[str, float] = {}

    def end_of(name: str) -> float:
        if name not in ends:
            each = named[name]
            start = _start(each, ends)
            ends[name] = start + _length(each, start, length)
        return ends[name]

    for name, chain in chains.items():
        for before in reversed(chain[1:]):
            end_of(before)
        end_of(name)
    return [_start(each, ends) for each in entries]


def _start(each: Workload | Operation, ends: Mapping[str, float]) -> float:
    return float(each.at) + (ends[each.after] if each.after else 0.0)


def _length(
    each: Workload | Operation, start: float, length: Callable[[Workload, float], float]
) -> float:
    if isinstance(each, Workload):
        return length(each, start)
    return (each.times - 1) * float(each.every)
