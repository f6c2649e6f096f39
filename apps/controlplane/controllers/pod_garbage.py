"""Pod garbage collection: pods of a node that is gone, or never was, do not stay for ever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from apps.controlplane.controllers.controller import Controller, Later, Step
from apps.controlplane.controllers.world import Ref, World
from apps.controlplane.controllers.writes import delete_pod, disrupt
from apps.scheduler.objects import Node, Pod

#: A node may come back, or come after its pods, within this time.
QUARANTINE = timedelta(seconds=40)


def of_pod(world: World, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    if new is None or not new.spec.node_name or world.node(new.spec.node_name) is not None:
        return ()
    return [("Node", "", new.spec.node_name)]


def of_node(_: World, old: Node | None, new: Node | None) -> Iterable[Ref]:
    found = new or old
    return [("Node", "", found.metadata.name)] if found is not None else ()


def reconcile(world: World, ref: Ref, now: datetime) -> Iterator[Step]:
    """Delete the pods of a missing node, when it has been missing long enough."""
    name = ref[2]
    pods = world.pods_on(name)
    if world.node(name) is not None or not pods:
        world.missing_since.pop(name, None)
        return
    end = world.missing_since.setdefault(name, now) + QUARANTINE
    if now < end:
        yield Later(end)
        return
    for pod in pods:
        if pod.status.phase not in ("Succeeded", "Failed"):
            message = "PodGC: node no longer exists"
            yield disrupt(pod, "DeletionByPodGC", message, now, phase="Failed")
        yield delete_pod(pod, grace_seconds=0)


CONTROLLER = Controller(
    name="pod garbage",
    user="pod-garbage-collector",
    concerns={"Node": of_node, "Pod": of_pod},
    reconcile=reconcile,
)
