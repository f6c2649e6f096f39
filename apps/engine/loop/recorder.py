"""Writes a batch of decisions, and everything they intend, in one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from django.db import DataError, transaction

from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.exchange import Answer, Exchange, exchange
from apps.cluster.log.announce import announcer
from apps.cluster.log.changelog import ObjectChange
from apps.cluster.models import Cluster
from apps.cluster.prepared import Step, execute_together, send_together
from apps.cluster.writes import Actor, Create, Update, Write
from apps.cluster.writing import store
from apps.cluster.writing.placement_statement import FEW, send_placements
from apps.controllers.events.writer import EventWriter
from apps.controllers.kubelet.starting import ImmediateStarts
from apps.controllers.manager import Controllers
from apps.controllers.registry import KUBELET
from apps.engine.ledger.records import DecisionRecord
from apps.engine.ledger.rows import LedgerWriter
from apps.engine.loop import decision_log
from apps.engine.loop.cluster_state import send_announcing_look
from apps.engine.loop.informer import Informer
from apps.engine.loop.intended_writes import IntendedWrites, scheduled_event
from apps.engine.loop.placed_statuses import PlacedStatuses
from apps.engine.loop.placing import Placements, is_plain
from apps.engine.metrics import stored
from apps.engine.queue import activation
from apps.engine.queue.history import NOTHING, Deferred, QueueHistory
from apps.engine.queue.permit_waits import PermitWaits, Waits
from apps.engine.queue.rows import QueueRows
from apps.engine.workers.lease import ClusterLease
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import Intent
from apps.scheduler.framework.status import error
from apps.scheduler.metrics.attempts import Attempt, note_attempts
from apps.scheduler.metrics.gauges import note_state
from apps.scheduler.metrics.series import MetricsMark
from apps.scheduler.queue.records import QueueChanges, SavedEntry
from apps.scheduler.scheduler import Scheduler

log = logging.getLogger(__name__)

#: Devices are allocated in the status of these objects.
_DEVICE_CLAIM = "ResourceClaim"
#: The scheduler's name in the change log.
USER = "kube-scheduler"

#: The steps that insert the decisions of a batch into the ledger.
EncodedRows = Sequence[Step]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is written of a batch besides objects."""

    #: decisions that are final
    final: Sequence[DecisionRecord]
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
    """A batch that only binds pods, whose commit is under way."""

    exchange: Exchange
    #: closes the exchange
    stack: ExitStack
    placements: Placements
    #: the version before the first change
    base: Answer
    #: the metrics before and after the batch was added
    noted: tuple[MetricsMark, MetricsMark]


