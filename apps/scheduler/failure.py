"""When an attempt fails: everything is given back, said, and the pod goes to the queue."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING

from apps.scheduler.attempt import Attempt
from apps.scheduler.decision import Result
from apps.scheduler.framework import intents
from apps.scheduler.framework.diagnosis import Diagnosis, NodeStatuses, fit_error_message
from apps.scheduler.framework.events import EVENT_ASSIGNED_POD_DELETE
from apps.scheduler.framework.extender_calls import ExtenderVerb
from apps.scheduler.framework.interface import NominatingInfo
from apps.scheduler.framework.status import Status
from apps.scheduler.objects import Pod
from apps.scheduler.queue.records import SubQueue

if TYPE_CHECKING:
    from apps.scheduler.scheduler import Scheduler

CLEAR_NOMINATION = NominatingInfo("")

#: calls whose time is not part of an extension point's
_OF_THEIR_OWN = (ExtenderVerb.FILTER, ExtenderVerb.PRIORITIZE, ExtenderVerb.BIND)


def unreserve_and_forget(sched: Scheduler, attempt: Attempt) -> None:
    """Take everything back; a pod that is bound after all keeps its room."""
    assert attempt.assumed is not None
    node = attempt.decision.node
    attempt.framework.run_reserve_plugins_unreserve(attempt.state, attempt.assumed, node)
    attempt.framework.handle.waiting_pods.release(attempt.pod.uid)
    if sched.cache.is_assumed(attempt.assumed.uid):
        sched.cache.forget_pod(attempt.assumed.uid)


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
    """The pod had a node, but could not be bound: no plugin waits for an event to retry it."""
    attempt.decision.rejection = status
    attempt.decision.nominating = CLEAR_NOMINATION
    attempt.diagnosis = None


def give_up_binding(sched: Scheduler, attempt: Attempt, status: Status) -> None:
    """The pod, which is assumed, will not be bound: undo everything and retry it.

    Its room may help others; not itself, if it was rejected, for it would not wait for an event.
    ``attempt`` knows the reason already (``note_rejection``, ``note_failure``).
    """
    assert attempt.assumed is not None
    assumed = attempt.assumed

    def is_another(pod: Pod) -> bool:
        return pod.metadata.uid != assumed.uid

    unreserve_and_forget(sched, attempt)
    finish_decision(attempt)
    deleted = EVENT_ASSIGNED_POD_DELETE
    if not status.is_rejected:
        sched.queue.move_all_to_active_or_backoff_queue(deleted, old=assumed.pod)
    handle_scheduling_failure(sched, attempt, status)
    if status.is_rejected:
        sched.queue.move_all_to_active_or_backoff_queue(deleted, assumed.pod, None, is_another)


def finish_decision(attempt: Attempt) -> None:
    """Copy into the decision what only the attempt knew."""
    decision, state, diagnosis = attempt.decision, attempt.state, attempt.diagnosis
    decision.filter_skipped = frozenset(state.skip_filter)
    decision.score_skipped = frozenset(state.skip_score)
    if decision.extender_calls:
        state.durations["Extenders"] = sum(
            call.nanoseconds for call in decision.extender_calls if call.verb in _OF_THEIR_OWN
        )
    decision.durations = state.durations
    decision.plugin_durations = state.plugin_durations
    decision.intents = intents.of(state)
    if diagnosis is not None:
        decision.unschedulable_plugins = frozenset(diagnosis.unschedulable_plugins)
        decision.pending_plugins = frozenset(diagnosis.pending_plugins)


def handle_scheduling_failure(sched: Scheduler, attempt: Attempt, status: Status) -> None:
    """Say why, and bring the pod back to the queue with the plugins that refused it."""
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
