"""The dry run: which pods of a node would have to go for the incoming pod to fit there.

All pods of lower priority are taken away first. If the incoming pod then fits, they are given back
one by one for as long as it still fits, the most important first, but before all others those whose
eviction would break a PodDisruptionBudget. What cannot be given back is the node's victims.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import Victims
from apps.scheduler.framework.nodes import BoolArray, Int64Array
from apps.scheduler.framework.overlay import PodChange
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.framework.status import Status, StatusError, error, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.preemption.budgets import Budgets
from apps.scheduler.preemption.importance import NodePods
from apps.scheduler.preemption.trial import Trial, select

NO_VICTIMS: Final = unresolvable("No preemption victims found for incoming pod")
#: rows tried together: enough to spread the cost of a filter call, few enough to stop in time
_FEWEST, _MOST = 64, 512

#: what a node's dry run comes to: whom to evict, or why that does not help
Outcome = Victims | Status


@dataclass(frozen=True, slots=True)
class Evictable:
    """The pods of lower priority on a node, in the order in which they are given back."""

    pods: tuple[PodInfo, ...]
    #: place of each among the node's pods by importance
    ranks: Int64Array
    #: the eviction of the first so many breaks a budget
    violating: int
    #: (resources, pods) and (2, pods) int64
    requested: Int64Array
    nonzero_requested: Int64Array

    def outcome(self, places: Sequence[int], node: str) -> Outcome:
        """The pods at ``places`` (ascending) of the node could not be given back."""
        if not places:
            return error(f'expected at least one victim pod on node "{node}"')
        by_importance = sorted(places, key=self.ranks.__getitem__)
        return Victims(
            tuple(self.pods[place] for place in by_importance),
            sum(place < self.violating for place in places),
        )


class DryRun:
    """For one incoming pod in one cycle."""

    def __init__(
        self,
        framework: Framework,
        state: CycleState,
        pod: PodInfo,
        *,
        node_pods: NodePods,
        budgets: Budgets,
    ) -> None:
        self._framework = framework
        self._snapshot = framework.handle.snapshot
        self._state = state
        self._pod = pod
        self._node_pods = node_pods
        self._budgets = budgets

    def outcomes(self, rows: Int64Array, wanted: int) -> Iterator[Outcome]:
        """Select victims on each row in turn; the caller stops after about ``wanted`` successes.

        Rows are tried many at a time where filters are local.
        """
        if not self._framework.is_local(self._state):
            yield from map(self.alone, rows.tolist())
            return
        size = min(max(wanted, _FEWEST), _MOST)
        for start in range(0, len(rows), size):
            yield from self.together(rows[start : start + size])

    def together(self, rows: Int64Array) -> list[Outcome]:
        """Select victims on all rows at once; filters must be local."""
        evictable = [self._evictable(row) for row in rows.tolist()]
        trial = Trial(self._framework, self._state, self._pod, rows)
        try:
            statuses, gone = _Rounds(trial, evictable).run()
        except StatusError:
            # Something is broken on one of them; the others must not suffer.
            return [self.alone(row) for row in rows.tolist()]
        outcomes: list[Outcome] = []
        for line, row in enumerate(rows.tolist()):
            status = statuses.at(line) if evictable[line].pods else NO_VICTIMS
            places = np.flatnonzero(gone[line]).tolist()
            node = self._snapshot.names[row]
            outcomes.append(status or evictable[line].outcome(places, node))
        return outcomes

    def alone(self, row: int) -> Outcome:
        """Select victims on one row, telling plugins of every pod that comes or goes."""
        try:
            return self._alone(row)
        except StatusError as failure:
            return failure.status

    def _alone(self, row: int) -> Outcome:
        framework, pod = self._framework, self._pod
        evictable = self._evictable(row)
        if not evictable.pods:
            return NO_VICTIMS
        state, nodes = self._state.clone(), self._snapshot.select(np.array([row]))

        def refusal() -> Status | None:
            return framework.run_filter_plugins_with_nominated_pods(state, pod, nodes).at(0)

        for each in evictable.pods:
            framework.remove_pod(state, pod, each, nodes)
        status = refusal()
        if status is not None:
            return status
        places = []
        for place, each in enumerate(evictable.pods):
            framework.add_pod(state, pod, each, nodes)
            if refusal() is not None:
                framework.remove_pod(state, pod, each, nodes)
                places.append(place)
        return evictable.outcome(places, self._snapshot.names[row])

    def _evictable(self, row: int) -> Evictable:
        ranked = self._node_pods.of(row)
        first = ranked.first_below(self._pod.priority)
        pods, ranks = ranked.pods[first:], np.arange(first, len(ranked.pods))
        requested = ranked.requested[:, first:]
        nonzero = ranked.nonzero_requested[:, first:]
        violates = self._budgets.violating(pods)
        violating = sum(violates)
        if 0 < violating < len(pods):
            order = np.argsort(~np.array(violates), kind="stable")
            pods, ranks = tuple(pods[place] for place in order.tolist()), ranks[order]
            requested, nonzero = requested[:, order], nonzero[:, order]
        return Evictable(pods, ranks, violating, requested, nonzero)


class _Rounds:
    """Takes the evictable pods off k lines, and gives them back in rounds, one pod per line."""

    def __init__(self, trial: Trial, evictable: Sequence[Evictable]) -> None:
        self._trial = trial
        self._evictable = evictable
        #: (k,) int64
        self._counts = np.array([len(each.pods) for each in evictable], dtype=np.int64)
        lines, depth = len(evictable), int(self._counts.max(initial=0))
        resources = max((len(each.requested) for each in evictable), default=0)
        #: (resources, k, depth) and (2, k, depth) int64, 0 after a line's last pod
        self._requested = np.zeros((resources, lines, depth), dtype=np.int64)
        self._nonzero = np.zeros((2, lines, depth), dtype=np.int64)
        for line, each in enumerate(evictable):
            known, pods = each.requested.shape
            self._requested[:known, line, :pods] = each.requested
            self._nonzero[:, line, :pods] = each.nonzero_requested
        #: (k, depth) bool: pods that could not be given back
        self._gone = np.zeros((lines, depth), dtype=np.bool_)

    def run(self) -> tuple[NodeStatuses, BoolArray]:
        """What refused each line with all its evictable pods gone; and who had to stay gone.

        The second is (k, depth) bool by place; it means nothing where the line was refused.
        """
        self._trial.remove_pods(self._everything())
        statuses = self._trial.statuses()
        fits = statuses.ids == NodeStatuses.FEASIBLE
        for place in range(self._gone.shape[1]):
            lines = np.flatnonzero(fits & (self._counts > place))
            if len(lines):
                self._give_back(lines, place)
        return statuses, self._gone

    def _give_back(self, lines: Int64Array, place: int) -> None:
        """Let the pods at ``place`` stay on the lines where the incoming pod fits all the same."""
        change = PodChange(
            lines,
            [(self._evictable[line].pods[place],) for line in lines.tolist()],
            self._requested[:, lines, place],
            self._nonzero[:, lines, place],
        )
        self._trial.add_pods(change)
        refused = np.flatnonzero(~self._trial.fits()[lines])
        if len(refused):
            self._trial.remove_pods(select(change, refused, lines[refused]))
            self._gone[lines[refused], place] = True

    def _everything(self) -> PodChange:
        return PodChange(
            np.arange(len(self._evictable)),
            [each.pods for each in self._evictable],
            self._requested.sum(axis=2),
            self._nonzero.sum(axis=2),
        )
