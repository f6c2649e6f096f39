"""Taint-based eviction: pods leave a node whose NoExecute taints they do not tolerate (any more).

A toleration with `tolerationSeconds` holds from the moment the taint was added, or from the pod's
binding if that was later. Of several that match, the shortest counts. When the taint goes, so
does the deadline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from apps.controlplane.controllers.controller import Controller, Later, Step, moment
from apps.controlplane.controllers.world import Ref, World, ref_of
from apps.controlplane.controllers.writes import about_this, delete_pod, disrupt, is_active
from apps.controlplane.events.writer import Told
from apps.scheduler.objects import Node, Pod, Taint
from apps.scheduler.plugins.helper.taints import tolerates

USER = "taint-eviction-controller"
_NO_EXECUTE = "NoExecute"


def of_pod(world: World, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    if new is None or not new.spec.node_name:
        return ()
    node = world.node(new.spec.node_name)
    return [ref_of("Pod", new)] if node is not None and evicting_taints(node) else ()


def of_node(world: World, old: Node | None, new: Node | None) -> Iterable[Ref]:
    if new is None or evicting_taints(new) == (evicting_taints(old) if old else []):
        return []
    return [ref_of("Pod", pod) for pod in world.pods_on(new.metadata.name)]


def reconcile(world: World, ref: Ref, now: datetime) -> Iterator[Step]:
    pod = world.pod(ref)
    node = world.node(pod.spec.node_name) if pod is not None else None
    leaving = world.leaving.pop(ref, None)
    if pod is None or node is None or not is_active(pod):
        return
    end = deadline(pod, evicting_taints(node), now)
    if end is None:
        if leaving is not None:
            yield _told(pod, "Cancelling deletion of Pod")
        return
    if now < end:
        world.leaving[ref] = end
        yield Later(end)
        return
    yield disrupt(
        pod,
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
        now,
    )
    yield delete_pod(pod)
    yield _told(pod, "Marking for deletion Pod")


def _told(pod: Pod, doing: str) -> Told:
    return Told(about_this(pod), "TaintManagerEviction", f"{doing} {pod.key}", USER)


def evicting_taints(node: Node) -> list[Taint]:
    return [taint for taint in node.spec.taints if taint.effect == _NO_EXECUTE]


def deadline(pod: Pod, taints: Iterable[Taint], now: datetime) -> datetime | None:
    """When the pod has to leave; None = it may stay."""
    since = _bound_at(pod)
    ends = []
    for taint in taints:
        matching = [each for each in pod.spec.tolerations if tolerates(each, taint)]
        if not matching:
            return now
        limits = [s for each in matching if (s := each.toleration_seconds) is not None]
        if limits:
            start = moment(taint.time_added) if taint.time_added else now
            start = start if since is None else max(start, since)
            ends.append(start + timedelta(seconds=min(max(min(limits), 0), 10**9)))
    return min(ends, default=None)


def _bound_at(pod: Pod) -> datetime | None:
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.last_transition_time:
            return moment(condition.last_transition_time)
    created = pod.metadata.creation_timestamp
    return moment(created) if created else None


CONTROLLER = Controller(
    name="taint eviction",
    user=USER,
    concerns={"Node": of_node, "Pod": of_pod},
    reconcile=reconcile,
)
