"""Writes a batch of decisions, and everything they intend, in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction

from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.exchange import Answer
from apps.cluster.log.announce import announcer
from apps.cluster.log.changelog import ObjectChange
from apps.cluster.models import Cluster
from apps.cluster.prepared import Step, execute_together
from apps.cluster.writes import Actor, Update, Write
from apps.cluster.writing import store
from apps.controllers.events.writer import EventWriter
from apps.controllers.manager import Controllers
from apps.engine.ledger.records import DecisionRecord
from apps.engine.ledger.rows import LedgerWriter
from apps.engine.loop import decision_log
from apps.engine.loop.batch_metrics import bound_pods, note_batch
from apps.engine.loop.informer import Informer
from apps.engine.loop.intended_writes import USER, IntendedWrites
from apps.engine.loop.placement_commits import PlacementCommits, SentPlacements
from apps.engine.loop.placing import is_plain
from apps.engine.metrics import stored
from apps.engine.queue import activation
from apps.engine.queue.history import NOTHING, Deferred, QueueHistory
from apps.engine.queue.permit_waits import PermitWaits, Waits
from apps.engine.queue.rows import QueueRows
from apps.engine.workers.lease import ClusterLease
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import Intent
from apps.scheduler.framework.status import error
from apps.scheduler.queue.records import QueueChanges, SavedEntry
from apps.scheduler.scheduler import Scheduler

log = logging.getLogger(__name__)

#: Devices are allocated in the status of these objects.
_DEVICE_CLAIM = "ResourceClaim"

#: The steps that insert the decisions of a batch into the ledger.
EncodedRows = Sequence[Step]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is written of a batch besides objects."""

    steps: Sequence[Step]
    #: uids of pods whose queue entries are written and deleted
    saved: Sequence[str]
    removed: Sequence[str]
    #: the pods that Permit plugins hold
    waits: Waits
    #: what happens in the queue after this was planned
    rest: Deferred


@dataclass(frozen=True, slots=True)
class _Sent:
    """A batch that only binds pods, on its way to the database."""

    plan: _Plan
    placements: SentPlacements


