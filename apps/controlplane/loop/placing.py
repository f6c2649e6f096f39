"""Turns the bindings of a batch into placements, which one statement writes.

Only for batches in which nothing else is to be written: each pod gets a node, an event, and, if its
kubelet starts it at once, its status. Anything unusual takes the general way, `IntendedWrites`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from apps.cluster.errors import ApiError
from apps.cluster.writes import Create
from apps.cluster.writing.binding import bind_change, make_binding
from apps.cluster.writing.metadata import timestamp
from apps.cluster.writing.placement import Placement, StoredPod, new_event
from apps.controlplane.controllers.kubelet import status
from apps.controlplane.controllers.kubelet.starting import ImmediateStarts
from apps.controlplane.ledger.records import DecisionRecord
from apps.controlplane.loop.informer import Informer, PlacedPod
from apps.scheduler import objects
from apps.scheduler.decision import Result
from apps.scheduler.framework.intents import Binding
from apps.scheduler.objects import Container, Pod

Body = dict[str, Any]


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
    ) -> None:
        self._informer = informer
        self._starts = starts
        self.now = now
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
            if not self._informer.is_open(pod.metadata.namespace):
                return False
            self._found.append((pod, text))
        return True

    def add_all(self, events: Sequence[Create]) -> bool:
        """Build the bindings with their events; False if one needs the general way.

        The database is not read.
        """
        if len(events) < len(self._batch):
            return False
        for record, (pod, text), event in zip(self._batch, self._found, events, strict=True):
            try:
                self._pods.append(self._place(record, pod, StoredPod(text), event))
            except ApiError:
                return False
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

    def _place(self, record: DecisionRecord, pod: Pod, stored: StoredPod, event: Create) -> _Bound:
        node = record.decision.node
        binding = make_binding(node, uid=pod.metadata.uid)
        change = bind_change(binding, self._informer.node_labels(node), record.at)
        body = change(_outline(pod, stored))
        metadata: Body = body["metadata"]
        labels = metadata.get("labels") or {}
        bound = msgspec.structs.replace(
            pod,
            metadata=msgspec.structs.replace(pod.metadata, labels=labels),
            spec=msgspec.structs.replace(pod.spec, node_name=node),
            status=_decode_status(body),
        )
        started = self._start(bound, body)
        states = [body] if started is None else [body, started]
        texts = stored.placed(node, metadata, [each["status"] for each in states])
        placement = Placement(
            pod.metadata.namespace,
            pod.metadata.name,
            int(pod.metadata.resource_version),
            node,
            labels if labels != pod.metadata.labels else None,
            texts[0],
            texts[1] if started is not None else None,
            (started or body)["status"].get("phase") or "Pending",
            new_event(event, timestamp(self.now)),
        )
        running = None
        if started is not None:
            running = msgspec.structs.replace(bound, status=_decode_status(started))
        return _Bound(bound, running, placement)

    def _start(self, bound: Pod, body: Body) -> Body | None:
        node = self._starts.start(bound) if self._starts is not None else None
        return status.mark_running(node, self.now)(body) if node is not None else None


def is_plain(record: DecisionRecord) -> bool:
    """Whether the decision only binds its pod."""
    decision = record.decision
    if decision.result is not Result.SCHEDULED or len(decision.intents) != 1:
        return False
    intent = decision.intents[0]
    return isinstance(intent, Binding) and not intent.bound_by and intent.node == decision.node


def _outline(pod: Pod, stored: StoredPod) -> Body:
    """The fields of a pod that a binding and the kubelet read."""
    spec = pod.spec
    return {
        "metadata": stored.metadata,
        "spec": {
            "schedulingGates": list(spec.scheduling_gates),
            "hostNetwork": spec.host_network,
            "containers": [_container(each) for each in spec.containers],
            "initContainers": [_container(each) for each in spec.init_containers],
        },
        "status": stored.status,
    }


def _container(container: Container) -> Mapping[str, Any]:
    return {
        "name": container.name,
        "image": container.image,
        "restartPolicy": container.restart_policy,
    }


def _decode_status(body: Body) -> objects.PodStatus:
    return objects.decode_as(Pod, {"status": body["status"]}).status


def _at_version(pod: Pod, version: int) -> Pod:
    metadata = msgspec.structs.replace(pod.metadata, resource_version=str(version))
    return msgspec.structs.replace(pod, metadata=metadata)


def _key(record: DecisionRecord) -> tuple[str, str]:
    namespace, _, name = record.decision.pod_key.partition("/")
    return namespace, name
