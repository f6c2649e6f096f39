"""The loop's hands: a batch of decisions, and all they intend, in one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from django.db import transaction

from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.log.announce import announcer
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Update, Write
from apps.cluster.writing import store
from apps.controlplane.events.writer import EventWriter
from apps.controlplane.ledger.records import DecisionRecord
from apps.controlplane.ledger.rows import LedgerWriter
from apps.controlplane.loop import decision_log
from apps.controlplane.loop.informer import Informer
from apps.controlplane.loop.intended_writes import IntendedWrites
from apps.controlplane.metrics import stored
from apps.controlplane.queue import activation
from apps.controlplane.queue.history import QueueHistory
from apps.controlplane.queue.rows import QueueRows
from apps.controlplane.workers.lease import ClusterLease
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import Intent
from apps.scheduler.framework.status import error
from apps.scheduler.metrics.attempts import note_attempt
from apps.scheduler.metrics.gauges import note_state
from apps.scheduler.queue.records import QueueChanges, SavedEntry
from apps.scheduler.scheduler import Scheduler

log = logging.getLogger(__name__)


class Recorder:
    """Writes what the loop decided, as long as the lease is its own."""

    def __init__(
        self, cluster: Cluster, lease: ClusterLease, profile_revision: int, history: QueueHistory
    ) -> None:
        self._cluster = cluster
        self._lease = lease
        self._profile_revision = profile_revision
        self._history = history
        self._ledger = LedgerWriter(cluster.pk, profile_revision)
        self._events = EventWriter(cluster)
        self._queue_rows = QueueRows(cluster.pk)

    def start_with(self, persisted: Iterable[str], gone: Sequence[str]) -> None:
        """Remember which pods have a queue entry; delete the entries of those that are gone."""
        self._queue_rows.set_persisted(persisted)
        if gone:
            with transaction.atomic():
                self._lease.renew()
                self._queue_rows.write({}, gone)
            self._queue_rows.mark_committed((), gone)

    def concerns(self, changes: QueueChanges) -> bool:
        """Whether these changes of the queue, or moves in it, have to be written."""
        return bool(self._history) or self._queue_rows.needs_write(changes)

    def record(
        self,
        scheduler: Scheduler,
        informer: Informer,
        batch: Sequence[DecisionRecord],
        changes: QueueChanges,
        intents: Sequence[Intent] = (),
        activations: Sequence[int] = (),
    ) -> None:
        """Commit a batch and the queue's changes, and tell the scheduler how that went.

        A binding that the store refuses (the pod is gone, or somebody bound it) takes the whole
        transaction back; its decision becomes an error, the pod is requeued, and the rest is
        written. `intents` are what plugins asked for besides: a refusal of theirs is only logged.
        Of a decision that is not final no more is written than where its pod is expected to go.
        `activations` are the ids of the manual activations that the moves in the queue applied.
        Raises LeaseLost when the cluster has another holder; nothing is written then.
        """
        changed: dict[str, SavedEntry | None] = {}
        while True:
            changed |= {entry.pod_uid: entry for entry in changes.saved}
            changed |= dict.fromkeys(changes.removed)
            refused = self._commit(scheduler, informer, batch, changed, intents, activations)
            if not refused:
                break
            for decision, refusal in refused:
                scheduler.bind_failed(decision, error(refusal.message))
            changes = scheduler.queue.take_changes()
        scheduled = [r.decision for r in batch if r.decision.result == Result.SCHEDULED]
        for decision in scheduled:
            scheduler.bound(decision)
        self._history.discard_moves_out({decision.pod_uid for decision in scheduled})
        decision_log.tell(self._cluster, batch)

    def _commit(
        self,
        scheduler: Scheduler,
        informer: Informer,
        batch: Sequence[DecisionRecord],
        changed: Mapping[str, SavedEntry | None],
        intents: Sequence[Intent],
        activations: Sequence[int],
    ) -> list[tuple[Decision, ApiError]]:
        """One try; with refused bindings nothing is written and they are returned."""
        bound = {r.decision.pod_uid for r in batch if r.decision.result == Result.SCHEDULED}
        kept = {
            uid: entry
            for uid, entry in changed.items()
            if entry is not None and uid not in bound and self._queue_rows.is_needed(entry)
        }
        gone = [uid for uid in {*changed, *bound} if uid not in kept and self._queue_rows.has(uid)]
        with transaction.atomic():
            self._lease.renew(
                consumed_version=informer.position, profile_revision=self._profile_revision
            )
            self._ledger.insert(record for record in batch if record.decision.result.is_final)
            self._queue_rows.write(kept, gone)
            if activations:
                activation.delete(activations)
            self._history.insert(r.decision for r in batch if r.decision.pod_uid in bound)
            if kept or gone or self._history:
                # pages show the queue, which is not in the change log
                told = partial(announcer.announce, self._cluster.pk, informer.position, due=False)
                transaction.on_commit(told)
            refused = self._write_objects(informer, batch, intents)
            if refused:
                transaction.set_rollback(True)
            else:
                self._write_metrics(scheduler, batch, bound)
        if not refused:
            self._events.confirm()
            self._history.mark_committed()
            self._queue_rows.mark_committed(kept, gone)
        return refused

    def _write_metrics(
        self, scheduler: Scheduler, batch: Sequence[DecisionRecord], bound: Collection[str]
    ) -> None:
        now_ns = time.perf_counter_ns()
        for record in batch:
            decision, at = record.decision, record.at.timestamp()
            if decision.result.is_final:
                points = scheduler.profiles[decision.profile].profile.plugins
                note_attempt(scheduler.metrics, decision, now_ns=now_ns, at=at, points=points)
        note_state(scheduler, bound)
        if scheduler.metrics.is_dirty:
            stored.write(self._cluster.pk, scheduler.metrics)

    def _write_objects(
        self, informer: Informer, batch: Sequence[DecisionRecord], intents: Sequence[Intent]
    ) -> list[tuple[Decision, ApiError]]:
        self._events.begin()
        writes = IntendedWrites(informer, self._events)
        planned: list[tuple[Decision | None, Write]] = [
            (record.decision, write) for record in batch for write in writes.of(record)
        ]
        planned += [
            (None, write)
            for intent in intents
            for write in writes.unattached(intent, self._cluster.now())
        ]
        outcomes = store.write(
            self._cluster,
            [write for _, write in planned],
            actor=Actor("kube-scheduler"),
            collect_refusals=True,
            wake=False,
        )
        refused = []
        for (decision, write), outcome in zip(planned, outcomes, strict=True):
            if not isinstance(outcome, ApiError):
                continue
            if write.kind is kinds.EVENT:
                self._events.discard(write)
            elif decision is None:
                log.warning("what a plugin asked for was refused: %s", outcome.message)
            elif _must_succeed(decision, write):
                refused.append((decision, outcome))
        return refused


def _must_succeed(decision: Decision, write: Write) -> bool:
    """Whether the refusal of this write takes the decision back: its binding, or before it."""
    return (
        decision.result == Result.SCHEDULED
        and isinstance(write, Update)
        and write.subresource != "status"
    )
