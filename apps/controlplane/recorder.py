"""The loop's hands: a batch of decisions, and all they intend, in one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection, transaction

from apps.cluster import kinds, merge_patch, sql, store
from apps.cluster.announce import announcer
from apps.cluster.binding import bind_change, binding_to, with_condition
from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.cluster.store import Actor, Modify, Operation, Remove
from apps.controlplane import decision_log, ledger, queue_activation
from apps.controlplane.events import EventWriter, Told, about_pod
from apps.controlplane.informer import Informer
from apps.controlplane.lease import Lease
from apps.controlplane.metrics import stored
from apps.controlplane.models import QueueEntry
from apps.controlplane.queue_history import QueueHistory
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import Binding, Eviction, Intent, MergePatch, PodEvent
from apps.scheduler.framework.status import error
from apps.scheduler.metrics.attempts import note_attempt
from apps.scheduler.metrics.gauges import note_state
from apps.scheduler.queue.records import QueueChanges, arrival
from apps.scheduler.queue.records import QueueEntry as SavedEntry
from apps.scheduler.scheduler import Scheduler

log = logging.getLogger(__name__)

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Made:
    """A decision with when it was made, and after which version and earlier decisions."""

    decision: Decision
    at: datetime
    cluster_version: int
    sequence: int
    #: the request that created the pod
    request_id: str = ""
    #: the version at which its engine took in everything there was
    loaded_at: int = 0
    #: pods that earlier decisions had given a node, and which the cluster did not know to be bound
    expected: tuple[ledger.Expected, ...] = ()
    #: uids of pods that had lost the node where they were expected, which was not written yet
    released: tuple[str, ...] = ()
    #: the pod took its node at once, whatever became of that
    took_node: bool = False


class Recorder:
    """Writes what the loop decided, as long as the lease is its own."""

    def __init__(
        self, cluster: Cluster, lease: Lease, profile_revision: int, history: QueueHistory
    ) -> None:
        self._cluster = cluster
        self._lease = lease
        self._profile_revision = profile_revision
        self._history = history
        self._node_tables = ledger.NodeTables(cluster.pk)
        self._events = EventWriter(cluster)
        #: pods that have a queue entry in the database
        self._persisted: set[str] = set()

    def start_with(self, persisted: Iterable[str], gone: Sequence[str]) -> None:
        """Remember which pods have a queue entry; delete the entries of those that are gone."""
        self._persisted = set(persisted)
        if gone:
            with transaction.atomic():
                self._lease.renew()
                self._write_entries({}, gone)
            self._persisted.difference_update(gone)

    def concerns(self, changes: QueueChanges) -> bool:
        """Whether these changes of the queue, or moves in it, have to be written."""
        if self._history:
            return True
        return any(map(self._is_worth_keeping, changes.saved)) or not self._persisted.isdisjoint(
            changes.removed
        )

    def record(
        self,
        scheduler: Scheduler,
        informer: Informer,
        batch: Sequence[Made],
        changes: QueueChanges,
        intents: Sequence[Intent] = (),
        wishes: Sequence[int] = (),
    ) -> None:
        """Commit a batch and the queue's changes, and tell the scheduler how that went.

        A binding that the store refuses (the pod is gone, or somebody bound it) takes the whole
        transaction back; its decision becomes an error, the pod is requeued, and the rest is
        written. `intents` are what plugins asked for besides: a refusal of theirs is only logged.
        Of a decision that is not final no more is written than where its pod is expected to go.
        `wishes` are the activations by hand that the moves in the queue have carried out.
        Raises LeaseLost when the cluster has another holder; nothing is written then.
        """
        changed: dict[str, SavedEntry | None] = {}
        while True:
            changed |= {entry.pod_uid: entry for entry in changes.saved}
            changed |= dict.fromkeys(changes.removed)
            refused = self._commit(scheduler, informer, batch, changed, intents, wishes)
            if not refused:
                break
            for decision, refusal in refused:
                scheduler.bind_failed(decision, error(refusal.message))
            changes = scheduler.queue.take_changes()
        for made in batch:
            if made.decision.result == Result.SCHEDULED:
                scheduler.bound(made.decision)
        self._history.leave_out(
            {m.decision.pod_uid for m in batch if m.decision.result == Result.SCHEDULED}
        )
        decision_log.tell(self._cluster, batch)

    def _commit(
        self,
        scheduler: Scheduler,
        informer: Informer,
        batch: Sequence[Made],
        changed: Mapping[str, SavedEntry | None],
        intents: Sequence[Intent],
        wishes: Sequence[int],
    ) -> list[tuple[Decision, ApiError]]:
        """One try; with refused bindings nothing is written and they are returned."""
        bound = {m.decision.pod_uid for m in batch if m.decision.result == Result.SCHEDULED}
        kept = {
            uid: entry
            for uid, entry in changed.items()
            if entry is not None and uid not in bound and self._is_worth_keeping(entry)
        }
        gone = [uid for uid in {*changed, *bound} if uid not in kept and uid in self._persisted]
        with transaction.atomic():
            self._lease.renew(
                consumed_version=informer.position, profile_revision=self._profile_revision
            )
            self._node_tables.begin()
            ledger.insert(
                [self._ledger_row(made) for made in batch if made.decision.result.is_final]
            )
            self._write_entries(kept, gone)
            if wishes:
                queue_activation.forget(wishes)
            self._history.insert(m.decision for m in batch if m.decision.pod_uid in bound)
            if kept or gone or self._history:
                # pages show the queue, which is not in the change log
                told = partial(announcer.committed, self._cluster.pk, informer.position, due=False)
                transaction.on_commit(told)
            refused = self._write_objects(informer, batch, intents)
            if refused:
                transaction.set_rollback(True)
            else:
                self._write_metrics(scheduler, batch, bound)
        if not refused:
            self._events.committed()
            self._history.committed()
            self._persisted.difference_update(gone)
            self._persisted.update(kept)
        return refused

    def _is_worth_keeping(self, entry: SavedEntry) -> bool:
        """A pod that waits for its first attempt is known from the pod itself."""
        is_new = entry == arrival(entry.pod_key, entry.pod_uid, entry.timestamp)
        return not is_new or entry.pod_uid in self._persisted

    # the ledger and the queue

    def _ledger_row(self, made: Made) -> dict[str, Any]:
        decision = made.decision
        return ledger.row_of(
            decision,
            cluster_id=self._cluster.pk,
            nodes=self._node_tables.of(decision.nodes),
            at=made.at,
            profile_revision=self._profile_revision,
            cluster_version=made.cluster_version,
            sequence=made.sequence,
            request_id=made.request_id,
            draws=ledger.Draws(self._cluster.tie_break, self._cluster.seed),
            seen=ledger.Seen(
                made.loaded_at,
                made.expected,
                made.released,
                made.took_node and decision.result is not Result.SCHEDULED,
            ),
        )

    def _write_entries(self, kept: Mapping[str, SavedEntry], gone: Sequence[str]) -> None:
        replaced = [*gone, *kept]
        if not replaced:
            return
        with connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM controlplane_queueentry "
                "WHERE cluster_id = %s AND pod_uid = ANY(%s::uuid[])",
                [self._cluster.pk, replaced],
            )
            rows = [_entry_row(self._cluster.pk, entry) for entry in kept.values()]
            sql.insert_rows(cursor, QueueEntry, rows)

    def _write_metrics(
        self, scheduler: Scheduler, batch: Sequence[Made], bound: Collection[str]
    ) -> None:
        now_ns = time.perf_counter_ns()
        for made in batch:
            if made.decision.result.is_final:
                points = scheduler.profiles[made.decision.profile].profile.plugins
                at = made.at.timestamp()
                note_attempt(scheduler.metrics, made.decision, now_ns=now_ns, at=at, points=points)
        note_state(scheduler, bound)
        if scheduler.metrics.is_dirty:
            stored.write(self._cluster.pk, scheduler.metrics)

    # objects

    def _write_objects(
        self, informer: Informer, batch: Sequence[Made], intents: Sequence[Intent]
    ) -> list[tuple[Decision, ApiError]]:
        self._events.begin()
        planned: list[tuple[Decision | None, Operation]] = [
            (made.decision, operation)
            for made in batch
            for operation in self._operations(informer, made)
        ]
        planned += [
            (None, operation)
            for intent in intents
            for operation in self._unattached(intent, self._cluster.now())
        ]
        outcomes = store.write(
            self._cluster,
            [operation for _, operation in planned],
            actor=Actor("kube-scheduler"),
            collect_refusals=True,
            wake=False,
        )
        refused = []
        for (decision, operation), outcome in zip(planned, outcomes, strict=True):
            if not isinstance(outcome, ApiError):
                continue
            if operation.kind is kinds.EVENT:
                self._events.refused(operation)
            elif decision is None:
                log.warning("what a plugin asked for was refused: %s", outcome.message)
            elif _must_succeed(decision, operation):
                refused.append((decision, outcome))
        return refused

    def _operations(self, informer: Informer, made: Made) -> Iterator[Operation]:
        decision = made.decision
        pod = _pod_reference(decision)
        if decision.result == Result.SCHEDULED:
            for intent in decision.intents:
                yield from self._intended(informer, made, intent)
            note = f"Successfully assigned {decision.pod_key} to {decision.node}"
            yield from self._event(pod, made, "Scheduled", note, "Binding")
            return
        if not decision.result.is_final:
            yield _status_change(decision, _expected_on(decision.node))
            return
        for intent in decision.intents:
            if not isinstance(intent, Binding):
                yield from self._intended(informer, made, intent)
        yield _status_change(decision, _failed(made))
        yield from self._event(
            pod, made, "FailedScheduling", decision.message, "Scheduling", warning=True
        )

    def _intended(self, informer: Informer, made: Made, intent: Intent) -> Iterator[Operation]:
        if isinstance(intent, Binding):
            binding = binding_to(intent.node, uid=intent.uid)
            change = bind_change(binding, informer.node_labels(intent.node), made.at)
            if intent.bound_by:
                change = _unless_bound(intent, change)
            yield Modify(kinds.POD, intent.namespace, intent.name, change, "binding", trusted=True)
        elif isinstance(intent, Eviction):
            yield from self._evict(made, intent)
        else:
            yield from self._unattached(intent, made.at)

    def _unattached(self, intent: Intent, now: datetime) -> Iterator[Operation]:
        """What can be written without knowing for which decision."""
        if isinstance(intent, MergePatch):
            yield Modify(
                kinds.by_name(intent.kind),
                intent.namespace,
                intent.name,
                partial(merge_patch.merge, patch=dict(intent.patch)),
                intent.subresource,
                trusted=True,
            )
        elif isinstance(intent, PodEvent):
            told = Told(
                about_pod(intent.namespace, intent.name, intent.uid),
                intent.reason,
                intent.note,
                intent.reporter,
                intent.action,
                intent.warning,
            )
            yield from self._tell(told, now)

    def _evict(self, made: Made, victim: Eviction) -> Iterator[Operation]:
        """A victim that is not bound yet went back to the queue, which only an event tells."""
        decision = made.decision
        node = decision.nominating.nominated_node if decision.nominating else ""
        note = f"Preempted by pod {decision.pod_uid} on node {node}"
        if victim.delete:
            yield from self._delete_victim(made, victim)
        else:
            note += " (in kube-scheduler memory)."
        reference = about_pod(victim.namespace, victim.name, victim.uid)
        preemptor = _pod_reference(decision)
        yield from self._event(reference, made, "Preempted", note, "Preempting", related=preemptor)

    def _delete_victim(self, made: Made, victim: Eviction) -> Iterator[Operation]:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": victim.message,
        }
        where = (kinds.POD, victim.namespace, victim.name)
        change = _conditioned(condition, made.at)
        yield Modify(*where, change, "status", trusted=True, uid=victim.uid)
        yield Remove(*where, {"preconditions": {"uid": victim.uid}})

    def _event(
        self,
        pod: Mapping[str, str],
        made: Made,
        reason: str,
        note: str,
        action: str,
        *,
        warning: bool = False,
        related: Mapping[str, str] | None = None,
    ) -> Iterator[Operation]:
        profile = made.decision.profile
        told = Told(pod, reason, note, profile, action, warning=warning, related=related)
        yield from self._tell(told, made.at)

    def _tell(self, told: Told, now: datetime) -> Iterator[Operation]:
        operation = self._events.write(told, now)
        if operation is not None:
            yield operation


def _must_succeed(decision: Decision, operation: Operation) -> bool:
    """Whether the refusal of this write takes the decision back: its binding, or before it."""
    return (
        decision.result == Result.SCHEDULED
        and isinstance(operation, Modify)
        and operation.subresource != "status"
    )


def _status_change(decision: Decision, change: Callable[[Body], Body]) -> Modify:
    namespace, _, name = decision.pod_key.partition("/")
    where = (kinds.POD, namespace, name)
    return Modify(*where, change, "status", trusted=True, uid=decision.pod_uid)


def _expected_on(node: str) -> Callable[[Body], Body]:
    """The status of a pod that has a node, but is held there or not bound yet."""

    def change(pod: Body) -> Body:
        if pod["spec"].get("nodeName"):
            return pod
        return {**pod, "status": {**(pod.get("status") or {}), "nominatedNodeName": node}}

    return change


def _unless_bound(binding: Binding, change: Callable[[Body], Body]) -> Callable[[Body], Body]:
    """`change`, if the extender that took the binding on has not bound the pod there already."""

    def bind(pod: Body) -> Body:
        is_it = pod["metadata"]["uid"] == binding.uid
        return pod if is_it and pod["spec"].get("nodeName") == binding.node else change(pod)

    return bind


def _failed(made: Made) -> Callable[[Body], Body]:
    """The status of a pod that could not be scheduled."""
    decision = made.decision
    rejected = decision.result == Result.UNSCHEDULABLE
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable" if rejected else "SchedulerError",
        "message": decision.message,
    }
    conditioned = _conditioned(condition, made.at)

    def change(pod: Body) -> Body:
        changed = conditioned(pod)
        if decision.nominating is None:
            return changed
        status = dict(changed["status"])
        status.pop("nominatedNodeName", None)
        if decision.nominating.nominated_node:
            status["nominatedNodeName"] = decision.nominating.nominated_node
        return {**changed, "status": status}

    return change


def _conditioned(condition: Body, now: datetime) -> Callable[[Body], Body]:
    def change(pod: Body) -> Body:
        status = pod.get("status") or {}
        conditions = with_condition(
            status.get("conditions") or [],
            condition,
            now,
            generation=pod["metadata"].get("generation"),
        )
        return {**pod, "status": {**status, "conditions": conditions}}

    return change


def _pod_reference(decision: Decision) -> dict[str, str]:
    namespace, _, name = decision.pod_key.partition("/")
    return about_pod(namespace, name, decision.pod_uid)


def _entry_row(cluster_id: int, entry: SavedEntry) -> dict[str, Any]:
    namespace, _, name = entry.pod_key.partition("/")
    return {
        "cluster_id": cluster_id,
        "pod_uid": UUID(entry.pod_uid),
        "namespace": namespace,
        "name": name,
        "queue": entry.queue.value,
        "attempts": entry.attempts,
        "timestamp": _moment(entry.timestamp),
        "backoff_expiry": entry.backoff_expiry and _moment(entry.backoff_expiry),
        "unschedulable_plugins": list(entry.unschedulable_plugins),
        "pending_plugins": list(entry.pending_plugins),
        "gated_by": entry.gating_plugin,
        "nominated_node": entry.nominated_node,
        "state": msgspec.to_builtins(entry),
    }


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)
