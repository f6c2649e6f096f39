"""The dry run: which pods of a node would have to go for the incoming pod to fit there.

All pods of lower priority are taken away first. If the incoming pod then fits, they are given back
one by one for as long as it still fits, the most important first, but before all others those whose
eviction would break a PodDisruptionBudget. What cannot be given back is the node's victims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import numpy as np

from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.filtering import Filters
from apps.scheduler.framework.nodes import Int64Array
from apps.scheduler.framework.pod_change import PodChange
from apps.scheduler.framework.status import Status, StatusError
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.preemption.evictable import Evictable, EvictablePods, Outcome
from apps.scheduler.preemption.importance import amounts_below
from apps.scheduler.preemption.reprieve import Reprieve
from apps.scheduler.preemption.trial import Trial

#: rows on which pods are given back together, at least
_FEWEST: Final = 16


class DryRun:
    """For one incoming pod in one cycle."""

    def __init__(
        self,
        filters: Filters,
        snapshot: Snapshot,
        state: CycleState,
        pod: PodInfo,
        evictable_pods: EvictablePods,
    ) -> None:
        self._filters = filters
        self._snapshot = snapshot
        self._state = state
        self._pod = pod
        self._evictable_pods = evictable_pods

    def refusals(self, rows: Int64Array) -> NodeStatuses:
        """For each row why it would not help to take away all its pods of lower priority.

        Only what can be told of many rows at once: where filters are not all local, `outcomes` may
        refuse more.
        """
        if len(rows):
            # An internal error must not do harm to other rows than its own.
            with suppress(StatusError):
                return self._refusals(rows)
        return NodeStatuses(np.zeros(len(rows), dtype=np.int32), [None])

    def _refusals(self, rows: Int64Array) -> NodeStatuses:
        priority = self._pod.priority
        key = ("amounts of pods below", priority)
        amounts = self._snapshot.memo(key, partial(amounts_below, priority), depends="pods")

        def evictable(index: int) -> Sequence[PodInfo]:
            pods = self._snapshot.info(int(rows[index])).pods.values()
            return [pod for pod in pods if pod.priority < priority]

        trial = Trial(
            self._filters, self._state, self._pod, self._snapshot.select(rows), told=False
        )
        trial.remove_pods(PodChange(np.arange(len(rows)), amounts.take(rows, axis=1), evictable))
        return trial.local_refusals()

    def outcomes(self, rows: Int64Array, missing: Callable[[], int]) -> Iterator[Outcome]:
        """Select victims on each row in turn; these rows are not refused.

        Rows are tried together; ``missing`` tells how many more successes the caller is waiting
        for, so that not too many are tried in vain.
        """
        while len(rows):
            size = max(missing(), _FEWEST)
            group, rows = rows[:size], rows[size:]
            try:
                yield from self._together(group)
            except StatusError:
                # Something is broken on one of them; the others must not suffer.
                yield from map(self.alone, group.tolist())

    def alone(self, row: int) -> Outcome:
        """Select victims on one row, telling plugins of every pod that comes or goes."""
        try:
            return self._alone(row)
        except StatusError as failure:
            return failure.status

    def _together(self, rows: Int64Array) -> list[Outcome]:
        evictable = [self._evictable(row) for row in rows.tolist()]
        trial = Trial(self._filters, self._state, self._pod, self._snapshot.select(rows))
        found = Reprieve(trial, evictable).run()
        names = self._snapshot.names
        return [
            gone if isinstance(gone, Status) else each.outcome(gone, names[row])
            for each, gone, row in zip(evictable, found, rows.tolist(), strict=True)
        ]

    def _evictable(self, row: int) -> Evictable:
        return self._evictable_pods.of(row, self._pod.priority)

    def _alone(self, row: int) -> Outcome:
        filters, pod = self._filters, self._pod
        evictable = self._evictable(row)
        state, nodes = self._state.clone(), self._snapshot.select(np.array([row]))

        def refusal() -> Status | None:
            return filters.run_filter_plugins_with_nominated_pods(state, pod, nodes).at(0)

        for each in evictable.pods:
            filters.remove_pod(state, pod, each, nodes)
        status = refusal()
        if status is not None:
            return status
        places = []
        for place, each in enumerate(evictable.pods):
            filters.add_pod(state, pod, each, nodes)
            if refusal() is not None:
                filters.remove_pod(state, pod, each, nodes)
                places.append(place)
        return evictable.outcome(places, self._snapshot.names[row])
