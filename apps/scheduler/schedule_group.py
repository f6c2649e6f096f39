"""The walk of a group: its members find nodes together before any of them is bound.

As upstream with the feature gate GenericWorkload. All members that wait are taken from the queue
and tried one after the other, each with those before it on their nodes. Then everything is undone.
If Permit allowed one of them (for a gang: so many that it can run), each member that has a node
is scheduled there for good; else all go back to the queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.binding_cycle import resolve_permit
from apps.scheduler.context import SchedulingContext
from apps.scheduler.failure import (
    CLEAR_NOMINATION,
    finish_decision,
    handle_scheduling_failure,
    note_failure,
)
from apps.scheduler.framework.interface import NominatingInfo
from apps.scheduler.framework.status import SUCCESS, Status, error, unschedulable
from apps.scheduler.group_attempt import GroupAttempt, GroupVictim, MemberTrial, PlacementTrial
from apps.scheduler.group_condition import write_condition
from apps.scheduler.group_preemption import preempt_for_group
from apps.scheduler.group_trial import UNSCHEDULABLE, Outcome, Trial
from apps.scheduler.placement_trials import try_group
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo
from apps.scheduler.schedule_one import (
    assume_and_reserve,
    end_cycle,
    finish_cycle,
    skip_pod_schedule,
)

# the texts are upstream's, to the letter
_ASKED_TO_WAIT: Final = "one or more plugins asked to wait and no plugin rejected pod"
_MIXED: Final = "all pods in a single pod group should have the same .spec.schedulerName set, got"


def schedule_group(context: SchedulingContext, popped: QueuedPodInfo) -> list[Attempt]:
    """One attempt with each waiting member of the popped pod's group."""
    members = take_members(context, popped)
    names = list(dict.fromkeys(member.pod.spec.scheduler_name for member in members))
    if len(names) > 1:
        return refuse_all(context, members, error(f'{_MIXED}: "{names[1]}" and "{names[0]}"'))
    framework = context.profiles[names[0]]
    members = drop_needless(context, members)
    if not members:
        return []
    claims = context.cache.listers.device_claims
    claims.begin_group()
    trials, outcome, placements = try_group(context, framework, members)
    outcome, victims = preempt_for_group(context, framework, members, trials, outcome)
    note_group_attempt(context, trials, outcome.status, placements, victims)
    for place, trial in enumerate(trials):
        submit(context, trial, outcome, trials[:place])
    claims.end_group()
    resolve_allowed(context, trials)
    write_condition(context, popped.pod, outcome.status)
    return [trial.attempt for trial in trials]


def take_members(context: SchedulingContext, popped: QueuedPodInfo) -> list[QueuedPodInfo]:
    """The popped pod and the other members, wherever they wait, in the order of their attempts.

    The most important first, then the one that became ready first.
    """
    members = [popped]
    for pod in context.cache.pod_groups.of(popped.pod).unscheduled():
        if pod.metadata.uid != popped.uid:
            member = context.queue.pop_specific(pod)
            if member is not None:
                members.append(member)
    return sorted(
        members, key=lambda each: (-each.pod.spec.priority, each.initial_attempt_timestamp or 0.0)
    )


def refuse_all(
    context: SchedulingContext, members: Sequence[QueuedPodInfo], status: Status
) -> list[Attempt]:
    """Return all members to the queue, with the same error."""
    attempts = [
        new_attempt(context.profiles[each.pod.spec.scheduler_name], each.pod_info, each)
        for each in members
    ]
    note_group_attempt(context, [Trial(attempt, status) for attempt in attempts], status)
    for attempt in attempts:
        note_failure(attempt, status)
        finish_decision(attempt)
        handle_scheduling_failure(context.queue, attempt, status)
    return attempts


def drop_needless(
    context: SchedulingContext, members: Sequence[QueuedPodInfo]
) -> list[QueuedPodInfo]:
    """The members that need an attempt."""
    needed = []
    for member in members:
        if skip_pod_schedule(context, member.pod_info):
            context.queue.done(member.uid)
        else:
            needed.append(member)
    return needed


def note_group_attempt(
    context: SchedulingContext,
    trials: Sequence[Trial],
    status: Status,
    placements: tuple[PlacementTrial, ...] = (),
    victims: tuple[GroupVictim, ...] = (),
) -> None:
    """Let the decision of the first member have the attempt with the whole group."""
    pod = trials[0].attempt.pod.pod
    group = context.cache.listers.pod_groups.get(pod.group_name, pod.metadata.namespace)
    members = tuple(
        MemberTrial(
            trial.attempt.pod.name,
            trial.attempt.pod.uid,
            trial.attempt.decision.attempt,
            trial.node,
            trial.needs_preemption,
            "" if trial.node else trial.status.message,
        )
        for trial in trials
    )
    needed = group.min_count if group is not None else 0
    trials[0].attempt.decision.group_attempt = GroupAttempt(
        pod.metadata.namespace, pod.group_name, needed, status, members, placements, victims
    )


# -- the outcome ---------------------------------------------------------------------------------


def submit(
    context: SchedulingContext, trial: Trial, outcome: Outcome, before: Sequence[Trial]
) -> None:
    """Bind the member if the group can be scheduled and it has a node; else return it.

    The members `before` it that were held until now are bound first: they may write the same
    claims, and decisions are written in this order.
    """
    attempt, decision = trial.attempt, trial.attempt.decision
    if outcome.status is SUCCESS and trial.status is SUCCESS:
        status = finish_cycle(context, attempt, assume_and_reserve(context, attempt))
        if status is SUCCESS:
            resolve_allowed(context, before)
        return end_cycle(context, attempt, status)
    status = trial.status
    if outcome.status.is_error:
        status = status if status.is_error else outcome.status
        note_failure(attempt, status)
    elif trial.node and outcome.awaits_preemption:
        if status is SUCCESS:
            status = outcome.status
            note_failure(attempt, status)
            decision.nominating = NominatingInfo(trial.node)
    elif trial.node:
        status = unschedulable(UNSCHEDULABLE, trial.permit.message, _ASKED_TO_WAIT)
        note_failure(attempt, status)
        decision.nominating = CLEAR_NOMINATION
    if trial.needs_preemption:
        decision.node = ""
    finish_decision(attempt)
    return handle_scheduling_failure(context.queue, attempt, status)


def resolve_allowed(context: SchedulingContext, trials: Sequence[Trial]) -> None:
    """Bind the members that were held until the last of them had its node."""
    for trial in trials:
        waiting = context.waiting_pods.get(trial.attempt.pod.uid)
        if waiting is not None:
            resolve_permit(context, trial.attempt, waiting)
