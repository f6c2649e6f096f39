"""The walk of one pod: from the queue through the scheduling cycle to a node, or back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework import intents
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import (
    NO_NODES_AVAILABLE,
    Diagnosis,
    NodeStatuses,
    fit_error_message,
)
from apps.scheduler.framework.extender import (
    EXTENDER_NAME,
    MAX_EXTENDER_PRIORITY,
    Extender,
    ExtenderError,
)
from apps.scheduler.framework.interface import MAX_NODE_SCORE, NominatingInfo, PreFilterResult
from apps.scheduler.framework.nodes import Int64Array
from apps.scheduler.framework.runtime import Framework, ScoreColumn
from apps.scheduler.framework.status import (
    SUCCESS,
    Code,
    Status,
    StatusError,
    error,
    unresolvable,
    unschedulable,
)
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo
from apps.scheduler.queue.records import SubQueue
from apps.scheduler.sampling import num_feasible_nodes_to_find

if TYPE_CHECKING:
    from apps.scheduler.scheduler import Scheduler

_CLEAR_NOMINATION = NominatingInfo("")


@dataclass(slots=True)
class Attempt:
    """One pod's attempt while it is under way; ``decision`` is what is known of it so far."""

    pod: PodInfo
    framework: Framework
    decision: Decision
    #: None if the pod did not come from the queue
    queued: QueuedPodInfo | None = None
    state: CycleState = field(default_factory=CycleState)
    diagnosis: Diagnosis | None = None
    #: the pod with its node, from Reserve on
    assumed: PodInfo | None = None


def schedule_one(sched: Scheduler) -> Attempt | None:
    """Take the next pod and schedule it; None when no pod is ready.

    Afterwards the pod is assumed and reserved on a node (and waits, if a Permit plugin holds it),
    or it is back in the queue.
    """
    attempt = next_attempt(sched)
    if attempt is None:
        return None
    status = scheduling_cycle(sched, attempt)
    if status.is_wait:
        attempt.decision.result = Result.WAITING
        attempt.decision.message = status.message
    elif status.is_success:
        status = binding_cycle(sched, attempt)
    if not status.is_success and not status.is_wait:
        handle_scheduling_failure(sched, attempt, status)
    return attempt


def next_attempt(sched: Scheduler) -> Attempt | None:
    """The next pod from the queue that is to be scheduled, with its profile."""
    while (queued := sched.queue.pop()) is not None:
        framework = sched.profiles.get(queued.pod.spec.scheduler_name)
        if framework is None or skip_pod_schedule(sched, queued.pod_info):
            sched.queue.done(queued.uid)
            continue
        return new_attempt(framework, queued.pod_info, queued)
    return None


def new_attempt(framework: Framework, pod: PodInfo, queued: QueuedPodInfo | None = None) -> Attempt:
    decision = Decision(
        pod_key=pod.key,
        pod_uid=pod.uid,
        profile=framework.name,
        attempt=queued.attempts if queued is not None else 1,
    )
    return Attempt(pod, framework, decision, queued)


def skip_pod_schedule(sched: Scheduler, pod: PodInfo) -> bool:
    """A pod that is being deleted, or that was assumed meanwhile, needs no attempt."""
    return pod.is_terminating or sched.cache.is_assumed(pod.uid)


def scheduling_cycle(sched: Scheduler, attempt: Attempt) -> Status:
    """Find the node and take it: success, WAIT, or why there is none."""
    status = schedule_pod(sched, attempt)
    if status.is_success:
        status = assume_and_reserve(sched, attempt)
    elif attempt.diagnosis is not None and status.is_rejected:
        run_post_filter(attempt)
    else:
        attempt.decision.nominating = _CLEAR_NOMINATION
    finish_decision(attempt)
    return status


