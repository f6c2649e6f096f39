"""A scheduling cycle whose Filter verdicts a user has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from apps.scheduler.framework.status import (
    SUCCESS,
    Status,
    StatusError,
    unresolvable,
    unschedulable,
)
from apps.scheduler.schedule_one import assume_and_reserve, finish_cycle, run_post_filter
from apps.scheduler.schedule_pod import (
    find_nodes_that_fit_pod,
    note_statuses,
    prioritize_nodes,
    select_host,
)

#: The plugin that the statuses of nodes name which a user has rejected.
BY_HAND: Final = "Debugger"


@dataclass(slots=True)
class Cycle:
    """Calls `note` after each extension point; `verdicts`: node -> whether it passes Filter.

    Of tied nodes, `preferred` is selected if it is one of them; else as always.
    """

    verdicts: Mapping[str, bool]
    preferred: str = ""
    note: Callable[[str, Attempt, Status], None] = field(
        default=lambda point, attempt, status: None
    )

    def __call__(self, context: SchedulingContext, attempt: Attempt) -> Status:
        """As `schedule_one.scheduling_cycle`, with the verdicts changed before nodes are scored."""
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
        self._change(attempt)
        if not len(decision.feasible):
            status = unschedulable(decision.filter_message)
            self.note("Filter", attempt, status)
            return status
        self.note("Filter", attempt, SUCCESS)
        ties = prioritize_nodes(context, attempt)
        self.note("PreScore and Score", attempt, SUCCESS)
        select_host(context, attempt, ties)
        tied = [decision.nodes[row] for row in ties]
        if self.preferred in tied:
            decision.node, decision.draw = self.preferred, tied.index(self.preferred)
        self.note("Selection", attempt, SUCCESS)
        return SUCCESS

    def _change(self, attempt: Attempt) -> None:
        """Apply the verdicts to what Filter returned; BadRequest for an unknown node."""
        if not self.verdicts:
            return
        decision = attempt.decision
        if decision.node_statuses is None:
            raise BadRequest("verdicts: PreFilter has rejected the pod, so no node was filtered")
        statuses = decision.node_statuses.copy()
        for name, passes in self.verdicts.items():
            if not name or name not in decision.nodes:
                raise BadRequest(f"verdicts: there is no node {name}")
            row = decision.nodes.index(name)
            if passes:
                statuses.ids[row] = NodeStatuses.FEASIBLE
            else:
                statuses.set(row, unschedulable("rejected by hand").by(BY_HAND))
        decision.feasible = np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE)
        note_statuses(attempt, statuses)
        if not len(decision.feasible) and attempt.diagnosis is not None:
            decision.filter_message = fit_error_message(attempt.diagnosis, decision.total_nodes)
