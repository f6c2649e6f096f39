"""Trying a group in every placement, and choosing one of those in which it fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from apps.scheduler.attempt import new_attempt
from apps.scheduler.context import SchedulingContext
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.framework.status import Status, unschedulable
from apps.scheduler.group_attempt import PlacementTrial
from apps.scheduler.group_trial import UNSCHEDULABLE, Outcome, Trial, try_members
from apps.scheduler.placements import GATE, Placement, generate_placements, score_placements
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo

# upstream's text, to the letter
_NONE: Final = "0/{} placements are available, first placement status: {}"
_NO_PLACEMENT: Final = "0/0 placements are available"

#: the trials of the members and their outcome, in the placement that counts
GroupTrial = tuple[list[Trial], Outcome, tuple[PlacementTrial, ...]]
_Tried = tuple[Placement, list[Trial], Outcome]


def try_group(
    context: SchedulingContext,
    framework: Framework,
    members: Sequence[QueuedPodInfo],
    *,
    preempts: bool = True,
) -> GroupTrial:
    """Try the group and undo all of it, in each placement if the feature gate is on.

    Members that fit nowhere run PostFilter if ``preempts``.
    """
    if not framework.handle.gates.enabled(GATE):
        return (*try_members(context, framework, members, preempts=preempts), ())
    placements = generate_placements(context.cache, members[0].pod)
    if isinstance(placements, Status):
        return _untried(framework, members, placements)
    if not placements:
        return _untried(framework, members, unschedulable(UNSCHEDULABLE, _NO_PLACEMENT))
    tried: list[_Tried] = []
    for placement in placements:
        with context.snapshot.narrowed(context.cache, placement.nodes):
            trials, outcome = try_members(context, framework, members, preempts=preempts)
        tried.append((placement, trials, outcome))
        if outcome.status.is_error:
            return trials, outcome, _describe(tried, 0)
    return _choose(context, framework, tried)


def _untried(framework: Framework, members: Sequence[QueuedPodInfo], status: Status) -> GroupTrial:
    trials = [Trial(new_attempt(framework, each.pod_info, each), status) for each in members]
    return trials, Outcome(status), ()


def _choose(
    context: SchedulingContext, framework: Framework, tried: Sequence[_Tried]
) -> GroupTrial:
    """The placement with the best score; the first one if the group fits in none."""
    fitting = [number for number, (_, _, outcome) in enumerate(tried) if outcome.fits]
    if not fitting:
        _, trials, first = tried[0]
        status = unschedulable(_NONE.format(len(tried), first.status.reasons[0]))
        return trials, Outcome(status), _describe(tried)
    best = fitting[0]
    described = _describe(tried)
    if len(fitting) > 1:
        proposed = [
            [trial.attempt.pod for trial in tried[number][1] if trial.node] for number in fitting
        ]
        member = tried[0][1][0].attempt.pod.pod
        placed = len(context.cache.pod_groups.of(member).placed)
        placements = [tried[number][0] for number in fitting]
        scores = score_placements(context.cache, framework, placements, proposed, placed)
        totals = [sum(each.score * each.weight for each in of_one) for of_one in scores]
        ties = [number for number, total in enumerate(totals) if total == max(totals)]
        best = fitting[ties[context.tie_breaker.choose(len(ties))]]
        of_fitting = dict(zip(fitting, scores, strict=True))
        described = tuple(
            msgspec.structs.replace(each, scores=of_fitting.get(number, ()))
            for number, each in enumerate(described)
        )
    described = tuple(
        msgspec.structs.replace(each, chosen=number == best)
        for number, each in enumerate(described)
    )
    _, trials, outcome = tried[best]
    return trials, outcome, described


def _describe(tried: Sequence[_Tried], chosen: int = -1) -> tuple[PlacementTrial, ...]:
    """What the ledger keeps of the trials; nothing for a group without a topology constraint."""
    if not tried[0][0].name:
        return ()
    return tuple(_describe_one(*each, chosen=number == chosen) for number, each in enumerate(tried))


def _describe_one(
    placement: Placement, trials: Sequence[Trial], outcome: Outcome, *, chosen: bool
) -> PlacementTrial:
    failing = next((trial for trial in trials if not trial.node), None)
    return PlacementTrial(
        name=placement.name,
        nodes=len(placement.nodes),
        placed=sum(bool(trial.node) for trial in trials),
        fits=outcome.fits,
        chosen=chosen,
        failing=failing.attempt.pod.name if failing is not None else "",
        message=_message_of(failing) if failing is not None else "",
    )


def _message_of(trial: Trial) -> str:
    return trial.attempt.decision.filter_message or trial.status.message
