"""Pod garbage collection: deletes pods of nodes that do not exist or are out of service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from apps.controllers.cache import ControllerCache, Ref
from apps.controllers.controller import Controller, Requeue, Step
from apps.controllers.writes import delete_pod, disrupt
from apps.scheduler.objects import Node, Pod

#: A node may be created again, or after its pods, within this time.
QUARANTINE = timedelta(seconds=40)
_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


def refs_for_pod(cache: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    if new is None or not new.spec.node_name:
        return ()
    node = cache.node(new.spec.node_name)
    return [("Node", "", new.spec.node_name)] if node is None or _is_out(node) else ()


def refs_for_node(_: ControllerCache, old: Node | None, new: Node | None) -> Iterable[Ref]:
    node = new or old
    return [("Node", "", node.metadata.name)] if node is not None else ()


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    """Delete the pods of a node that has been missing for long enough, or is out of service."""
    name = ref[2]
    pods, node = cache.pods_on(name), cache.node(name)
    if node is not None or not pods:
        cache.missing_since.pop(name, None)
        if node is not None and _is_out(node):
            ending = (pod for pod in pods if pod.metadata.deletion_timestamp)
            yield from (delete_pod(pod, grace_seconds=0) for pod in ending)
        return
    end = cache.missing_since.setdefault(name, now) + QUARANTINE
    if now < end:
        yield Requeue(end)
        return
    for pod in pods:
        if pod.status.phase not in ("Succeeded", "Failed"):
            message = "PodGC: node no longer exists"
            yield disrupt(pod, "DeletionByPodGC", message, now, phase="Failed")
        yield delete_pod(pod, grace_seconds=0)


def _is_out(node: Node) -> bool:
    """Whether an administrator says of a node that is not ready that it will not come back."""
    is_ready = any(
        each.type == "Ready" and each.status == "True" for each in node.status.conditions
    )
    return not is_ready and any(taint.key == _OUT_OF_SERVICE for taint in node.spec.taints)


CONTROLLER = Controller(
    name="pod garbage",
    user="pod-garbage-collector",
    concerns={"Node": refs_for_node, "Pod": refs_for_pod},
    reconcile=reconcile,
)
