"""The mock kubelet resizes running pods in place, if their node has the room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.pods.resizing import report_resources
from apps.cluster.writes import Update
from apps.cluster.writing.binding import set_condition
from apps.controllers.cache import ControllerCache, Ref, ref_of
from apps.controllers.controller import Controller, Requeue, Step
from apps.controllers.kubelet.node_kubelet import KUBELET, is_reachable
from apps.scheduler.framework.resources import node_allocatable, pod_requests
from apps.scheduler.objects import Node, Pod

Body = dict[str, Any]

_PENDING: Final = "PodResizePending"
#: How often a kubelet looks whether a deferred resize fits.
_RETRY: Final = timedelta(seconds=10)


def refs_for_pod(_: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    return [ref_of("Pod", new)] if new is not None and is_resizing(new) else ()


def is_resizing(pod: Pod) -> bool:
    """Whether a running container has other resources than its spec wants."""
    if pod.status.phase != "Running" or pod.metadata.deletion_timestamp:
        return False
    wanted = {each.name: each.resources for each in pod.spec.containers}
    return any(
        each.resources is not None
        and each.name in wanted
        and (
            each.resources.requests != wanted[each.name].requests
            or each.resources.limits != wanted[each.name].limits
        )
        for each in pod.status.container_statuses
    )


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    pod = cache.pod(ref)
    node = cache.node(pod.spec.node_name) if pod is not None else None
    if pod is None or node is None or not is_resizing(pod) or not is_reachable(node):
        return
    reason, message = _obstacle(pod, node, cache.usage_on(node.metadata.name).used)
    if reason:
        pending = [c for c in pod.status.conditions if c.type == _PENDING]
        if not any(c.reason == reason and c.message == message for c in pending):
            yield _update(pod, lambda body: _defer(body, reason, message, now))
        if reason == "Deferred":
            yield Requeue(now + _RETRY)
        return
    yield _update(pod, _resize)


def _obstacle(pod: Pod, node: Node, used: dict[str, int]) -> tuple[str, str]:
    """Why the pod cannot be resized now, as reason and message; empty if it can."""
    allocatable, _ = node_allocatable(node.status.allocatable)
    own = pod_requests(pod, use_status=True)
    for name, amount in sorted(pod_requests(pod, use_status=False).items()):
        capacity = allocatable.get(name, 0)
        others = used.get(name, 0) - own.get(name, 0)
        if amount > capacity:
            message = f"requested: {amount}, capacity: {capacity}"
            return "Infeasible", f"Node didn't have enough capacity: {name}, {message}"
        if others + amount > capacity:
            message = f"requested: {amount}, used: {others}, capacity: {capacity}"
            return "Deferred", f"Node didn't have enough resource: {name}, {message}"
    return "", ""


def _defer(pod: Body, reason: str, message: str, now: datetime) -> Body:
    status = dict(pod.get("status") or {})
    condition = {"type": _PENDING, "status": "True", "reason": reason, "message": message}
    status["conditions"] = set_condition(status.get("conditions") or [], condition, now)
    return {**pod, "status": status}


def _resize(pod: Body) -> Body:
    status = dict(pod.get("status") or {})
    wanted = {each["name"]: each.get("resources") for each in pod["spec"]["containers"]}
    status["containerStatuses"] = [
        report_resources(each, wanted.get(each["name"])) for each in status["containerStatuses"]
    ]
    status["conditions"] = [c for c in status.get("conditions") or () if c["type"] != _PENDING]
    return {**pod, "status": status}


def _update(pod: Pod, change: Any) -> Update:
    return Update(
        kinds.POD,
        pod.metadata.namespace,
        pod.metadata.name,
        change,
        "kubelet",
        trusted=True,
        uid=pod.metadata.uid,
    )


CONTROLLER = Controller(
    name="kubelet (resizes)",
    user=KUBELET,
    concerns={"Pod": refs_for_pod},
    reconcile=reconcile,
)
