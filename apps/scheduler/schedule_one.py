"""The walk of one pod: from the queue through the scheduling cycle to a node, or back.

Read it from top to bottom. ``schedule_pod`` finds the node, ``binding_cycle`` goes on with a pod
that has one, and ``failure`` returns the others to the queue.
"""

from __future__ import annotations

from time import perf_counter_ns

import msgspec

from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.binding_cycle import start_binding
from apps.scheduler.cache.cache import Cache
from apps.scheduler.context import SchedulingContext
from apps.scheduler.decision import Result
from apps.scheduler.failure import (
    CLEAR_NOMINATION,
    finish_decision,
    handle_scheduling_failure,
    note_rejection,
    unreserve_and_forget,
)
from apps.scheduler.framework import activation
from apps.scheduler.framework.extender_calls import record_calls
from apps.scheduler.framework.status import SUCCESS, Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.schedule_pod import schedule_pod


def schedule_one(context: SchedulingContext) -> Attempt | None:
    """Take the next pod and schedule it; None when no pod is ready.

    Afterwards the pod is assumed and reserved on a node (and may wait there for a Permit plugin,
    or for a step of its binding), or it is back in the queue.
    """
    attempt = next_attempt(context)
    if attempt is None:
        return None
    if context.extenders:
        with record_calls(attempt.decision.extender_calls):
            status = scheduling_cycle(context, attempt)
    else:
        status = scheduling_cycle(context, attempt)
    if status is SUCCESS:
        start_binding(context, attempt)
    elif status.is_wait:
        attempt.decision.result = Result.WAITING
        attempt.decision.message = status.message
    else:
        handle_scheduling_failure(context.queue, attempt, status)
    return attempt


def next_attempt(context: SchedulingContext) -> Attempt | None:
    """The next pod from the queue that needs an attempt, with its profile."""
    while (queued := context.queue.pop()) is not None:
        framework = context.profiles.get(queued.pod.spec.scheduler_name)
        if framework is None or skip_pod_schedule(context.cache, queued.pod_info):
            context.queue.done(queued.uid)
            continue
        return new_attempt(framework, queued.pod_info, queued)
    return None


def skip_pod_schedule(cache: Cache, pod: PodInfo) -> bool:
    """A pod that is being deleted, or that is assumed already, needs no attempt."""
    return pod.is_terminating or cache.is_assumed(pod.uid)


def scheduling_cycle(context: SchedulingContext, attempt: Attempt) -> Status:
    """Find a node and take its room: SUCCESS, WAIT, or why there is none."""
    start = perf_counter_ns()
    status = schedule_pod(context, attempt)
    attempt.decision.algorithm_ns = perf_counter_ns() - start
    if status is SUCCESS:
        status = assume_and_reserve(context, attempt)
    elif attempt.diagnosis is not None and status.is_rejected:
        run_post_filter(attempt)
    else:
        attempt.decision.nominating = CLEAR_NOMINATION
    finish_decision(attempt)
    if status is SUCCESS or status.is_wait:
        context.queue.activate(activation.take(attempt.state))
    return status


def assume_and_reserve(context: SchedulingContext, attempt: Attempt) -> Status:
    """Assume the pod on the node, then Reserve and Permit; a failure undoes everything."""
    node, state = attempt.decision.node, attempt.state
    attempt.assumed = assumed = with_node(attempt.pod, node)
    context.cache.assume_pod(assumed, node)
    if attempt.queued is not None:
        context.queue.delete_nominated_pod(attempt.pod)
    status = attempt.framework.run_reserve_plugins_reserve(state, assumed, node)
    if status is SUCCESS:
        status = attempt.framework.run_permit_plugins(state, assumed, node)
    if status is not SUCCESS and not status.is_wait:
        unreserve_and_forget(context.cache, attempt)
        note_rejection(attempt, status)
    return status


def with_node(pod: PodInfo, node: str) -> PodInfo:
    """The pod as it will be once it is bound."""
    spec = msgspec.structs.replace(pod.pod.spec, node_name=node)
    return pod.with_pod(msgspec.structs.replace(pod.pod, spec=spec))


def run_post_filter(attempt: Attempt) -> None:
    """Let PostFilter plugins make room for a pod that fits on no node."""
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