class Recorder:
    """Writes the decisions of a loop, as long as the loop holds the lease."""

    def __init__(
        self,
        cluster: Cluster,
        lease: ClusterLease,
        profile_revision: int,
        history: QueueHistory,
        controllers: Controllers,
        *,
        announces_nodes: bool = True,
    ) -> None:
        """With `announces_nodes` a pod that waits to be bound names its node in its status."""
        self._cluster = cluster
        self._lease = lease
        self._profile_revision = profile_revision
        self._history = history
        self._controllers = controllers
        self._announces_nodes = announces_nodes
        self._ledger = LedgerWriter(cluster.pk, profile_revision)
        self._events = EventWriter(cluster)
        self._queue_rows = QueueRows(cluster.pk)
        #: the version up to which the informer has applied changes, and who admits pods since then
        self._starts: tuple[int, ImmediateStarts | None] = (-1, None)
        self._statuses = PlacedStatuses()
        self._waits = PermitWaits(cluster.pk)
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

    def concerns(self, scheduler: Scheduler, changes: QueueChanges) -> bool:
        """Whether these changes of the queue, moves in it, or waits at Permit must be written."""
        return (
            bool(self._history)
            or self._queue_rows.needs_write(changes)
            or self._waits.has_changed(scheduler.waiting_pods)
        )

    def record(
        self,
        scheduler: Scheduler,
        informer: Informer,
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
        changed: dict[str, SavedEntry | None] = {}
        while True:
            changed |= _by_pod(changes)
            rejected = self._commit(
                scheduler, informer, batch, changed, intents, activations, deferred
            )
            if not rejected:
                break
            for decision, refusal in rejected:
                scheduler.bind_failed(decision, error(refusal.message))
            changes = scheduler.queue.take_changes()
        self._report(scheduler, batch)

    def encode(self, batch: Sequence[DecisionRecord]) -> EncodedRows | None:
        """The rows of the ledger for `begin`, while another batch is committed, if possible."""
        return self._ledger.encode_ahead(batch) if all(map(is_plain, batch)) else None

    def begin(
        self,
        scheduler: Scheduler,
        informer: Informer,
        batch: Sequence[DecisionRecord],
        changes: QueueChanges,
        rows: EncodedRows | None = None,
    ) -> Callable[[], None] | None:
        """Start to commit a batch that only binds pods; returns what waits for the commit.

        Further pods can be scheduled before that is called, but the thread's connection is in use.
        What is called then does what `record` does. None, and nothing is sent, if the batch needs
        the general way. `rows` is what `encode` has returned for it.
        """
        if not all(map(is_plain, batch)):
            return None
        plan = self._plan(scheduler, informer, batch, _by_pod(changes), rows=rows)
        sent = self._send_placements(scheduler, informer, batch, plan.steps)
        if sent is None:
            return None

        def finish() -> None:
            note_writes = self._receive_placements(scheduler, informer, sent)
            if note_writes is None:
                self.record(scheduler, informer, batch, changes, deferred=plan.rest)
            else:
                self._mark_committed(plan, note_writes)
                self._report(scheduler, batch)

        return finish

    def _report(self, scheduler: Scheduler, batch: Sequence[DecisionRecord]) -> None:
        """Report to the scheduler, the queue's history and the log what is committed."""
        scheduled = [r.decision for r in batch if r.decision.result == Result.SCHEDULED]
        for decision in scheduled:
            scheduler.bound(decision)
        self._history.discard_moves_out({decision.pod_uid for decision in scheduled})
        decision_log.log_decisions(self._cluster, batch)

    def _commit(
        self,
        scheduler: Scheduler,
        informer: Informer,
        batch: Sequence[DecisionRecord],
        changed: Mapping[str, SavedEntry | None],
        intents: Sequence[Intent],
        activations: Sequence[int],
        deferred: Deferred,
    ) -> list[tuple[Decision, ApiError]]:
        """Try to commit; if bindings are rejected, return them and write nothing."""
        rejected: list[tuple[Decision, ApiError]] = []
        note_writes = self._look = None
        is_late = not (intents or activations) and self._encodes_late(batch)
        rows: EncodedRows | None = () if is_late else None
        plan = self._plan(scheduler, informer, batch, changed, deferred, rows)
        if not (intents or activations):
            late = batch if is_late else ()
            sent = self._send_placements(scheduler, informer, batch, plan.steps, late)
            if sent is not None:
                note_writes = self._receive_placements(scheduler, informer, sent)
        if note_writes is None:
            if is_late:
                plan = self._plan(scheduler, informer, batch, changed, deferred)
            journal: list[ObjectChange] = []
            with transaction.atomic():
                self._record_decisions(plan.final, plan.steps, activations)
                rejected = self._write_objects(informer, batch, intents, journal)
                if rejected:
                    transaction.set_rollback(True)
                else:
                    self._write_metrics(scheduler, batch)
            note_writes = partial(informer.note_own_writes, journal)
        if not rejected:
            self._mark_committed(plan, note_writes)
        return rejected

    def _encodes_late(self, batch: Sequence[DecisionRecord]) -> bool:
        """Whether the ledger's rows are encoded while the server binds the pods.

        It would wait for them; a large batch would keep the counter locked for too long.
        """
        return len(batch) <= FEW and all(map(is_plain, batch)) and self._ledger.can_encode(batch)

    def _plan(
        self,
        scheduler: Scheduler,
        informer: Informer,
        batch: Sequence[DecisionRecord],
        changed: Mapping[str, SavedEntry | None],
        deferred: Deferred = NOTHING,
        rows: EncodedRows | None = None,
    ) -> _Plan:
        bound = _bound(batch)
        saved = {
            uid: entry
            for uid, entry in changed.items()
            if entry is not None and uid not in bound and self._queue_rows.is_needed(entry)
        }
        removed = [
            uid for uid in {*changed, *bound} if uid not in saved and self._queue_rows.has(uid)
        ]
        final = _final(batch)
        queue = scheduler.queue
        waits = self._waits.read(scheduler.waiting_pods)
        steps = [
            self._lease.renewal(
                consumed_version=informer.position,
                profile_revision=self._profile_revision,
                cycles=(queue.scheduling_cycle, queue.move_request_cycle),
            ),
            *self._waits.steps(waits),
            *(self._ledger.steps(final) if rows is None else rows),
            *self._queue_rows.steps([*saved.values()], removed),
            *self._queue_rows.put_back_steps(self._history.places_of(deferred.pods)),
            *self._history.steps(
                (record.decision for record in batch if record.decision.pod_uid in bound),
                {record.decision.pod_uid for record in batch},
                deferred,
            ),
        ]
        rest = Deferred(after=len(self._history))
        return _Plan(final, steps, [*saved], removed, waits, rest)

    def _mark_committed(self, plan: _Plan, note_writes: Callable[[], None]) -> None:
        note_writes()
        self._events.confirm()
        self._history.mark_committed()
        self._queue_rows.mark_committed(plan.saved, plan.removed)
        self._waits.mark_committed(plan.waits)

    def _record_decisions(
        self, final: Sequence[DecisionRecord], steps: Sequence[Step], activations: Sequence[int]
    ) -> None:
        """Execute the steps, in the caller's transaction."""
        results = execute_together(steps)
        self._lease.check(results)
        self._ledger.complete(final, results)
        if activations:
            activation.delete(activations)

    def _write_metrics(self, scheduler: Scheduler, batch: Sequence[DecisionRecord]) -> None:
        self._note_metrics(scheduler, batch)
        if scheduler.metrics.is_dirty:
            stored.write(self._cluster.pk, scheduler.metrics)

    def _send_placements(
        self,
        scheduler: Scheduler,
        informer: Informer,
        batch: Sequence[DecisionRecord],
        steps: Sequence[Step],
        late: Sequence[DecisionRecord] = (),
    ) -> _Sent | None:
        """Send a batch that only binds pods, in one transaction and one round trip.

        None, and nothing is written, if the batch needs the general way. The server executes each
        statement while the next one is built. `late` are the decisions that `steps` do not insert
        into the ledger.
        """
        self._look = None
        placements = self._find_pods(informer, batch)
        if placements is None:
            return None
        with ExitStack() as stack:
            sent = stack.enter_context(exchange())
            sent.begin()
            send_together(sent, steps)
            sent.flush()
            if not placements.add_all(self._new_events(batch)):
                return None
            base = send_placements(
                sent,
                self._cluster,
                placements.all,
                read_version=informer.position,
                now=placements.now,
                users=(USER, KUBELET),
            )
            sent.flush()
            if late:
                send_together(sent, self._ledger.steps(late))
                sent.flush()
            before = scheduler.metrics.mark()
            self._note_metrics(scheduler, batch)
            noted = before, scheduler.metrics.mark()
            send_together(sent, [stored.step(self._cluster.pk, scheduler.metrics)])
            sent.commit()
            self._look = send_announcing_look(sent, self._cluster)
            sent.flush()
            return _Sent(sent, stack.pop_all(), placements, base, noted)

    def _receive_placements(
        self, scheduler: Scheduler, informer: Informer, sent: _Sent
    ) -> Callable[[], None] | None:
        """Wait for the commit; returns what to call then, None if nothing was written."""
        try:
            with sent.stack:
                sent.exchange.receive()
        except DataError:
            # a lost lease, a pod that has changed: the general way finds out which
            self._look = None
            scheduler.metrics.take_back(*sent.noted)
            return None
        ((version, _),) = sent.base.rows
        return partial(informer.note_placements, version, sent.placements.committed(version))

    def _find_pods(self, informer: Informer, batch: Sequence[DecisionRecord]) -> Placements | None:
        """What a batch that only binds pods writes; None if the batch needs the general way."""
        if not batch or self._cluster.quotas or not all(map(is_plain, batch)):
            return None
        placements = Placements(
            informer, self._admit(informer), self._cluster.now(), batch, self._statuses
        )
        return placements if placements.find_pods() else None

    def _admit(self, informer: Informer) -> ImmediateStarts | None:
        """The same for all batches until the controllers know the pods of the first one."""
        starts = self._controllers.immediate_starts()
        if starts is None or self._starts[0] != informer.position:
            self._starts = informer.position, starts
        return self._starts[1]

    def _new_events(self, batch: Sequence[DecisionRecord]) -> list[Create]:
        """The events of these bindings, as far as they are new."""
        self._events.begin()
        events = [write for record in batch for write in scheduled_event(self._events, record)]
        return [write for write in events if isinstance(write, Create)]

    def _note_metrics(self, scheduler: Scheduler, batch: Sequence[DecisionRecord]) -> None:
        """Add the attempts of a batch that is being committed."""
        note_attempts(
            scheduler.metrics,
            (
                Attempt(record.decision, record.at.timestamp())
                for record in batch
                if record.decision.result.is_final
            ),
            now_ns=time.perf_counter_ns(),
            points=lambda profile: scheduler.profiles[profile].profile.plugins,
        )
        note_state(scheduler, _bound(batch))

    def _write_objects(
        self,
        informer: Informer,
        batch: Sequence[DecisionRecord],
        intents: Sequence[Intent],
        journal: list[ObjectChange],
    ) -> list[tuple[Decision, ApiError]]:
        self._events.begin()
        writes = IntendedWrites(informer, self._events, announces_nodes=self._announces_nodes)
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
            announce = partial(announcer.announce, self._cluster.pk, informer.position, due=False)
            transaction.on_commit(announce)
        rejected: list[tuple[Decision, ApiError]] = []
        for (decision, write), outcome in zip(planned, outcomes, strict=True):
            if not isinstance(outcome, ApiError):
                continue
            if write.kind is kinds.EVENT:
                self._events.discard(write)
            elif decision is None:
                log.warning("A write of a plugin was rejected: %s", outcome.message)
            elif _must_succeed(decision, write) and all(
                each is not decision for each, _ in rejected
            ):
                rejected.append((decision, outcome))
        return rejected


def _final(batch: Sequence[DecisionRecord]) -> list[DecisionRecord]:
    return [record for record in batch if record.decision.result.is_final]


def _by_pod(changes: QueueChanges) -> dict[str, SavedEntry | None]:
    """uid -> the entry of the pod, None for one that has left the queue."""
    saved = {entry.pod_uid: entry for entry in changes.saved}
    return {**saved, **dict.fromkeys(changes.removed)}


def _bound(batch: Sequence[DecisionRecord]) -> set[str]:
    """The uids of the pods that get their nodes."""
    return {r.decision.pod_uid for r in batch if r.decision.result == Result.SCHEDULED}


def _must_succeed(decision: Decision, write: Write) -> bool:
    """Whether the decision fails if this write is rejected: its binding, or a write before it."""
    if decision.result != Result.SCHEDULED:
        return False
    if write.kind.name == _DEVICE_CLAIM:
        return True
    return isinstance(write, Update) and write.subresource != "status"
