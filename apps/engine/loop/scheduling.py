"""Schedules batches of pods, and describes each decision for the ledger."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from apps.cluster.models import Cluster
from apps.engine.ledger.records import DecisionRecord, Draws, Expected, SeenState
from apps.engine.loop.decision_log import collect_inputs, has_scores
from apps.engine.loop.informer import Informer
from apps.scheduler.attempt import Attempt
from apps.scheduler.context import SchedulingContext
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.status import Status
from apps.scheduler.objects import Pod
from apps.scheduler.scheduler import Scheduler

#: A batch ends after so many decisions or so long, whichever comes first: large enough to share
#: the cost of a commit, small enough that a pod is not kept waiting for its neighbours.
BATCH_DECISIONS = 200
BATCH_SECONDS = 0.1
#: The same while more pods wait than the last batch took: they wait for each other anyway.
CROWDED_DECISIONS = 500
CROWDED_SECONDS = 0.5
#: Such a batch is committed in parts, and the next part is scheduled meanwhile.
PART_DECISIONS = 100
#: A batch waits so long for bindings that are nearly done.
SETTLE_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class _Limits:
    """When a batch ends, and how many decisions make a part of it."""

    decisions: int
    seconds: float
    #: more time for a part that is incomplete
    part_seconds: float
    part: int


@dataclass(slots=True)
class _View:
    """What the next decision of a batch sees besides the objects."""

    seen: SeenState
    draws: Draws
    with_inputs: bool
    #: uids of the pods that have got nodes in this batch
    placed: set[str] = field(default_factory=set)


class BatchScheduler:
    """Schedules the pods of one cluster, and keeps the decisions that are not final yet."""

    def __init__(
        self,
        cluster: Cluster,
        scheduler: Scheduler,
        informer: Informer,
        progress: threading.Event,
    ) -> None:
        """`progress` is set when a pod that waits can go on."""
        self._cluster = cluster
        self._scheduler = scheduler
        self._informer = informer
        self._progress = progress
        #: whether the last batch left pods in the queue
        self.is_crowded = False
        #: decisions that are not final yet, by the pod's uid
        self._under_way: dict[str, DecisionRecord] = {}
        #: the version after which decisions are counted, and the number of the next one
        self._counted_after = 0
        self._sequence = 0

    def schedule(self, ended: list[DecisionRecord]) -> Iterator[list[DecisionRecord]]:
        """Schedule a batch in parts, at least one; only a crowded batch has more.

        `ended`: what was resolved just now; nothing of it is written yet.
        """
        if self._cluster.scheduling == Cluster.Scheduling.EXTERNAL:
            # a client binds the pods; they stay in the queue until it does
            self.is_crowded = False
            yield []
            return
        limits, began = _limits(self.is_crowded), time.monotonic()
        self.is_crowded = True
        view = self._view(ended)
        part: list[DecisionRecord] = []
        left = limits.decisions
        while self._scheduler.is_within_group or (
            left > 0
            and time.monotonic() - began < limits.seconds + (limits.part_seconds if part else 0)
        ):
            decision = self._scheduler.schedule_one()
            if decision is None:
                self.is_crowded = False
                break
            part.append(self._take(decision, view))
            left -= 1
            if left > 0 and len(part) >= limits.part and not self._scheduler.is_within_group:
                yield part
                part = []
        yield part

    def schedule_by_hand(
        self, pod: Pod, cycle: Callable[[SchedulingContext, Attempt], Status]
    ) -> DecisionRecord | None:
        """Try one pod with another scheduling cycle; None if it is not in the queue, or gated."""
        view = self._view([])
        decision = self._scheduler.schedule_by_hand(pod, cycle)
        return None if decision is None else self._take(decision, view)

    def resolve_waiting(self) -> list[DecisionRecord]:
        """Continue with the pods that waited; returns the decisions that are final now."""
        self._progress.clear()
        now = self._cluster.now()
        return [
            replace(self._under_way.pop(decision.pod_uid), at=now)
            for decision in self._scheduler.resolve_waiting()
        ]

    def settle(self, batch: list[DecisionRecord]) -> None:
        """Let steps end that take hardly any time, before it is written that their pods wait."""
        until = time.monotonic() + SETTLE_SECONDS
        while batch and self._scheduler.is_binding:
            if not self._progress.wait(max(0.0, until - time.monotonic())):
                break
            known = {record.decision.pod_uid for record in batch}
            batch += [r for r in self.resolve_waiting() if r.decision.pod_uid not in known]

    def _view(self, ended: list[DecisionRecord]) -> _View:
        draws = Draws(self._cluster.tie_break, self._cluster.seed)
        return _View(self._seen_state(ended), draws, has_scores())

    def _take(self, decision: Decision, view: _View) -> DecisionRecord:
        """The record of a decision, which later ones of the batch see if it is not final."""
        record = self._describe(decision, view)
        if record.took_node:
            view.placed.add(decision.pod_uid)
        if not decision.result.is_final:
            self._under_way[decision.pod_uid] = record
            view.seen = replace(view.seen, expected=(*view.seen.expected, _expect(record)))
        return record

    def _describe(self, decision: Decision, view: _View) -> DecisionRecord:
        return DecisionRecord(
            decision=decision,
            at=self._cluster.now(),
            cluster_version=self._informer.position,
            sequence=self._next_sequence(),
            request_id=self._informer.request_ids.get(decision.pod_uid, ""),
            seen=_beside_group(view, decision, self._informer.position),
            draws=view.draws,
            took_node=decision.result is Result.SCHEDULED,
            score_inputs=collect_inputs(self._scheduler, decision) if view.with_inputs else (),
        )

    def _seen_state(self, ended: list[DecisionRecord]) -> SeenState:
        """What the next decision sees besides the objects."""
        known = {
            record.decision.pod_uid: _expect(record)
            for record in (*self._under_way.values(), *ended)
        }
        expected = tuple(
            known.get(uid) or Expected(uid, node, self._informer.position)
            for uid, node in self._scheduler.assumed_pods()
        )
        decisions = (record.decision for record in ended)
        released = tuple(d.pod_uid for d in decisions if d.result is not Result.SCHEDULED)
        return SeenState(self._informer.loaded_at, expected, released)

    def _next_sequence(self) -> int:
        """How many decisions were made before this one that saw the same version."""
        if self._counted_after != self._informer.position:
            self._counted_after, self._sequence = self._informer.position, 0
        self._sequence += 1
        return self._sequence - 1


def _limits(is_crowded: bool) -> _Limits:
    if is_crowded:
        # what is less than a part is committed while nothing is scheduled
        return _Limits(CROWDED_DECISIONS, CROWDED_SECONDS, CROWDED_SECONDS, PART_DECISIONS)
    return _Limits(BATCH_DECISIONS, BATCH_SECONDS, 0.0, BATCH_DECISIONS)


def _expect(record: DecisionRecord) -> Expected:
    """The pod of a decision that gave it a node."""
    decision = record.decision
    return Expected(
        decision.pod_uid, decision.node, record.cluster_version, record.sequence, decision.claims
    )


def _beside_group(view: _View, decision: Decision, version: int) -> SeenState:
    """The state with the members of the pod's group that were tried before it, on their nodes.

    Those that have got a node are known from their own decisions.
    """
    others = [each for each in decision.beside if each[0] not in view.placed]
    if not others:
        return view.seen
    expected = (Expected(uid, node, version, claims=claims) for uid, node, claims in others)
    return replace(view.seen, expected=(*view.seen.expected, *expected))
