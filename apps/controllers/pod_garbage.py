"""Pod garbage collection: deletes pods of nodes that do not exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from apps.controllers.cache import ControllerCache, Ref
from apps.controllers.controller import Controller, Requeue, Step
from apps.controllers.writes import delete_pod, disrupt
from apps.scheduler.objects import Node, Pod

#: A node may be created again, or after its pods, within this time.
QUARANTINE = timedelta(seconds=40)


def refs_for_pod(cache: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    if new is None or not new.spec.node_name or cache.node(new.spec.node_name) is not None:
        return ()
    return [("Node", "", new.spec.node_name)]


def refs_for_node(_: ControllerCache, old: Node | None, new: Node | None) -> Iterable[Ref]:
    node = new or old
    return [("Node", "", node.metadata.name)] if node is not None else ()


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    """Delete the pods of a node that has been missing for long enough."""
    name = ref[2]
    pods = cache.pods_on(name)
    if cache.node(name) is not None or not pods:
        cache.missing_since.pop(name, None)
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


CONTROLLER = Controller(
    name="pod garbage",
    user="pod-garbage-collector",
    concerns={"Node": refs_for_node, "Pod": refs_for_pod},
    reconcile=reconcile,
)
