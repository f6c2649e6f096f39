"""Draws among equal nodes: as recorded, if the recorded node is among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.tie_break import TieBreaker
from apps.studies.replay.differences import Attempt


class RecordedTies(TieBreaker):
    """Chooses the recorded node of the same attempt; else as the scheduler's own tie-breaker."""

    def __init__(self, scheduler: Scheduler, attempts: Mapping[tuple[str, int], Attempt]) -> None:
        self._scheduler, self._attempts = scheduler, attempts
        self._own = scheduler.context.tie_breaker

    def choose(self, count: int) -> int:
        return self._own.choose(count)

    def choose_name(self, names: Sequence[str]) -> int:
        recorded = self._recorded(names)
        return self._own.choose_name(names) if recorded is None else recorded

    def choose_row(self, ties: Sequence[int] | Int64Array, name_rank: Int64Array) -> int:
        recorded = self._recorded([self._scheduler.snapshot.names[int(row)] for row in ties])
        return self._own.choose_row(ties, name_rank) if recorded is None else recorded

    def _recorded(self, names: Sequence[str]) -> int | None:
        flying = self._scheduler.queue.contents.in_flight_pods()
        if len(names) > 1 and flying:
            last = flying[-1]
            recorded = self._attempts.get((last.uid, last.attempts))
            if recorded is not None and recorded.node in names:
                return names.index(recorded.node)
        return None
