"""The walk of one pod: from the queue through the scheduling cycle to a node, or back.

Read it from top to bottom. ``schedule_pod`` finds the node, ``binding_cycle`` goes on with a pod
that has one, and ``failure`` returns the others to the queue.
"""

from __future__ import annotations

from time import perf_counter_ns

import msgspec

from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.binding_cycle import start_binding
from apps.scheduler.context import SchedulingContext
from apps.scheduler.decision import Result
from apps.scheduler.failure import (
    CLEAR_NOMINATION,
    finish_decision,
    handle_scheduling_failure,
    note_rejection,
    unreserve_and_forget,
)
from apps.scheduler.framework import activation, claim_allocations
from apps.scheduler.framework.extender_calls import record_calls
from apps.scheduler.framework.status import SUCCESS, Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import NodeAllocatableResourceClaimStatus
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo
from apps.scheduler.schedule_pod import schedule_pod


def schedule_one(context: SchedulingContext, queued: QueuedPodInfo) -> Attempt | None:
    """Schedule a popped pod; None if it needs no attempt.

    Afterwards the pod is assumed and reserved on a node (and may wait there for a Permit plugin,
    or for a step of its binding), or it is back in the queue.
    """
    pod = queued.pod_info
    framework = context.profiles.get(pod.pod.spec.scheduler_name)
    if framework is None or skip_pod_schedule(context, pod):
        context.queue.done(pod.uid)
        return None
    attempt = new_attempt(framework, pod, queued)
    if context.extenders:
        with record_calls(attempt.decision.extender_calls):
            status = scheduling_cycle(context, attempt)
    else:
        status = scheduling_cycle(context, attempt)
    end_cycle(context, attempt, status)
    return attempt


def skip_pod_schedule(context: SchedulingContext, pod: PodInfo) -> bool:
    """A pod that is being deleted, or that is assumed already, needs no attempt."""
    if pod.is_terminating:
        note = f"skip schedule deleting pod: {pod.key}"
        context.client.event(pod, "FailedScheduling", note, warning=True)
        return True
    return context.cache.is_assumed(pod.uid)


def scheduling_cycle(context: SchedulingContext, attempt: Attempt) -> Status:
    """Find a node and take its room: SUCCESS, WAIT, or why there is none."""
    status = find_node(context, attempt)
    if status is SUCCESS:
        status = assume_and_reserve(context, attempt)
    return finish_cycle(context, attempt, status)


def find_node(context: SchedulingContext, attempt: Attempt, *, preempts: bool = True) -> Status:
    """Find a node for the pod; if there is none and ``preempts``, let PostFilter make room."""
    start = perf_counter_ns()
    status = schedule_pod(context, attempt)
    attempt.decision.algorithm_ns = perf_counter_ns() - start
    if status is SUCCESS:
        return status
    if preempts and attempt.diagnosis is not None and status.is_rejected:
        run_post_filter(attempt)
    else:
        attempt.decision.nominating = CLEAR_NOMINATION
    return status


def finish_cycle(context: SchedulingContext, attempt: Attempt, status: Status) -> Status:
    """The decision is complete; pods that a plugin wants to be retried after a success are."""
    finish_decision(attempt)
    if attempt.state.pods_to_activate and (status is SUCCESS or status.is_wait):
        context.queue.activate(activation.take(attempt.state))
    return status


def end_cycle(context: SchedulingContext, attempt: Attempt, status: Status) -> None:
    """Go on to the binding cycle, wait for Permit plugins, or return the pod to the queue."""
    if status is SUCCESS:
        start_binding(context, attempt)
    elif status.is_wait:
        attempt.decision.result = Result.WAITING
        attempt.decision.message = status.message
    else:
        handle_scheduling_failure(context.queue, attempt, status)


def assume_and_reserve(context: SchedulingContext, attempt: Attempt) -> Status:
    """Assume the pod on the node, then Reserve and Permit; a failure undoes everything."""
    status = assume(context, attempt)
    if status is SUCCESS:
        assert attempt.assumed is not None
        node = attempt.decision.node
        status = attempt.framework.run_permit_plugins(attempt.state, attempt.assumed, node)
    undo_if_rejected(context, attempt, status)
    return status


def assume(context: SchedulingContext, attempt: Attempt) -> Status:
    """Assume the pod on the node of the decision, and run Reserve."""
    node = attempt.decision.node
    devices = claim_allocations.resources_on(attempt.state, node)
    attempt.assumed = assumed = with_node(attempt.pod, node, devices)
    context.cache.assume_pod(assumed, node)
    if attempt.queued is not None:
        context.queue.delete_nominated_pod(attempt.pod)
    status = attempt.framework.run_reserve_plugins_reserve(attempt.state, assumed, node)
    attempt.decision.claims = claim_allocations.of(attempt.state)
    return status


def undo_if_rejected(context: SchedulingContext, attempt: Attempt, status: Status) -> None:
    """Undo the assumption if a Reserve or Permit plugin refused the pod."""
    if status is not SUCCESS and not status.is_wait:
        unreserve_and_forget(context.cache, attempt)
        note_rejection(attempt, status)


def with_node(
    pod: PodInfo, node: str, devices: tuple[NodeAllocatableResourceClaimStatus, ...] = ()
) -> PodInfo:
    """The pod as it will be once it is bound; ``devices``: what its claims take of the node."""
    spec = msgspec.structs.replace(pod.pod.spec, node_name=node)
    bound = msgspec.structs.replace(pod.pod, spec=spec)
    if not devices:
        return pod.with_pod(bound)
    status = msgspec.structs.replace(bound.status, node_allocatable_resource_claim_statuses=devices)
    return PodInfo(msgspec.structs.replace(bound, status=status))


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
