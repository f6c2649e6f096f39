"""Trying a group: its members get nodes one after the other, and then all of it is undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.context import SchedulingContext
from apps.scheduler.failure import note_rejection, unreserve_and_forget
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.framework.status import SUCCESS, Status, error, unschedulable
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo
from apps.scheduler.schedule_one import assume, find_node

# the texts are upstream's, to the letter
UNSCHEDULABLE: Final = "pod group is unschedulable"
AWAITS_PREEMPTION: Final = "pod group is waiting for preemption to complete"
_OTHER_FAILED: Final = "failed to schedule other pod from a pod group"


@dataclass(slots=True)
class Trial:
    """What became of one member while the group was tried."""

    attempt: Attempt
    #: of the search for a node
    status: Status
    #: the node it has: by its own search, or by preemption; "" without one
    node: str = ""
    #: Permit's answer for that node
    permit: Status = SUCCESS

    @property
    def needs_preemption(self) -> bool:
        return bool(self.node) and self.status is not SUCCESS


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the trial of a whole group ended."""

    status: Status
    #: the group fits once the victims of some members, or of the group, are gone
    awaits_preemption: bool = False

    @property
    def fits(self) -> bool:
        return self.status.is_success or self.awaits_preemption


def try_members(
    context: SchedulingContext,
    framework: Framework,
    members: Sequence[QueuedPodInfo],
    *,
    preempts: bool = True,
) -> tuple[list[Trial], Outcome]:
    """Try one member after the other, and undo all of it.

    Members that fit nowhere run PostFilter if ``preempts``.
    """
    trials: list[Trial] = []
    outcome = Outcome(unschedulable(UNSCHEDULABLE))
    nominations = {member.uid: context.queue.nominator.get(member.uid) for member in members}
    needs_preemption = False
    for member in members:
        attempt = new_attempt(framework, member.pod_info, member)
        attempt.decision.beside = tuple(
            (each.attempt.pod.uid, each.node, each.attempt.decision.claims)
            for each in trials
            if each.node
        )
        trial = Trial(attempt, outcome.status)
        trials.append(trial)
        if outcome.status.is_error:
            continue
        _try_member(context, trial, preempts)
        if not trial.node:
            if not trial.status.is_rejected:
                outcome = Outcome(error(f"{_OTHER_FAILED}: {trial.status.message}"))
            continue
        needs_preemption = needs_preemption or trial.needs_preemption
        if trial.permit is SUCCESS:
            outcome = Outcome(SUCCESS)
            if needs_preemption:
                outcome = Outcome(unschedulable(UNSCHEDULABLE, AWAITS_PREEMPTION), True)
    for trial in reversed(trials):
        if trial.node:
            unreserve_and_forget(context.cache, trial.attempt)
            nomination = nominations[trial.attempt.pod.uid]
            if nomination is not None:
                context.queue.add_nominated_pod(trial.attempt.pod, nomination.node_name)
    return trials, outcome


def _try_member(context: SchedulingContext, trial: Trial, preempts: bool) -> None:
    """Find a node, by preemption if need be, and take it for the members that follow."""
    attempt, decision = trial.attempt, trial.attempt.decision
    trial.status = find_node(context, attempt, preempts=preempts)
    if trial.status is not SUCCESS:
        if decision.nominating is None or not decision.nominating.nominated_node:
            return
        decision.node = decision.nominating.nominated_node
    status = assume(context, attempt)
    if status is SUCCESS:
        assert attempt.assumed is not None
        status, _ = attempt.framework.ask_permit_plugins(
            attempt.state, attempt.assumed, decision.node
        )
    if status is SUCCESS or status.is_wait:
        trial.permit, trial.node = status, decision.node
    else:
        unreserve_and_forget(context.cache, attempt)
        note_rejection(attempt, status)
        trial.status = status
