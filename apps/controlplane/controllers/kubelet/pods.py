"""The mock kubelet of a pod: it ends the pod when its time is over, or its deletion's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from apps.cluster import kinds
from apps.cluster.writes import Delete, Update
from apps.controlplane.controllers.controller import Controller, Later, Step, moment
from apps.controlplane.controllers.kubelet import status
from apps.controlplane.controllers.kubelet.annotations import (
    FAILS_AFTER,
    SUCCEEDS_AFTER,
    seconds,
)
from apps.controlplane.controllers.kubelet.nodes import KUBELET, is_reachable, ready_status
from apps.controlplane.controllers.world import Ref, World, ref_of
from apps.controlplane.controllers.writes import about_this
from apps.controlplane.events.writer import Told
from apps.scheduler.objects import Node, Pod


def of_pod(_: World, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    if new is not None and new.spec.node_name and (_stops(new) or _has_an_end(new)):
        return [ref_of("Pod", new)]
    return ()


def of_node(world: World, old: Node | None, new: Node | None) -> Iterable[Ref]:
    """A kubelet that comes back finishes what it was told meanwhile."""
    if old is None or new is None or ready_status(old) == ready_status(new):
        return []
    return [ref_of("Pod", pod) for pod in world.pods_on(new.metadata.name)]


def reconcile(world: World, ref: Ref, now: datetime) -> Iterator[Step]:
    pod = world.pod(ref)
    node = world.node(pod.spec.node_name) if pod is not None else None
    if pod is None or node is None or not is_reachable(node):
        return
    if _stops(pod):
        yield from _stop(pod, now)
    elif pod.status.phase == "Running" and pod.status.start_time:
        yield from _end(pod, moment(pod.status.start_time), now)


def _stop(pod: Pod, now: datetime) -> Iterator[Step]:
    """Its containers use the whole grace period; then the object goes."""
    assert pod.metadata.deletion_timestamp is not None
    end = moment(pod.metadata.deletion_timestamp)
    if now < end:
        for container in pod.spec.containers:
            note = f"Stopping container {container.name}"
            yield Told(about_this(pod), "Killing", note, KUBELET, once=True)
        yield Later(end)
        return
    options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}}
    yield Delete(kinds.POD, pod.metadata.namespace, pod.metadata.name, options)


def _end(pod: Pod, since: datetime, now: datetime) -> Iterator[Step]:
    after, phase = min(_ends(pod), default=(None, ""))
    if after is None:
        return
    end = since + timedelta(seconds=after)
    if now < end:
        yield Later(end)
        return
    yield Update(
        kinds.POD,
        pod.metadata.namespace,
        pod.metadata.name,
        status.ended(phase, now),
        "kubelet",
        trusted=True,
        uid=pod.metadata.uid,
    )


def _stops(pod: Pod) -> bool:
    """Whether its deletion waits for the kubelet, not for a finalizer."""
    return bool(pod.metadata.deletion_timestamp and pod.metadata.deletion_grace_period_seconds)


def _has_an_end(pod: Pod) -> bool:
    return pod.status.phase == "Running" and bool(pod.metadata.annotations) and bool(_ends(pod))


def _ends(pod: Pod) -> list[tuple[float, str]]:
    annotations = pod.metadata.annotations
    told = (
        (seconds(annotations.get(FAILS_AFTER)), "Failed"),
        (seconds(annotations.get(SUCCEEDS_AFTER)), "Succeeded"),
    )
    return [(after, phase) for after, phase in told if after is not None]


CONTROLLER = Controller(
    name="kubelet (pods)",
    user=KUBELET,
    concerns={"Node": of_node, "Pod": of_pod},
    reconcile=reconcile,
)
