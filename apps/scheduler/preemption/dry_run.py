"""The dry run: which pods of a node would have to be evicted for the incoming pod to fit there.

First all pods of lower priority are removed. If the incoming pod then fits, they are added again
one by one as long as it still fits: first those whose eviction would violate a PodDisruptionBudget,
then the others, the most important first. The pods that cannot be added again are the victims.
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

#: on at least so many rows pods are added again together
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
        """For each row why it would not help to remove all its pods of lower priority.

        Only by filters that can run on many rows at once: if the cycle is not local, `outcomes` may
        refuse more rows.
        """
        if len(rows):
            # An internal error on one row must not affect the others.
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
            self._filters, self._state, self._pod, self._snapshot.select(rows), notify_plugins=False
        )
        trial.remove_pods(PodChange(np.arange(len(rows)), amounts.take(rows, axis=1), evictable))
        return trial.local_refusals()

    def outcomes(self, rows: Int64Array, missing: Callable[[], int]) -> Iterator[Outcome]:
        """Select victims on each of these rows, which were not refused, in order.

        Rows are tried in groups; ``missing`` returns how many more successes the caller needs, so
        that few rows are tried unnecessarily.
        """
        while len(rows):
            size = max(missing(), _FEWEST)
            group, rows = rows[:size], rows[size:]
            try:
                yield from self._select_victims_together(group)
            except StatusError:
                # An internal error on one row must not affect the others.
                yield from map(self.select_victims_on_node, group.tolist())

    def select_victims_on_node(self, row: int) -> Outcome:
        """Select victims on one row, calling AddPod or RemovePod for every pod."""
        try:
            return self._select_victims(row)
        except StatusError as failure:
            return failure.status

    def _select_victims_together(self, rows: Int64Array) -> list[Outcome]:
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

    def _select_victims(self, row: int) -> Outcome:
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
