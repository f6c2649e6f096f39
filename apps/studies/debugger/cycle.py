"""A scheduling cycle whose Filter verdicts and scores a user has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from apps.cluster.errors import BadRequest
from apps.scheduler.attempt import Attempt
from apps.scheduler.context import SchedulingContext
from apps.scheduler.failure import CLEAR_NOMINATION
from apps.scheduler.framework.diagnosis import (
    NO_NODES_AVAILABLE,
    NodeStatuses,
    fit_error_message,
)
from apps.scheduler.framework.interface import MAX_NODE_SCORE
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.plugin_scores import ScoreColumn
from apps.scheduler.framework.ranking import Ranking
from apps.scheduler.framework.status import (
    SUCCESS,
    Status,
    StatusError,
    unresolvable,
    unschedulable,
)
from apps.scheduler.framework.summary import summarize
from apps.scheduler.schedule_one import assume_and_reserve, finish_cycle, run_post_filter
from apps.scheduler.schedule_pod import (
    find_nodes_that_fit_pod,
    note_statuses,
    prioritize_nodes,
    select_host,
)

#: The plugin that the statuses of nodes name which a user has rejected.
BY_HAND: Final = "Debugger"


@dataclass(frozen=True, slots=True)
class Changes:
    """What a user has changed in an attempt."""

    #: node -> whether it passes Filter
    verdicts: Mapping[str, bool] = field(default_factory=dict)
    #: (plugin, node) -> its normalized score, 0 to 100
    scores: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(slots=True)
class Cycle:
    """Calls `note` after each extension point.

    Of tied nodes, `preferred` is selected if it is one of them; else as always.
    """

    changes: Changes
    preferred: str = ""
    note: Callable[[str, Attempt, Status], None] = field(
        default=lambda point, attempt, status: None
    )

    def __call__(self, context: SchedulingContext, attempt: Attempt) -> Status:
        """As `schedule_one.scheduling_cycle`, with the changes after Filter and after Score."""
        try:
            status = self._find_node(context, attempt)
        except StatusError as failure:
            attempt.diagnosis, status = None, failure.status
        if status is SUCCESS:
            status = assume_and_reserve(context, attempt)
            self.note("Reserve and Permit", attempt, status)
        elif attempt.diagnosis is not None and status.is_rejected:
            run_post_filter(attempt)
            self.note("PostFilter", attempt, attempt.decision.post_filter_status or status)
        else:
            attempt.decision.nominating = CLEAR_NOMINATION
        return finish_cycle(context, attempt, status)

    def _find_node(self, context: SchedulingContext, attempt: Attempt) -> Status:
        snapshot, decision = context.snapshot, attempt.decision
        snapshot.update(context.cache)
        decision.nodes, decision.total_nodes = snapshot.names, snapshot.total_nodes
        if not snapshot.total_nodes:
            return unresolvable(NO_NODES_AVAILABLE)
        find_nodes_that_fit_pod(context, attempt)
        self.note("PreFilter", attempt, decision.pre_filter)
        self._change_verdicts(attempt)
        if not len(decision.feasible):
            status = unschedulable(decision.filter_message)
            self.note("Filter", attempt, status)
            return status
        self.note("Filter", attempt, SUCCESS)
        ties = self._change_scores(attempt, prioritize_nodes(context, attempt))
        self.note("PreScore and Score", attempt, SUCCESS)
        select_host(context, attempt, ties)
        tied = [decision.nodes[row] for row in ties]
        if self.preferred in tied:
            decision.node, decision.draw = self.preferred, tied.index(self.preferred)
        self.note("Selection", attempt, SUCCESS)
        return SUCCESS

    def _change_scores(
        self, attempt: Attempt, ties: Sequence[int] | Int64Array
    ) -> Sequence[int] | Int64Array:
        """Apply the scores to what Score returned; the rows with the greatest total.

        Raises BadRequest for a plugin or a node without scores, and for a score out of range.
        """
        if not self.changes.scores:
            return ties
        decision = attempt.decision
        for (plugin, node), score in self.changes.scores.items():
            column = decision.scores.get(plugin)
            if column is None:
                known = ", ".join(sorted(decision.scores)) or "none"
                raise BadRequest(
                    f"scores: {plugin} has no scores here; plugins with scores: {known}"
                )
            rows = [decision.nodes[row] for row in decision.feasible]
            if node not in rows:
                raise BadRequest(f"scores: there is no feasible node {node}")
            if not 0 <= score <= MAX_NODE_SCORE:
                raise BadRequest(f"scores: {plugin} of {node} must be 0 to {MAX_NODE_SCORE}")
            changed = column.normalized.copy()
            changed[rows.index(node)] = score
            decision.scores[plugin] = ScoreColumn(column.raw, changed, column.weight)
        total = np.zeros(len(decision.feasible), dtype=np.int64)
        for column in decision.scores.values():
            total += column.weighted
        decision.ranking = Ranking(decision.feasible, total)
        return decision.ties

    def _change_verdicts(self, attempt: Attempt) -> None:
        """Apply the verdicts to what Filter returned; BadRequest for an unknown node."""
        if not self.changes.verdicts:
            return
        decision = attempt.decision
        if decision.node_statuses is None:
            raise BadRequest("verdicts: PreFilter has rejected the pod, so no node was filtered")
        statuses = decision.node_statuses.copy()
        for name, passes in self.changes.verdicts.items():
            if not name or name not in decision.nodes:
                raise BadRequest(f"verdicts: there is no node {name}")
            row = decision.nodes.index(name)
            if passes:
                statuses.ids[row] = NodeStatuses.FEASIBLE
            else:
                statuses.set(row, unschedulable("rejected by hand").by(BY_HAND))
        decision.feasible = np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE)
        note_statuses(attempt, statuses, summarize(statuses))
        if not len(decision.feasible) and attempt.diagnosis is not None:
            decision.filter_message = fit_error_message(attempt.diagnosis, decision.total_nodes)
