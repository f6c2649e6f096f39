"""The mock kubelet of a node: registers the node, admits its pods and starts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

from apps.cluster import kinds
from apps.cluster.writes import Update
from apps.controllers.cache import ControllerCache, Ref, claims_of
from apps.controllers.controller import Controller, Step
from apps.controllers.events.writer import PendingEvent
from apps.controllers.kubelet import admission, registration, status
from apps.controllers.kubelet.annotations import CLOUD_PROVIDER, READY, is_false
from apps.controllers.node_usage import is_new
from apps.controllers.writes import reference_to
from apps.scheduler.objects import KubeObject, Node, PersistentVolumeClaim, Pod
from apps.scheduler.plugins.volumebinding.pod_volume_claims import is_bound

Body = dict[str, Any]
KUBELET = "kubelet"
UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"


def ready_status(node: Node) -> str:
    """The status of the node's Ready condition; "" if there is none."""
    return next((each.status for each in node.status.conditions if each.type == "Ready"), "")


def is_reachable(node: Node) -> bool:
    """Whether the node's kubelet has registered and is not lost."""
    return ready_status(node) in ("True", "False")


def refs_for_node(_: ControllerCache, old: Node | None, new: Node | None) -> Iterable[Ref]:
    return () if new is None else [("Node", "", new.metadata.name)]


def refs_for_pod(_: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    """The node of a pod that has been bound but not started."""
    if new is not None and is_new(new):
        return [("Node", "", new.spec.node_name)]
    return ()


def refs_for_claim(
    cache: ControllerCache, old: KubeObject | None, new: KubeObject | None
) -> Iterable[Ref]:
    """A pod is started when its claims are bound."""
    if new is None:
        return []
    users = cache.users_of(new.metadata.namespace, new.metadata.name)
    return [("Node", "", pod.spec.node_name) for pod in users if is_new(pod)]


def has_bound_volumes(cache: ControllerCache, pod: Pod) -> bool:
    refs = [("PersistentVolumeClaim", pod.metadata.namespace, name) for name in claims_of(pod)]
    claims = [cache.get(ref, PersistentVolumeClaim) for ref in refs]
    return all(claim is not None and is_bound(claim) for claim in claims)


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    """Register a new node; start or reject its new pods."""
    node = cache.node(ref[2])
    if node is None:
        return
    if not ready_status(node):
        if not is_false(node.metadata.annotations.get(READY)):
            yield from _register(node, now, beta=cache.cluster.beta_node_labels)
        return
    if not is_reachable(node):
        return
    usage = cache.usage_on(node.metadata.name)
    if not usage.new:
        return
    pods = [pod for pod in cache.pods_on(node.metadata.name) if is_new(pod)]
    new = [pod for pod in pods if has_bound_volumes(cache, pod)]
    room = admission.FreeCapacity.of(node, usage)
    for pod in new:
        refusal = room.admit(pod)
        change = (
            status.mark_running(node, now)
            if refusal is None
            else status.mark_rejected(refusal, now)
        )
        yield Update(
            kinds.POD,
            pod.metadata.namespace,
            pod.metadata.name,
            change,
            "kubelet",
            trusted=True,
            uid=pod.metadata.uid,
        )
        if refusal is not None:
            subject = reference_to(pod)
            yield PendingEvent(subject, refusal.reason, refusal.why, KUBELET, warning=True)


def _register(node: Node, now: datetime, *, beta: bool) -> Iterator[Step]:
    where = (kinds.NODE, "", node.metadata.name)
    uid = node.metadata.uid
    yield Update(*where, partial(_add_labels, node.metadata.name, beta), trusted=True, uid=uid)
    yield Update(
        *where, partial(_report_status, node.metadata.name, now), "status", trusted=True, uid=uid
    )


def _add_labels(name: str, beta: bool, node: Body) -> Body:
    """Add the labels that a kubelet sets; existing ones are kept."""
    metadata, spec = node["metadata"], dict(node.get("spec") or {})
    given = metadata.get("labels") or {}
    own = registration.node_labels(name, (node.get("status") or {}).get("nodeInfo") or {})
    old = registration.beta_labels({**own, **(given if beta else {})})
    labels = {**own, **old, **given}
    external = (metadata.get("annotations") or {}).get(CLOUD_PROVIDER) == "external"
    taints = list(spec.get("taints") or [])
    if external and not spec.get("providerID") and all(t["key"] != UNINITIALIZED for t in taints):
        taints.append({"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"})
        spec["taints"] = taints
    return {**node, "metadata": {**metadata, "labels": labels}, "spec": spec}


def _report_status(name: str, now: datetime, node: Body) -> Body:
    return {**node, "status": registration.complete_status(name, node.get("status") or {}, now)}


CONTROLLER = Controller(
    name="kubelet",
    user=KUBELET,
    concerns={"Node": refs_for_node, "Pod": refs_for_pod, "PersistentVolumeClaim": refs_for_claim},
    reconcile=reconcile,
)
