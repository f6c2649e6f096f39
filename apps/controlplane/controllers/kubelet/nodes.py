"""The mock kubelet of a node: it registers the node, takes its pods in, and starts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

from apps.cluster import kinds
from apps.cluster.writes import Update
from apps.cluster.writing.metadata import timestamp
from apps.controlplane.controllers.controller import Controller, Step
from apps.controlplane.controllers.kubelet import admission, status
from apps.controlplane.controllers.kubelet.annotations import (
    CLOUD_PROVIDER,
    READY,
    is_false,
)
from apps.controlplane.controllers.world import Ref, World, claims_of
from apps.controlplane.events.writer import Told, about_pod
from apps.scheduler.objects import KubeObject, Node, PersistentVolumeClaim, Pod
from apps.scheduler.plugins.volumebinding.claims import is_bound

Body = dict[str, Any]
KUBELET = "kubelet"
UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"

_FINE = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "has sufficient PID available"),
)


def ready_status(node: Node) -> str:
    """The status of the node's Ready condition; "" while nobody has said anything."""
    return next((each.status for each in node.status.conditions if each.type == "Ready"), "")


def is_reachable(node: Node) -> bool:
    """Whether the node's kubelet is there: it has registered, and was not lost since."""
    return ready_status(node) in ("True", "False")


def of_node(_: World, old: Node | None, new: Node | None) -> Iterable[Ref]:
    return () if new is None else [("Node", "", new.metadata.name)]


def of_pod(_: World, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    """A node's kubelet is concerned by a pod that came to it and has not been started."""
    if new is not None and is_new(new):
        return [("Node", "", new.spec.node_name)]
    return ()


def of_claim(world: World, old: KubeObject | None, new: KubeObject | None) -> Iterable[Ref]:
    """A pod is started when its volumes are there."""
    if new is None:
        return []
    users = world.users_of(new.metadata.namespace, new.metadata.name)
    return [("Node", "", pod.spec.node_name) for pod in users if is_new(pod)]


def has_its_volumes(world: World, pod: Pod) -> bool:
    refs = [("PersistentVolumeClaim", pod.metadata.namespace, name) for name in claims_of(pod)]
    claims = [world.get(ref, PersistentVolumeClaim) for ref in refs]
    return all(claim is not None and is_bound(claim) for claim in claims)


def is_new(pod: Pod) -> bool:
    """Whether the pod is bound, and its kubelet has not taken it in."""
    if not pod.spec.node_name or pod.metadata.deletion_timestamp:
        return False
    return pod.status.phase in ("", "Pending") and pod.status.start_time is None


def reconcile(world: World, ref: Ref, now: datetime) -> Iterator[Step]:
    """Register the node when it is new; start the pods that came, or turn them away."""
    node = world.node(ref[2])
    if node is None:
        return
    if not ready_status(node):
        if not is_false(node.metadata.annotations.get(READY)):
            yield from _register(node, now)
        return
    if not is_reachable(node):
        return
    pods = world.pods_on(node.metadata.name)
    new = [pod for pod in pods if is_new(pod) and has_its_volumes(world, pod)]
    if not new:
        return
    room = admission.Room.of(node, [pod for pod in pods if not is_new(pod)])
    for pod in new:
        rejection = room.admit(pod)
        change = status.started(node, now) if rejection is None else status.rejected(rejection, now)
        yield Update(
            kinds.POD,
            pod.metadata.namespace,
            pod.metadata.name,
            change,
            "kubelet",
            trusted=True,
            uid=pod.metadata.uid,
        )
        if rejection is not None:
            subject = about_pod(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
            yield Told(subject, rejection.reason, rejection.details, KUBELET, warning=True)


def _register(node: Node, now: datetime) -> Iterator[Step]:
    where = (kinds.NODE, "", node.metadata.name)
    uid = node.metadata.uid
    yield Update(*where, partial(_labelled, node.metadata.name), trusted=True, uid=uid)
    yield Update(*where, partial(_ready, now), "status", trusted=True, uid=uid)


def _labelled(name: str, node: Body) -> Body:
    """The labels a kubelet gives its node; what is there is kept."""
    info = (node.get("status") or {}).get("nodeInfo") or {}
    arch, system = info.get("architecture") or "amd64", info.get("operatingSystem") or "linux"
    own = {
        "beta.kubernetes.io/arch": arch,
        "beta.kubernetes.io/os": system,
        "kubernetes.io/arch": arch,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": system,
    }
    metadata, spec = node["metadata"], dict(node.get("spec") or {})
    labels = {**own, **(metadata.get("labels") or {})}
    external = (metadata.get("annotations") or {}).get(CLOUD_PROVIDER) == "external"
    taints = list(spec.get("taints") or [])
    if external and not spec.get("providerID") and all(t["key"] != UNINITIALIZED for t in taints):
        taints.append({"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"})
        spec["taints"] = taints
    return {**node, "metadata": {**metadata, "labels": labels}, "spec": spec}


def _ready(now: datetime, node: Body) -> Body:
    """The conditions of a healthy node, beside those it has already."""
    current = dict(node.get("status") or {})
    present = list(current.get("conditions") or [])
    known = {each.get("type") for each in present}
    fine = (*_FINE, ("Ready", "True", "KubeletReady", "is posting ready status"))
    moment = timestamp(now)
    current["conditions"] = present + [
        {
            "type": kind,
            "status": value,
            "reason": reason,
            "message": f"kubelet {message}",
            "lastHeartbeatTime": moment,
            "lastTransitionTime": moment,
        }
        for kind, value, reason, message in fine
        if kind not in known
    ]
    return {**node, "status": current}


CONTROLLER = Controller(
    name="kubelet",
    user=KUBELET,
    concerns={"Node": of_node, "Pod": of_pod, "PersistentVolumeClaim": of_claim},
    reconcile=reconcile,
)
