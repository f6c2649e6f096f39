"""Taint-based eviction: deletes pods that do not tolerate the NoExecute taints of their node.

`tolerationSeconds` count from the time the taint was added, or from the binding of the pod if that
was later. If several tolerations match, the shortest counts. Taints that are added later and
tolerated for a while change nothing about it. When all taints are removed, so is the deadline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from apps.controllers.cache import ControllerCache, Ref, ref_of
from apps.controllers.controller import Controller, Requeue, Step, parse_time
from apps.controllers.events.writer import PendingEvent
from apps.controllers.writes import delete_pod, disrupt, is_active, reference_to
from apps.scheduler.objects import Node, Pod, Taint
from apps.scheduler.plugins.helper.taints import tolerates

USER = "taint-eviction-controller"
_NO_EXECUTE = "NoExecute"


def refs_for_pod(cache: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    if new is None or not new.spec.node_name:
        return ()
    node = cache.node(new.spec.node_name)
    return [ref_of("Pod", new)] if node is not None and evicting_taints(node) else ()


def refs_for_node(cache: ControllerCache, old: Node | None, new: Node | None) -> Iterable[Ref]:
    if new is None or evicting_taints(new) == (evicting_taints(old) if old else []):
        return []
    return [ref_of("Pod", pod) for pod in cache.pods_on(new.metadata.name)]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    pod = cache.pod(ref)
    node = cache.node(pod.spec.node_name) if pod is not None else None
    leaving = cache.leaving.pop(ref, None)
    if pod is None or node is None or not is_active(pod):
        return
    taints = evicting_taints(node)
    end = deadline(pod, taints, now)
    is_tolerated = all(any(tolerates(each, t) for each in pod.spec.tolerations) for t in taints)
    if leaving is not None and (end is None or not is_tolerated):
        yield _event(pod, "Cancelling deletion of Pod")
    if end is None:
        return
    if leaving is not None and is_tolerated:
        # other taints change no deadline
        end = leaving
    if now < end:
        cache.leaving[ref] = end
        yield Requeue(end)
        return
    yield disrupt(
        pod,
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
        now,
    )
    yield delete_pod(pod)
    yield _event(pod, "Marking for deletion Pod")


def _event(pod: Pod, doing: str) -> PendingEvent:
    return PendingEvent(reference_to(pod), "TaintManagerEviction", f"{doing} {pod.key}", USER)


def evicting_taints(node: Node) -> list[Taint]:
    return [taint for taint in node.spec.taints if taint.effect == _NO_EXECUTE]


def deadline(pod: Pod, taints: Iterable[Taint], now: datetime) -> datetime | None:
    """When to evict the pod; None = never."""
    since = _bound_at(pod)
    ends = []
    for taint in taints:
        matching = [each for each in pod.spec.tolerations if tolerates(each, taint)]
        if not matching:
            return now
        limits = [s for each in matching if (s := each.toleration_seconds) is not None]
        if limits:
            start = parse_time(taint.time_added) if taint.time_added else now
            start = start if since is None else max(start, since)
            ends.append(start + timedelta(seconds=min(max(min(limits), 0), 10**9)))
    return min(ends, default=None)


def _bound_at(pod: Pod) -> datetime | None:
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.last_transition_time:
            return parse_time(condition.last_transition_time)
    created = pod.metadata.creation_timestamp
    return parse_time(created) if created else None


CONTROLLER = Controller(
    name="taint eviction",
    user=USER,
    concerns={"Node": refs_for_node, "Pod": refs_for_pod},
    reconcile=reconcile,
)