class Recorder:
    """Writes the decisions of a loop, as long as the loop holds the lease."""

    def __init__(
        self,
        cluster: Cluster,
        lease: ClusterLease,
        profile_revision: int,
        scheduler: Scheduler,
        informer: Informer,
        history: QueueHistory,
        controllers: Controllers,
    ) -> None:
        self._cluster = cluster
        self._lease = lease
        self._profile_revision = profile_revision
        self._scheduler = scheduler
        self._informer = informer
        self._history = history
        self._ledger = LedgerWriter(cluster.pk, profile_revision)
        self._events = EventWriter(cluster)
        self._queue_rows = QueueRows(cluster.pk)
        self._waits = PermitWaits(cluster.pk)
        self._placements = PlacementCommits(
            cluster, scheduler, informer, controllers, self._ledger, self._events
        )
        #: the state of the cluster after the last commit, if that has read it
        self._look: Answer | None = None

    def start_with(self, persisted: Iterable[str], deleted: Sequence[str]) -> None:
        """Remember which pods have a queue entry; delete the entries of `deleted` pods."""
        self._queue_rows.set_persisted(persisted)
        self._waits.load()
        if deleted:
            with transaction.atomic():
                steps = [self._lease.renewal(), *self._queue_rows.steps((), deleted)]
                self._lease.check(execute_together(steps))
            self._queue_rows.mark_committed((), deleted)

    def take_look(self) -> Answer | None:
        """The state of the cluster as the last commit has read it, once; None if it has not.

        Without rows if reading it has failed.
        """
        look, self._look = self._look, None
        return look

    def concerns(self, changes: QueueChanges) -> bool:
        """Whether these changes of the queue, moves in it, or waits at Permit must be written."""
        return (
            bool(self._history)
            or self._queue_rows.needs_write(changes)
            or self._waits.has_changed(self._scheduler.waiting_pods)
        )

    def record(
        self,
        batch: Sequence[DecisionRecord],
        changes: QueueChanges,
        intents: Sequence[Intent] = (),
        activations: Sequence[int] = (),
        *,
        deferred: Deferred = NOTHING,
    ) -> None:
        """Commit a batch and the queue's changes, and report the outcome to the scheduler.

        If the store rejects a binding (the pod was deleted, or bound by another client), the
        transaction is rolled back, its decision becomes an error, the pod is requeued, and the rest
        is written. `intents` are further writes of plugins: their errors are only logged.
        Of a decision that is not final, only the expected node of its pod is written.
        `activations` are the ids of the manual activations that the moves in the queue applied.
        `deferred` is what later commits of the same pass write.
        Raises LeaseLost if another process holds the lease; nothing is written then.
        """
        changed: dict[str, SavedEntry | None] = _by_pod(changes)
        self._look = None
        only_binds = not (intents or activations)
        while not (only_binds and self._commit_placements(batch, changed, deferred)):
            rejected = self._commit_writes(batch, changed, intents, activations, deferred)
            if not rejected:
                break
            for decision, refusal in rejected:
                self._scheduler.bind_failed(decision, error(refusal.message))
            changed |= _by_pod(self._scheduler.queue.take_changes())
        self._report(batch)

    def encode(self, batch: Sequence[DecisionRecord]) -> EncodedRows | None:
        """The rows of the ledger for `begin`, while another batch is committed, if possible."""
        return self._ledger.encode_ahead(batch) if all(map(is_plain, batch)) else None

    def begin(
        self,
        batch: Sequence[DecisionRecord],
        changes: QueueChanges,
        rows: EncodedRows | None = None,
    ) -> Callable[[], None]:
        """Start to do what `record` does; what is returned waits for the end.

        Further pods can be scheduled before that is called, but the thread's connection is in use.
        A batch that does more than bind pods is recorded at once. `rows` is what `encode` has
        returned for it.
        """
        self._look = None
        sent = self._send_placements(batch, _by_pod(changes), NOTHING, rows)
        if sent is None:
            self.record(batch, changes)
            return lambda: None

        def finish() -> None:
            if self._receive(sent):
                self._report(batch)
            else:
                self.record(batch, changes, deferred=sent.plan.rest)

        return finish

    def _report(self, batch: Sequence[DecisionRecord]) -> None:
        """Report to the scheduler, the queue's history and the log what is committed."""
        scheduled = [r.decision for r in batch if r.decision.result == Result.SCHEDULED]
        for decision in scheduled:
            self._scheduler.bound(decision)
        self._history.discard_moves_out({decision.pod_uid for decision in scheduled})
        decision_log.log_decisions(self._cluster, batch)

    def _commit_placements(
        self,
        batch: Sequence[DecisionRecord],
        changed: Mapping[str, SavedEntry | None],
        deferred: Deferred,
    ) -> bool:
        """Commit a batch that only binds pods; False, and nothing is written, for any other."""
        sent = self._send_placements(batch, changed, deferred, waits=True)
        return sent is not None and self._receive(sent)

    def _send_placements(
        self,
        batch: Sequence[DecisionRecord],
        changed: Mapping[str, SavedEntry | None],
        deferred: Deferred,
        rows: EncodedRows | None = None,
        *,
        waits: bool = False,
    ) -> _Sent | None:
        """Send a batch that only binds pods; None, and nothing is sent, for any other.

        `rows` are those of the ledger, if they are encoded already. If the caller only `waits` for
        the answer, those of a few pods are encoded once the rest is on its way, and follow it.
        """
        placements = self._placements.find(batch)
        if placements is None:
            return None
        late = batch if waits and self._placements.encodes_late(batch) else ()
        if rows is None:
            rows = () if late else self._ledger.steps(batch)
        plan = self._plan(batch, changed, deferred, rows)
        sent = self._placements.send(placements, batch, plan.steps, late=late)
        return None if sent is None else _Sent(plan, sent)

    def _receive(self, sent: _Sent) -> bool:
        """Wait for a commit, and note it; False if nothing was written."""
        if not self._placements.receive(sent.placements):
            return False
        self._look = sent.placements.look
        self._placements.note_committed(sent.placements)
        self._mark_committed(sent.plan)
        return True

    def _commit_writes(
        self,
        batch: Sequence[DecisionRecord],
        changed: Mapping[str, SavedEntry | None],
        intents: Sequence[Intent],
        activations: Sequence[int],
        deferred: Deferred,
    ) -> list[tuple[Decision, ApiError]]:
        """Commit a batch through the store; nothing is written if bindings are rejected."""
        final = [record for record in batch if record.decision.result.is_final]
        plan = self._plan(batch, changed, deferred, self._ledger.steps(final))
        journal: list[ObjectChange] = []
        with transaction.atomic():
            results = execute_together(plan.steps)
            self._lease.check(results)
            self._ledger.complete(final, results)
            if activations:
                activation.delete(activations)
            rejected = self._write_objects(batch, intents, journal)
            if rejected:
                transaction.set_rollback(True)
                return rejected
            note_batch(self._scheduler, batch)
            if self._scheduler.metrics.is_dirty:
                stored.write(self._cluster.pk, self._scheduler.metrics)
        self._informer.note_own_writes(journal)
        self._mark_committed(plan)
        return []

    def _plan(
        self,
        batch: Sequence[DecisionRecord],
        changed: Mapping[str, SavedEntry | None],
        deferred: Deferred,
        ledger: EncodedRows,
    ) -> _Plan:
        """What is written besides objects; `ledger` are the steps that insert the decisions."""
        bound = bound_pods(batch)
        saved = {
            uid: entry
            for uid, entry in changed.items()
            if entry is not None and uid not in bound and self._queue_rows.is_needed(entry)
        }
        removed = [
            uid for uid in {*changed, *bound} if uid not in saved and self._queue_rows.has(uid)
        ]
        queue = self._scheduler.queue
        waits = self._waits.read(self._scheduler.waiting_pods)
        steps = [
            self._lease.renewal(
                consumed_version=self._informer.position,
                profile_revision=self._profile_revision,
                cycles=(queue.scheduling_cycle, queue.move_request_cycle),
            ),
            *self._waits.steps(waits),
            *ledger,
            *self._queue_rows.steps([*saved.values()], removed),
            *self._queue_rows.put_back_steps(self._history.places_of(deferred.pods)),
            *self._history.steps(
                (record.decision for record in batch if record.decision.pod_uid in bound),
                {record.decision.pod_uid for record in batch},
                deferred,
            ),
        ]
        return _Plan(steps, [*saved], removed, waits, rest=Deferred(after=len(self._history)))

    def _mark_committed(self, plan: _Plan) -> None:
        self._events.confirm()
        self._history.mark_committed()
        self._queue_rows.mark_committed(plan.saved, plan.removed)
        self._waits.mark_committed(plan.waits)

    def _write_objects(
        self,
        batch: Sequence[DecisionRecord],
        intents: Sequence[Intent],
        journal: list[ObjectChange],
    ) -> list[tuple[Decision, ApiError]]:
        """Write what a batch and plugins intend; returns the decisions that the store rejects."""
        self._events.begin()
        announces = self._scheduler.gates.enabled("NominatedNodeNameForExpectation")
        writes = IntendedWrites(self._informer, self._events, announces_nodes=announces)
        planned: list[tuple[Decision | None, Write]] = [
            (record.decision, write) for record in batch for write in writes.of_decision(record)
        ]
        planned += [
            (None, write)
            for intent in intents
            for write in writes.of_intent(intent, self._cluster.now())
        ]
        outcomes = store.write(
            self._cluster,
            [write for _, write in planned],
            actor=Actor(USER),
            collect_refusals=True,
            wake=False,
            journal=journal,
        )
        if not journal:
            # pages show the queue, which is not in the change log
            cluster, position = self._cluster.pk, self._informer.position
            transaction.on_commit(partial(announcer.announce, cluster, position, due=False))
        return self._find_rejected(planned, outcomes)

    def _find_rejected(
        self, planned: Sequence[tuple[Decision | None, Write]], outcomes: Sequence[object]
    ) -> list[tuple[Decision, ApiError]]:
        """The decisions that need a write which was rejected, each once with its first error."""
        rejected: dict[int, tuple[Decision, ApiError]] = {}
        for (decision, write), outcome in zip(planned, outcomes, strict=True):
            if not isinstance(outcome, ApiError):
                continue
            if write.kind is kinds.EVENT:
                self._events.discard(write)
            elif decision is None:
                log.warning("A write of a plugin was rejected: %s", outcome.message)
            elif _must_succeed(decision, write):
                rejected.setdefault(id(decision), (decision, outcome))
        return [*rejected.values()]


def _by_pod(changes: QueueChanges) -> dict[str, SavedEntry | None]:
    """uid -> the entry of the pod, None for one that has left the queue."""
    saved = {entry.pod_uid: entry for entry in changes.saved}
    return {**saved, **dict.fromkeys(changes.removed)}


def _must_succeed(decision: Decision, write: Write) -> bool:
    """Whether the decision fails if this write is rejected: its binding, or a write before it."""
    if decision.result != Result.SCHEDULED:
        return False
    if write.kind.name == _DEVICE_CLAIM:
        return True
    return isinstance(write, Update) and write.subresource != "status"
