"""Turns the bindings of a batch into placements, which one statement writes.

Only for batches in which nothing else is to be written: each pod gets a node, an event, and, if its
kubelet starts it at once, its status. Anything unusual takes the general way, `IntendedWrites`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from apps.cluster.writes import Create
from apps.cluster.writing.binding import topology_labels
from apps.cluster.writing.metadata import timestamp
from apps.cluster.writing.placement import NewEvent, Placement, StoredPod, new_event
from apps.controllers.kubelet.starting import ImmediateStarts
from apps.engine.ledger.records import DecisionRecord
from apps.engine.loop.informer import Informer, PlacedPod
from apps.engine.loop.placed_statuses import PlacedStatuses
from apps.scheduler.decision import Result
from apps.scheduler.framework.intents import Binding
from apps.scheduler.objects import Pod


@dataclass(frozen=True, slots=True)
class _Bound:
    """A pod with its placement; the versions of the typed objects follow with the commit."""

    bound: Pod
    running: Pod | None
    placement: Placement


class Placements:
    """The placements of one batch."""

    def __init__(
        self,
        informer: Informer,
        starts: ImmediateStarts | None,
        now: datetime,
        batch: Sequence[DecisionRecord],
        statuses: PlacedStatuses,
    ) -> None:
        """`statuses` are those of the batches before."""
        self._informer = informer
        self._starts = starts
        self.now = now
        self._second = now.replace(microsecond=0)
        self._statuses = statuses
        self._batch = batch
        #: the pods of the batch, and their JSON text
        self._found: list[tuple[Pod, str]] = []
        self._pods: list[_Bound] = []

    @property
    def all(self) -> list[Placement]:
        """What the statement writes."""
        return [each.placement for each in self._pods]

    def find_pods(self) -> bool:
        """Find the pods of the batch; False if one needs the general way."""
        pods = [self._informer.pending_pod(_key(record)) for record in self._batch]
        known = [pod for pod in pods if pod is not None]
        if len(known) < len(self._batch):
            return False
        texts = self._informer.pending_texts(known)
        for record, pod in zip(self._batch, known, strict=True):
            text = texts.get(pod.metadata.uid)
            if text is None or pod.metadata.uid != record.decision.pod_uid:
                return False
            if not (_is_bindable(pod) and self._informer.is_open(pod.metadata.namespace)):
                return False
            self._found.append((pod, text))
        return True

    def add_all(self, events: Sequence[Create]) -> bool:
        """Build the bindings with their events; False if one needs the general way.

        The database is not read.
        """
        if len(events) < len(self._batch):
            return False
        created_at = timestamp(self.now)
        for record, (pod, text), event in zip(self._batch, self._found, events, strict=True):
            self._pods.append(
                self._place(record, pod, StoredPod(text), new_event(event, created_at))
            )
        return True

    def committed(self, base: int) -> list[PlacedPod]:
        """The objects as they are stored, if their versions started after `base`."""
        placed, version = [], base
        for each in self._pods:
            bound = _at_version(each.bound, version + 1)
            running = each.running and _at_version(each.running, version + 2)
            placed.append(PlacedPod(bound, running))
            version += each.placement.changes
        return placed

    def _place(
        self, record: DecisionRecord, pod: Pod, stored: StoredPod, event: NewEvent
    ) -> _Bound:
        node, uid = record.decision.node, pod.metadata.uid
        second = record.at.replace(microsecond=0)
        status = self._statuses.of(pod, stored, second, self._second)
        metadata = stored.metadata
        labels = pod.metadata.labels
        if added := topology_labels(self._informer.node_labels(node)):
            labels = metadata["labels"] = {**(metadata.get("labels") or {}), **added}
        bound = msgspec.structs.replace(
            pod,
            metadata=msgspec.structs.replace(pod.metadata, labels=labels),
            spec=msgspec.structs.replace(pod.spec, node_name=node),
            status=status.bound,
        )
        statuses, running = [status.bound_text], None
        if self._starts is not None and self._starts.start(bound) is not None:
            running = msgspec.structs.replace(bound, status=status.running)
            statuses.append(status.running_text(uid, node))
        texts = stored.placed(node, metadata, statuses)
        placement = Placement(
            pod.metadata.namespace,
            pod.metadata.name,
            int(pod.metadata.resource_version),
            node,
            labels if labels != pod.metadata.labels else None,
            texts[0],
            texts[1] if running is not None else None,
            (running or bound).status.phase or "Pending",
            event,
        )
        return _Bound(bound, running, placement)


def is_plain(record: DecisionRecord) -> bool:
    """Whether the decision only binds its pod."""
    decision = record.decision
    if decision.result is not Result.SCHEDULED or len(decision.intents) != 1:
        return False
    intent = decision.intents[0]
    return isinstance(intent, Binding) and not intent.bound_by and intent.node == decision.node


def _is_bindable(pod: Pod) -> bool:
    """Whether a pending pod can be bound."""
    return pod.metadata.deletion_timestamp is None and not pod.spec.scheduling_gates


def _at_version(pod: Pod, version: int) -> Pod:
    metadata = msgspec.structs.replace(pod.metadata, resource_version=str(version))
    return msgspec.structs.replace(pod, metadata=metadata)


def _key(record: DecisionRecord) -> tuple[str, str]:
    namespace, _, name = record.decision.pod_key.partition("/")
    return namespace, name
