"""A pod evaluated in the state of a scheduler: which nodes pass, and why others do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.interface import PreFilterResult
from apps.scheduler.framework.node_columns import BoolArray, Int64Array
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class Refusal:
    """The status of one plugin that rejects a node."""

    plugin: str
    status: Status
    details: tuple[Detail, ...] = ()
    #: the node would pass without the pods nominated to it
    for_nominated: bool = False

    ANSWER: ClassVar = ("plugin", "code", "reasons", "for_nominated", "details")

    @property
    def code(self) -> str:
        return self.status.code.label

    @property
    def reasons(self) -> Sequence[str]:
        return self.status.reasons


@dataclass(frozen=True, slots=True)
class FilteredNode:
    """A node as the filters see it, with the pods nominated to it if they count."""

    evaluation: Evaluation
    row: int
    info: NodeInfo
    nodes: Overlay
    state: CycleState
    nominated: tuple[PodInfo, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A pod after PreFilter, to ask the filters about nodes; valid until the cache changes."""

    framework: Framework
    pod: PodInfo
    snapshot: Snapshot
    state: CycleState
    narrowed: PreFilterResult
    #: the outcome of PreFilter; a rejection applies to all nodes
    outcome: Status

    def statuses(self) -> NodeStatuses:
        """The first refusal of every row, as in an attempt that looks at all nodes."""
        statuses = NodeStatuses.empty(len(self.snapshot))
        if not self.outcome.is_success:
            statuses.absent = self.outcome
            return statuses
        rows = self._allowed()
        nodes = self.snapshot if rows is None else self.snapshot.select(rows)
        answers = self.framework.filters.run_filter_plugins_with_nominated_pods(
            self.state, self.pod, nodes
        )
        if rows is None:
            return answers
        statuses.statuses, statuses.ids[rows] = answers.statuses, answers.ids
        return statuses

    def feasible(self) -> Int64Array:
        """The rows that pass, ascending."""
        return np.flatnonzero(self.statuses().ids == NodeStatuses.FEASIBLE)

    def find_passing(self) -> dict[str, BoolArray]:
        """Filter -> (rows,) bool: the rows that pass this filter, without nominated pods."""
        passing: dict[str, BoolArray] = {}
        if not self.outcome.is_success:
            return passing
        for name in self.framework.filters.names:
            if name not in self.state.skip_filter:
                statuses = self.framework.filters.run_filter_plugin(
                    name, self.state, self.pod, self.snapshot
                )
                passing[name] = statuses.ids == NodeStatuses.FEASIBLE
        return passing

    def spot(self, row: int) -> FilteredNode:
        nodes = self.snapshot.select(np.array([row], dtype=np.int64))
        change = self.framework.filters.nominated_pods(self.pod, nodes)
        promised = tuple(change.pods(0)) if change is not None else ()
        return FilteredNode(self, row, nodes.info(0), nodes, self.state, promised)

    def _allowed(self) -> Int64Array | None:
        if self.narrowed.node_names is None:
            return None
        rows = (self.snapshot.row_of(name) for name in self.narrowed.node_names)
        return np.array(sorted(row for row in rows if row >= 0), dtype=np.int64)


def evaluate(scheduler: Scheduler, pod: PodInfo) -> Evaluation:
    """Run PreFilter on the current state; raises KeyError if the pod has no profile."""
    scheduler.snapshot.update(scheduler.cache)
    return evaluate_in_last_snapshot(scheduler, pod)


def evaluate_in_last_snapshot(scheduler: Scheduler, pod: PodInfo) -> Evaluation:
    """The same on the nodes and pods that the last attempt saw."""
    framework = scheduler.profiles[pod.pod.spec.scheduler_name]
    pod, state = framework.handle.view(pod), CycleState()
    narrowed, outcome, _ = framework.run_pre_filter_plugins(state, pod, scheduler.snapshot)
    return Evaluation(framework, pod, scheduler.snapshot, state, narrowed, outcome)
