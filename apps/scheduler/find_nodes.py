"""Which nodes can take the pod: PreFilter, Filter, extenders, and when to stop looking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from apps.scheduler.attempt import Attempt
from apps.scheduler.framework.diagnosis import Diagnosis, NodeStatuses, fit_error_message
from apps.scheduler.framework.extender import EXTENDER_NAME, ExtenderError
from apps.scheduler.framework.interface import PreFilterResult
from apps.scheduler.framework.nodes import Int64Array
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.framework.status import StatusError, unresolvable
from apps.scheduler.framework.stopwatch import Stopwatch
from apps.scheduler.sampling import num_feasible_nodes_to_find

if TYPE_CHECKING:
    from apps.scheduler.scheduler import Scheduler


def find_nodes_that_fit_pod(sched: Scheduler, attempt: Attempt) -> None:
    """PreFilter and Filter: ``decision.feasible`` and the diagnosis."""
    decision, snapshot = attempt.decision, sched.snapshot
    statuses = NodeStatuses.empty(len(snapshot))
    attempt.diagnosis = diagnosis = Diagnosis(statuses)
    narrowed, outcome, narrowing = attempt.framework.run_pre_filter_plugins(
        attempt.state, attempt.pod, snapshot
    )
    diagnosis.unschedulable_plugins |= narrowing
    decision.pre_filter = outcome
    if not outcome.is_success:
        if not outcome.is_rejected:
            raise StatusError(outcome)
        statuses.absent = outcome
        diagnosis.pre_filter_message = outcome.message
        diagnosis.add_plugin(outcome)
    else:
        decision.pre_filter_nodes = narrowed.node_names
        if not evaluate_nominated_node(sched, attempt):
            evaluate_nodes(sched, attempt, narrowed, narrowing)
    if not len(decision.feasible):
        decision.filter_message = fit_error_message(diagnosis, snapshot.total_nodes)


def evaluate_nominated_node(sched: Scheduler, attempt: Attempt) -> bool:
    """Try the node promised to the pod; if it is feasible (True) no other is asked."""
    row = sched.snapshot.line_of(attempt.pod.pod.status.nominated_node_name)
    if row < 0:
        return False
    rows = np.array([row], dtype=np.int64)
    statuses = NodeStatuses.empty(len(sched.snapshot))
    try:
        feasible = find_nodes_that_pass_filters(sched, attempt, statuses, rows)
        feasible = find_nodes_that_pass_extenders(sched, attempt, statuses, feasible)
    except (StatusError, ExtenderError):
        return False
    if not len(feasible):
        return False
    attempt.decision.nominated_fast_path = True
    attempt.decision.feasible = feasible
    attempt.decision.evaluated = 1
    take_statuses(attempt, statuses)
    return True


def evaluate_nodes(
    sched: Scheduler, attempt: Attempt, narrowed: PreFilterResult, narrowing: set[str]
) -> None:
    """Filter the nodes PreFilter allows, from where the last search ended."""
    snapshot, decision = sched.snapshot, attempt.decision
    statuses = NodeStatuses.empty(len(snapshot))
    rows: Int64Array | None = None
    if narrowed.node_names is not None:
        rows = np.array(
            sorted(row for name in narrowed.node_names if (row := snapshot.line_of(name)) >= 0),
            dtype=np.int64,
        )
        plugins = " ".join(sorted(narrowing))
        statuses.absent = unresolvable(f"node(s) didn't satisfy plugin(s) [{plugins}]")
    decision.start = sched.next_start_node_index
    feasible = find_nodes_that_pass_filters(sched, attempt, statuses, rows)
    decision.evaluated = len(feasible) + statuses.rejected
    sched.next_start_node_index = (decision.start + decision.evaluated) % snapshot.total_nodes
    take_statuses(attempt, statuses)
    decision.feasible = find_nodes_that_pass_extenders(sched, attempt, statuses, feasible)


def take_statuses(attempt: Attempt, statuses: NodeStatuses) -> None:
    """Enter the filters' answers into the diagnosis and the decision."""
    assert attempt.diagnosis is not None
    attempt.diagnosis.node_statuses = attempt.decision.node_statuses = statuses
    if len(statuses.statuses) > 1:
        for status, _ in statuses.used():
            attempt.diagnosis.add_plugin(status)


def find_nodes_that_pass_filters(
    sched: Scheduler, attempt: Attempt, statuses: NodeStatuses, rows: Int64Array | None
) -> Int64Array:
    """The rows (ascending) of ``rows`` (None = all) that pass; refusals go to ``statuses``.

    When enough feasible nodes are found the rest counts as not looked at.
    """
    snapshot, framework = sched.snapshot, attempt.framework
    nodes = snapshot if rows is None else snapshot.select(rows)
    # a nominated node that is refused is followed by a search among all: both are in its time
    watch = Stopwatch(attempt.state, "Filter")
    found = framework.filters.run_filter_plugins_with_nominated_pods(
        attempt.state, attempt.pod, nodes, watch
    )
    watch.stop()
    statuses.statuses = found.statuses
    if rows is None:
        statuses.ids = found.ids
        order = snapshot.order
    else:
        statuses.ids[rows] = found.ids
        order = rows
    feasible = np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE)
    enough = nodes_to_find(sched, framework, len(order))
    if len(feasible) <= enough:
        return feasible
    return stop_when_enough(sched, statuses, order, enough)


def nodes_to_find(sched: Scheduler, framework: Framework, nodes: int) -> int:
    """How many feasible nodes are enough."""
    scoring = framework.has_score_plugins or any(e.is_prioritizer for e in sched.extenders)
    if not scoring and not any(e.is_filter for e in sched.extenders):
        return 1
    return num_feasible_nodes_to_find(
        nodes, framework.profile.percentage_of_nodes_to_score, sched.percentage_of_nodes_to_score
    )


def stop_when_enough(
    sched: Scheduler, statuses: NodeStatuses, order: Int64Array, enough: int
) -> Int64Array:
    """Look at nodes in visiting order until ``enough`` passed; forget what the others said."""
    start = sched.next_start_node_index % len(order)
    visited = np.concatenate((order[start:], order[:start]))
    passed = statuses.ids[visited] == NodeStatuses.FEASIBLE
    last = int(np.searchsorted(np.cumsum(passed), enough))
    statuses.ids[visited[last + 1 :]] = NodeStatuses.NOT_EVALUATED
    return np.sort(visited[: last + 1][passed[: last + 1]])


def find_nodes_that_pass_extenders(
    sched: Scheduler, attempt: Attempt, statuses: NodeStatuses, feasible: Int64Array
) -> Int64Array:
    """The rows that every interested extender lets pass, asked one after the other."""
    names = sched.snapshot.names
    for extender in sched.extenders:
        if not len(feasible) or not extender.is_filter or not extender.is_interested(attempt.pod):
            continue
        try:
            verdict = extender.filter(attempt.pod, [names[row] for row in feasible])
        except ExtenderError:
            if extender.is_ignorable:
                continue
            raise
        passed = np.array([names[row] in verdict.feasible for row in feasible], dtype=np.bool_)
        refusals = {
            row: verdict.refusal(names[row]).by(extender.name) for row in feasible[~passed].tolist()
        }
        statuses.set_all(refusals)
        if refusals and attempt.diagnosis is not None:
            attempt.diagnosis.unschedulable_plugins.add(EXTENDER_NAME)
        feasible = feasible[passed]
    return feasible
