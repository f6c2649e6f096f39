"""The dry run: which pods of a node would have to be evicted for the incoming pod to fit there.

First all pods of lower priority are removed. If the incoming pod then fits, they are added again
one by one as long as it still fits: first those whose eviction would violate a PodDisruptionBudget,
then the others, the most important first. The pods that cannot be added again are the victims.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import numpy as np

from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.filtering import Filters
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.pod_change import PodChange
from apps.scheduler.framework.status import Status, StatusError, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.preemption.evictable import EvictablePods, Outcome
from apps.scheduler.preemption.importance import amounts_below, lowest_priority
from apps.scheduler.preemption.outcomes import Outcomes
from apps.scheduler.preemption.reprieve import Reprieve
from apps.scheduler.preemption.trial import Trial

NO_VICTIMS: Final = unresolvable("No preemption victims found for incoming pod")
#: on at least so many rows pods are added again together, if there are so many
FEWEST: Final = 16


class DryRun:
    """The search for victims for one incoming pod in one cycle."""

    def __init__(
        self,
        filters: Filters,
        snapshot: Snapshot,
        state: CycleState,
        pod: PodInfo,
        evictable_pods: EvictablePods,
        *,
        is_signed: bool = False,
    ) -> None:
        """``is_signed``: `Filters.signature` is not None in this cycle."""
        self._filters = filters
        self._snapshot = snapshot
        self._state = state
        self._pod = pod
        self._evictable_pods = evictable_pods
        self._is_signed = is_signed

    def add_outcomes(self, outcomes: Outcomes, rows: Int64Array, needed: int, grown: int) -> None:
        """Add the outcomes of at least the first of ``rows``.

        ``needed``: how many of them the caller needs in any case; victims are selected on as many
        rows. ``grown``: on how many times as many rows the filters run before.
        """
        lowest = self._snapshot.memo("lowest priority of a pod", lowest_priority, depends="pods")
        in_vain = lowest[rows] >= self._pod.priority
        if in_vain.any():
            outcomes.reject(rows[in_vain], NO_VICTIMS)
            rows = rows[~in_vain]
        size = max(needed, FEWEST)
        rows = rows[: size * grown]
        rows = rows[outcomes.reject_all(rows, self.refusals(rows))][:size]
        outcomes.enter(rows, self._snapshot.names, self.select_victims(rows))

    def refusals(self, rows: Int64Array) -> NodeStatuses:
        """For each row why it would not help to remove all its pods of lower priority.

        Only by filters that can run on many rows at once: if the cycle is not local,
        `select_victims` may refuse more rows.
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

    def select_victims(self, rows: Int64Array) -> list[Outcome]:
        """Select victims on each of these rows, which were not refused."""
        if not len(rows):
            return []
        try:
            return self._select_victims_together(rows)
        except StatusError:
            # An internal error on one row must not affect the others.
            return [self.select_victims_on_node(row) for row in rows.tolist()]

    def select_victims_on_node(self, row: int) -> Outcome:
        """Select victims on one row, calling AddPod or RemovePod for every pod."""
        try:
            return self._select_victims(row)
        except StatusError as failure:
            return failure.status

    def _select_victims_together(self, rows: Int64Array) -> list[Outcome]:
        evictable = self._evictable_pods.of(rows.tolist(), self._pod.priority)
        trial = Trial(self._filters, self._state, self._pod, self._snapshot.select(rows))
        outcomes = Reprieve(trial, evictable, is_signed=self._is_signed).run()
        names = self._snapshot.names
        return [
            gone if isinstance(gone, Status) else each.outcome(gone, names[row])
            for each, gone, row in zip(evictable, outcomes, rows.tolist(), strict=True)
        ]

    def _select_victims(self, row: int) -> Outcome:
        filters, pod = self._filters, self._pod
        (evictable,) = self._evictable_pods.of([row], self._pod.priority)
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
