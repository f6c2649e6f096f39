"""When an attempt fails: undo what it did, say why, and return the pod to the queue."""

from __future__ import annotations

from time import perf_counter_ns

from apps.scheduler.attempt import Attempt
from apps.scheduler.cache.cache import Cache
from apps.scheduler.decision import Result
from apps.scheduler.framework import intents
from apps.scheduler.framework.diagnosis import Diagnosis, NodeStatuses, fit_error_message
from apps.scheduler.framework.events import EVENT_ASSIGNED_POD_DELETE
from apps.scheduler.framework.extender_calls import ExtenderVerb
from apps.scheduler.framework.interface import NominatingInfo
from apps.scheduler.framework.status import Status
from apps.scheduler.objects import Pod
from apps.scheduler.queue.records import SubQueue
from apps.scheduler.queue.scheduling_queue import PriorityQueue

CLEAR_NOMINATION = NominatingInfo("")

#: calls whose time is not part of an extension point's
_TIMED_SEPARATELY = (ExtenderVerb.FILTER, ExtenderVerb.PRIORITIZE, ExtenderVerb.BIND)


def unreserve_and_forget(cache: Cache, attempt: Attempt) -> None:
    """Undo Reserve, Permit and the assumption; a pod that is bound after all keeps its room."""
    assert attempt.assumed is not None
    node = attempt.decision.node
    attempt.framework.run_reserve_plugins_unreserve(attempt.state, attempt.assumed, node)
    attempt.framework.handle.waiting_pods.release(attempt.pod.uid)
    if cache.is_assumed(attempt.assumed.uid):
        cache.forget_pod(attempt.assumed.uid)


def note_rejection(attempt: Attempt, status: Status) -> None:
    """The pod had a node, but a Reserve or Permit plugin refused it there."""
    note_failure(attempt, status)
    if status.is_rejected:
        statuses = NodeStatuses.empty(1)
        statuses.set(0, status)
        attempt.diagnosis = Diagnosis(statuses)
        attempt.diagnosis.add_plugin(status)
        attempt.decision.filter_message = fit_error_message(attempt.diagnosis, 1)


def note_failure(attempt: Attempt, status: Status) -> None:
    """The pod had a node, but could not be bound: it is retried without waiting for an event."""
    attempt.decision.rejection = status
    attempt.decision.nominating = CLEAR_NOMINATION
    attempt.diagnosis = None


def handle_binding_cycle_error(
    cache: Cache, queue: PriorityQueue, attempt: Attempt, status: Status
) -> None:
    """The assumed pod will not be bound: undo everything and retry it.

    The room it leaves may help other pods. A pod that was rejected must not be woken by it: it
    would not wait for an event then. ``note_rejection`` or ``note_failure`` was called before.
    """
    assert attempt.assumed is not None
    assumed = attempt.assumed

    def is_another(pod: Pod) -> bool:
        return pod.metadata.uid != assumed.uid

    unreserve_and_forget(cache, attempt)
    finish_decision(attempt)
    deleted = EVENT_ASSIGNED_POD_DELETE
    if not status.is_rejected:
        queue.move_all_to_active_or_backoff_queue(deleted, old=assumed.pod)
    handle_scheduling_failure(queue, attempt, status)
    if status.is_rejected:
        queue.move_all_to_active_or_backoff_queue(deleted, assumed.pod, None, is_another)


def finish_decision(attempt: Attempt) -> None:
    """Copy into the decision what only the attempt knows."""
    decision, state, diagnosis = attempt.decision, attempt.state, attempt.diagnosis
    decision.filter_skipped = frozenset(state.skip_filter)
    decision.score_skipped = frozenset(state.skip_score)
    if decision.extender_calls:
        state.durations["Extenders"] = sum(
            call.nanoseconds for call in decision.extender_calls if call.verb in _TIMED_SEPARATELY
        )
    decision.durations = state.durations
    decision.plugin_durations = state.plugin_durations
    decision.intents = intents.of(state)
    if diagnosis is not None:
        if diagnosis.unschedulable_plugins:
            decision.unschedulable_plugins = frozenset(diagnosis.unschedulable_plugins)
        if diagnosis.pending_plugins:
            decision.pending_plugins = frozenset(diagnosis.pending_plugins)


def handle_scheduling_failure(queue: PriorityQueue, attempt: Attempt, status: Status) -> None:
    """Say why in the decision, and return the pod to the queue with the plugins that refused it."""
    decision, diagnosis = attempt.decision, attempt.diagnosis
    decision.result = Result.UNSCHEDULABLE if status.is_rejected else Result.ERROR
    decision.ended_ns = perf_counter_ns()
    decision.message = status.message
    if diagnosis is not None and decision.filter_message:
        decision.message = decision.filter_message
        if diagnosis.post_filter_message:
            decision.message += f" {diagnosis.post_filter_message}"
    if attempt.queued is None:
        return
    place = queue.add_unschedulable_if_not_present(
        attempt.queued,
        unschedulable_plugins=diagnosis.unschedulable_plugins if diagnosis is not None else (),
        pending_plugins=diagnosis.pending_plugins if diagnosis is not None else (),
    )
    if decision.nominating is not None and place is not SubQueue.OUTSIDE:
        node = decision.nominating.nominated_node
        queue.add_nominated_pod(attempt.queued.pod_info, node)
        for displaced in decision.post_filter.displaced if decision.post_filter else ():
            queue.delete_nominated_pod(displaced)
