"""The walk of one pod: from the queue through the scheduling cycle to a node, or back."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING

import msgspec

from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.binding_cycle import start_binding
from apps.scheduler.decision import Result
from apps.scheduler.failure import (
    CLEAR_NOMINATION,
    finish_decision,
    handle_scheduling_failure,
    note_rejection,
    unreserve_and_forget,
)
from apps.scheduler.find_nodes import find_nodes_that_fit_pod
from apps.scheduler.framework import activation
from apps.scheduler.framework.diagnosis import NO_NODES_AVAILABLE
from apps.scheduler.framework.extender import ExtenderError
from apps.scheduler.framework.extender_calls import calls_noted_in
from apps.scheduler.framework.status import (
    SUCCESS,
    Status,
    StatusError,
    error,
    unresolvable,
    unschedulable,
)
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.prioritize import prioritize_nodes, select_host

if TYPE_CHECKING:
    from apps.scheduler.scheduler import Scheduler


def schedule_one(sched: Scheduler) -> Attempt | None:
    """Take the next pod and schedule it; None when no pod is ready.

    Afterwards the pod is assumed and reserved on a node (and perhaps waits there for a Permit
    plugin, or for a step of its binding), or it is back in the queue.
    """
    attempt = next_attempt(sched)
    if attempt is None:
        return None
    with calls_noted_in(attempt.decision.extender_calls):
        status = scheduling_cycle(sched, attempt)
    if status.is_success:
        start_binding(sched, attempt)
    elif status.is_wait:
        attempt.decision.result = Result.WAITING
        attempt.decision.message = status.message
    else:
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


def skip_pod_schedule(sched: Scheduler, pod: PodInfo) -> bool:
    """A pod that is being deleted, or that was assumed meanwhile, needs no attempt."""
    return pod.is_terminating or sched.cache.is_assumed(pod.uid)


def scheduling_cycle(sched: Scheduler, attempt: Attempt) -> Status:
    """Find the node and take it: success, WAIT, or why there is none."""
    start = perf_counter_ns()
    status = schedule_pod(sched, attempt)
    attempt.decision.algorithm_ns = perf_counter_ns() - start
    if status.is_success:
        status = assume_and_reserve(sched, attempt)
    elif attempt.diagnosis is not None and status.is_rejected:
        run_post_filter(attempt)
    else:
        attempt.decision.nominating = CLEAR_NOMINATION
    finish_decision(attempt)
    if status.is_success or status.is_wait:
        sched.queue.activate(activation.take(attempt.state))
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


def run_post_filter(attempt: Attempt) -> None:
    """Let PostFilter plugins make room for a pod that fits nowhere."""
    decision, diagnosis = attempt.decision, attempt.diagnosis
    assert diagnosis is not None
    if not attempt.framework.has_post_filter_plugins:
        decision.nominating = CLEAR_NOMINATION
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