def schedule_pod(sched: Scheduler, attempt: Attempt) -> Status:
    """PreFilter, Filter, PreScore, Score, and the choice; ``decision.node`` on success."""
    sched.snapshot.update(sched.cache)
    decision = attempt.decision
    decision.nodes = sched.snapshot.names
    decision.total_nodes = sched.snapshot.total_nodes
    if not sched.snapshot.total_nodes:
        return unresolvable(NO_NODES_AVAILABLE)
    try:
        find_nodes_that_fit_pod(sched, attempt)
        if not len(decision.feasible):
            return unschedulable(decision.filter_message)
        prioritize_nodes(sched, attempt)
    except StatusError as failure:
        attempt.diagnosis = None
        return failure.status
    except ExtenderError as failure:
        attempt.diagnosis = None
        return error(str(failure))
    select_host(sched, decision)
    return SUCCESS


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
    found = framework.run_filter_plugins_with_nominated_pods(attempt.state, attempt.pod, nodes)
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
        for failed, code in (
            (verdict.failed, Code.UNSCHEDULABLE),
            (verdict.unresolvable, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
        ):
            for name, reason in failed.items():
                statuses.set(sched.snapshot.line_of(name), Status(code, (reason,)))
        passed = np.array([names[row] in verdict.feasible for row in feasible], dtype=np.bool_)
        if not passed.all() and attempt.diagnosis is not None:
            attempt.diagnosis.unschedulable_plugins.add(EXTENDER_NAME)
        feasible = feasible[passed]
    return feasible


def prioritize_nodes(sched: Scheduler, attempt: Attempt) -> None:
    """Score the feasible nodes: ``decision.scores`` and ``decision.total``."""
    decision, framework = attempt.decision, attempt.framework
    state, pod, rows = attempt.state, attempt.pod, decision.feasible
    if not framework.has_score_plugins and not sched.extenders:
        decision.total = np.ones(len(rows), dtype=np.int64)
        return
    status = framework.run_pre_score_plugins(state, pod, sched.snapshot, rows)
    if not status.is_success:
        raise StatusError(status)
    decision.scores = framework.run_score_plugins(state, pod, sched.snapshot, rows)
    for extender in sched.extenders:
        if extender.is_prioritizer and extender.is_interested(pod):
            add_extender_scores(sched, attempt, extender)
    total = np.zeros(len(rows), dtype=np.int64)
    for column in decision.scores.values():
        total += column.normalized if column.weight == 1 else column.weighted
    decision.total = total


def add_extender_scores(sched: Scheduler, attempt: Attempt, extender: Extender) -> None:
    """An extender that fails gives no scores; the others decide."""
    rows = attempt.decision.feasible
    names = [sched.snapshot.names[row] for row in rows]
    try:
        given = extender.prioritize(attempt.pod, names)
    except ExtenderError:
        return
    raw = np.array([given.get(name, 0) for name in names], dtype=np.int64)
    scaled = raw * (MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY)
    attempt.decision.scores[extender.name] = ScoreColumn(raw, scaled, extender.weight)


def select_host(sched: Scheduler, decision: Decision) -> None:
    """One of the nodes with the greatest total, drawn or first by name."""
    total = decision.total
    decision.ties = decision.feasible[np.flatnonzero(total == total.max())]
    decision.draw = sched.draw(decision.ties)
    decision.node = decision.nodes[decision.ties[decision.draw]]


def run_post_filter(attempt: Attempt) -> None:
    """Let PostFilter plugins make room for a pod that fits nowhere."""
    decision, diagnosis = attempt.decision, attempt.diagnosis
    assert diagnosis is not None
    if not attempt.framework.has_post_filter_plugins:
        decision.nominating = _CLEAR_NOMINATION
        return
    result, status = attempt.framework.run_post_filter_plugins(
        attempt.state, attempt.pod, diagnosis
    )
    diagnosis.post_filter_message = status.message
    decision.post_filter, decision.post_filter_status = result, status
    decision.nominating = result.nominating if result is not None else None


def assume_and_reserve(sched: Scheduler, attempt: Attempt) -> Status:
    """Take the node's room, then Reserve and Permit; a failure gives everything back."""
    node, state = attempt.decision.node, attempt.state
    attempt.assumed = assumed = with_node(attempt.pod, node)
    sched.cache.assume_pod(assumed, node)
    if attempt.queued is not None:
        sched.queue.delete_nominated_pod(attempt.pod)
    status = attempt.framework.run_reserve_plugins_reserve(state, assumed, node)
    if status.is_success:
        status = attempt.framework.run_permit_plugins(state, assumed, node)
    if not status.is_success and not status.is_wait:
        unreserve_and_forget(sched, attempt)
        note_rejection(attempt, status)
    return status


def with_node(pod: PodInfo, node: str) -> PodInfo:
    """The pod as it will be once it is bound."""
    spec = msgspec.structs.replace(pod.pod.spec, node_name=node)
    return pod.with_pod(msgspec.structs.replace(pod.pod, spec=spec))


def unreserve_and_forget(sched: Scheduler, attempt: Attempt) -> None:
    assert attempt.assumed is not None
    node = attempt.decision.node
    attempt.framework.run_reserve_plugins_unreserve(attempt.state, attempt.assumed, node)
    attempt.framework.handle.waiting_pods.release(attempt.pod.uid)
    sched.cache.forget_pod(attempt.assumed.uid)


def note_rejection(attempt: Attempt, status: Status) -> None:
    """The pod had a node, but a plugin refused it there."""
    attempt.decision.rejection = status
    attempt.decision.nominating = _CLEAR_NOMINATION
    if status.is_rejected:
        statuses = NodeStatuses.empty(1)
        statuses.set(0, status)
        attempt.diagnosis = Diagnosis(statuses)
        attempt.diagnosis.add_plugin(status)
        attempt.decision.filter_message = fit_error_message(attempt.diagnosis, 1)
    else:
        attempt.diagnosis = None


def binding_cycle(sched: Scheduler, attempt: Attempt) -> Status:
    """PreBind and Bind, which say what to write; the pod stays assumed until it is committed."""
    assert attempt.assumed is not None
    framework, state, decision = attempt.framework, attempt.state, attempt.decision
    status = framework.run_pre_bind_plugins(state, attempt.assumed, decision.node)
    if status.is_success:
        status = bind(sched, attempt)
    if status.is_success:
        decision.result = Result.SCHEDULED
        decision.message = ""
    else:
        unreserve_and_forget(sched, attempt)
        note_rejection(attempt, status)
    finish_decision(attempt)
    return status


def bind(sched: Scheduler, attempt: Attempt) -> Status:
    """By the first interested extender that binds, else by the bind plugins."""
    assert attempt.assumed is not None
    node = attempt.decision.node
    for extender in sched.extenders:
        if extender.is_binder and extender.is_interested(attempt.pod):
            try:
                return extender.bind(attempt.assumed, node) or SUCCESS
            except ExtenderError as failure:
                if not extender.is_ignorable:
                    return error(str(failure))
    return attempt.framework.run_bind_plugins(attempt.state, attempt.assumed, node)


def finish_decision(attempt: Attempt) -> None:
    """Copy into the decision what only the attempt knew."""
    decision, state, diagnosis = attempt.decision, attempt.state, attempt.diagnosis
    decision.filter_skipped = frozenset(state.skip_filter)
    decision.score_skipped = frozenset(state.skip_score)
    decision.durations = state.durations
    decision.intents = intents.of(state)
    if diagnosis is not None:
        decision.unschedulable_plugins = frozenset(diagnosis.unschedulable_plugins)
        decision.pending_plugins = frozenset(diagnosis.pending_plugins)


def handle_scheduling_failure(sched: Scheduler, attempt: Attempt, status: Status) -> None:
    """Say why, and bring the pod back to the queue with the plugins that refused it."""
    decision, diagnosis = attempt.decision, attempt.diagnosis
    decision.result = Result.UNSCHEDULABLE if status.is_rejected else Result.ERROR
    decision.message = status.message
    if diagnosis is not None and decision.filter_message:
        decision.message = decision.filter_message
        if diagnosis.post_filter_message:
            decision.message += f" {diagnosis.post_filter_message}"
    if attempt.queued is None:
        return
    place = sched.queue.add_unschedulable_if_not_present(
        attempt.queued,
        unschedulable_plugins=diagnosis.unschedulable_plugins if diagnosis is not None else (),
        pending_plugins=diagnosis.pending_plugins if diagnosis is not None else (),
    )
    if decision.nominating is not None and place is not SubQueue.OUTSIDE:
        node = decision.nominating.nominated_node
        sched.queue.add_nominated_pod(attempt.queued.pod_info, node)
