"""What differs between the record and a replay, pod by pod, with the first cause of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from apps.controlplane.ledger.reading import read
from apps.controlplane.models import SchedulingDecision
from apps.controlplane.replay.levels import Levels
from apps.scheduler.decision import Decision, Result

#: So many causes are found with the recorded decision, which has to be read.
_MAX_READ = 1000


class Attempt(NamedTuple):
    """A recorded attempt."""

    id: int
    result: str
    node: str
    nominated_node: str


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first attempt of a pod that differs."""

    pod_key: str
    attempt: int
    decision: int | None
    cause: str
    #: the uid of the pod whose difference led to this one
    follows: str


@dataclass(slots=True)
class Differences:
    """Compares the attempts of a replay with the recorded ones, as they are made."""

    recorded: Levels
    replayed: Levels
    #: (uid, number of the attempt) -> attempt
    attempts: dict[tuple[str, int], Attempt]
    #: uid -> its first difference, in the order in which they came about
    first: dict[str, FirstDifference] = field(default_factory=dict)
    _read: int = 0

    def take(self, decision: Decision) -> None:
        """Compare an attempt of the replay, before it takes effect."""
        uid = decision.pod_uid
        if uid in self.first or not decision.result.is_final:
            return
        before = self.attempts.get((uid, decision.attempt))
        if before is None or _outcome_of(decision) == _recorded_outcome(before):
            return
        follows = self._find_origin({before.node, decision.node} - {""}, uid)
        cause = self._explain(before, decision)
        self.first[uid] = FirstDifference(
            decision.pod_key, decision.attempt, before.id, cause, follows
        )

    def _find_origin(self, nodes: set[str], uid: str) -> str:
        """The first pod with a difference that is on one of the nodes in one of the two lives."""
        here: set[str] = set()
        for node in nodes:
            here |= self.recorded.pods_on(node) ^ self.replayed.pods_on(node)
        return next((other for other in self.first if other in here and other != uid), "")

    def _explain(self, before: Attempt, now: Decision) -> str:
        if now.result is not Result.SCHEDULED:
            return now.message or "could not be scheduled"
        if before.node:
            return _explain_node(before.node, now) or self._explain_recorded(before, now)
        return self._explain_recorded(before, now)

    def _explain_recorded(self, before: Attempt, now: Decision) -> str:
        """Why the node of the replay was not chosen when the decision was recorded."""
        self._read += 1
        row = (
            SchedulingDecision.objects.filter(pk=before.id).first()
            if self._read <= _MAX_READ
            else None
        )
        if row is None:
            return f"{now.node} was chosen"
        recorded = read(row).decision
        reason = _refusal(recorded, now.node)
        if reason:
            return f"{now.node} was rejected in the record: {reason}"
        if before.node:
            return _compare_scores(recorded, now, before.node) or "the draw fell otherwise"
        return f"{now.node} is feasible now"


def _explain_node(node: str, now: Decision) -> str:
    """Why a node is not chosen now; "" if it lost by its score alone."""
    if node not in now.nodes:
        return f"{node} does not exist"
    reason = _refusal(now, node)
    return f"{node} is rejected now: {reason}" if reason else ""


def _refusal(decision: Decision, node: str) -> str:
    """Who rejected a node, and why; "" if it was feasible, or is unknown."""
    try:
        status = decision.status_of(node)
    except KeyError:
        return ""
    if status is None or status.is_success:
        return ""
    return f"{status.plugin}: {status.message}" if status.plugin else status.message


def _compare_scores(recorded: Decision, now: Decision, node: str) -> str:
    """Which plugin favors the node of the replay more than in the record."""
    try:
        ours, theirs = now.scores_of(now.node), now.scores_of(node)
    except KeyError:
        return ""
    try:
        old, old_theirs = recorded.scores_of(now.node), recorded.scores_of(node)
    except KeyError:
        old, old_theirs = {}, {}
    totals = [sum(each[2] for each in scores.values()) for scores in (ours, theirs)]
    gains = {
        plugin: (ours[plugin][2] - theirs[plugin][2])
        - (old.get(plugin, (0, 0, 0))[2] - old_theirs.get(plugin, (0, 0, 0))[2])
        for plugin in ours
    }
    if totals[0] == totals[1] or not gains:
        return ""
    plugin = max(gains, key=lambda name: gains[name])
    return (
        f"{now.node} scores {totals[0]}, {node} {totals[1]}; "
        f"{plugin} gives {ours[plugin][2]} and {theirs[plugin][2]}"
    )


def _outcome_of(decision: Decision) -> tuple[str, str]:
    if decision.result is Result.SCHEDULED:
        return decision.node, ""
    nominated = decision.nominating.nominated_node if decision.nominating is not None else ""
    return "", nominated


def _recorded_outcome(attempt: Attempt) -> tuple[str, str]:
    if attempt.result == Result.SCHEDULED:
        return attempt.node, ""
    return "", attempt.nominated_node
