"""The walk of one pod: from the queue through the scheduling cycle to a node, or back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.decision import Result
from apps.scheduler.find_nodes import find_nodes_that_fit_pod
from apps.scheduler.framework import intents
from apps.scheduler.framework.diagnosis import (
    NO_NODES_AVAILABLE,
    Diagnosis,
    NodeStatuses,
    fit_error_message,
)
from apps.scheduler.framework.extender import ExtenderError
from apps.scheduler.framework.interface import NominatingInfo
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
from apps.scheduler.queue.records import SubQueue

if TYPE_CHECKING:
    from apps.scheduler.scheduler import Scheduler

_CLEAR_NOMINATION = NominatingInfo("")


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
        for displaced in decision.post_filter.displaced if decision.post_filter else ():
            sched.queue.delete_nominated_pod(displaced)
