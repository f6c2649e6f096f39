"""What differs between the record and a replay, pod by pod, with the first cause of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.scheduler.decision import Decision, Result
from apps.studies.rebuilding.comparing import why_not_now, why_now
from apps.studies.replay.levels import Levels

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
        """The first differing pod that is on one of the nodes in only one of record and replay."""
        here: set[str] = set()
        for node in nodes:
            here |= self.recorded.pods_on(node) ^ self.replayed.pods_on(node)
        return next((other for other in self.first if other in here and other != uid), "")

    def _explain(self, before: Attempt, now: Decision) -> str:
        if now.result is not Result.SCHEDULED:
            return now.message or "could not be scheduled"
        if before.node:
            return why_not_now(before.node, now) or self._explain_recorded(before, now)
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
        return why_now(read(row).decision, now, before.node)


def _outcome_of(decision: Decision) -> tuple[str, str]:
    if decision.result is Result.SCHEDULED:
        return decision.node, ""
    nominated = decision.nominating.nominated_node if decision.nominating is not None else ""
    return "", nominated


def _recorded_outcome(attempt: Attempt) -> tuple[str, str]:
    if attempt.result == Result.SCHEDULED:
        return attempt.node, ""
    return "", attempt.nominated_node
