"""What a change in the cluster means to the cache and to the queue."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

from apps.scheduler.cache.cache import is_terminal
from apps.scheduler.framework.events import (
    EVENT_ASSIGNED_POD_ADD,
    EVENT_ASSIGNED_POD_DELETE,
    EVENT_NODE_ADD,
    EVENT_NODE_DELETE,
    EVENT_UNSCHEDULED_POD_ADD,
    EVENT_UNSCHEDULED_POD_DELETE,
    EVENT_UNSCHEDULED_POD_UPDATE,
    ActionType,
    ClusterEvent,
    Resource,
    node_update_events,
    pod_update_events,
)
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.metrics import definitions
from apps.scheduler.objects import KubeObject, Node, Pod

if TYPE_CHECKING:
    from apps.scheduler.scheduler import Scheduler

#: kinds whose changes plugins hear of, by the name they register
_RESOURCES: Final = {
    "PersistentVolume": Resource.PERSISTENT_VOLUME,
    "PersistentVolumeClaim": Resource.PERSISTENT_VOLUME_CLAIM,
    "StorageClass": Resource.STORAGE_CLASS,
    "CSINode": Resource.CSI_NODE,
    "CSIDriver": Resource.CSI_DRIVER,
    "CSIStorageCapacity": Resource.CSI_STORAGE_CAPACITY,
    "VolumeAttachment": Resource.VOLUME_ATTACHMENT,
}


def handle(
    sched: Scheduler,
    kind: str,
    old: KubeObject | None,
    new: KubeObject | None,
    at: float | None = None,
) -> None:
    """Added: ``old`` is None; deleted: ``new`` is None. Kinds nobody reads are ignored."""
    if kind == "Pod":
        handle_pod(sched, _as_pod(old), _as_pod(new), at)
    elif kind == "Node":
        assert old is None or isinstance(old, Node)
        assert new is None or isinstance(new, Node)
        handle_node(sched, old, new)
    else:
        handle_other(sched, kind, old, new)


def handle_pod(sched: Scheduler, old: Pod | None, new: Pod | None, at: float | None = None) -> None:
    """A pod is the cache's business while it has a node and runs, else the queue's while it waits.

    Changes of side are told to both: leaving the one before entering the other.
    """
    was_assigned, is_assigned = _is_assigned(old), _is_assigned(new)
    was_pending, is_pending = _is_pending(sched, old), _is_pending(sched, new)
    if was_pending and not is_pending:
        assert old is not None
        delete_pod_from_scheduling_queue(sched, old, new)
    if was_assigned and not is_assigned:
        assert old is not None
        delete_pod_from_cache(sched, old)
    if is_assigned:
        assert new is not None
        if was_assigned and old is not None:
            update_pod_in_cache(sched, old, new)
        else:
            add_pod_to_cache(sched, new)
    elif is_pending:
        assert new is not None
        if was_pending and old is not None:
            update_pod_in_scheduling_queue(sched, old, new, at)
        else:
            add_pod_to_scheduling_queue(sched, new, at)


def add_pod_to_cache(sched: Scheduler, pod: Pod) -> None:
    """A pod runs somewhere: perhaps one that was assumed there."""
    start = perf_counter_ns()
    sched.cache.add_pod(PodInfo(pod))
    sched.queue.assigned_pod_added(pod)
    _handled(sched, EVENT_ASSIGNED_POD_ADD, start)


def update_pod_in_cache(sched: Scheduler, old: Pod, new: Pod) -> None:
    start = perf_counter_ns()
    sched.cache.update_pod(PodInfo(new))
    for event in pod_update_events(old, new):
        sched.queue.assigned_pod_updated(old, new, event)
        start = _handled(sched, event, start)


def delete_pod_from_cache(sched: Scheduler, pod: Pod) -> None:
    start = perf_counter_ns()
    sched.cache.remove_pod(pod.metadata.uid)
    sched.queue.assigned_pod_deleted(pod)
    _handled(sched, EVENT_ASSIGNED_POD_DELETE, start)


def add_pod_to_scheduling_queue(sched: Scheduler, pod: Pod, at: float | None) -> None:
    start = perf_counter_ns()
    sched.queue.add(pod, at)
    _handled(sched, EVENT_UNSCHEDULED_POD_ADD, start)


def update_pod_in_scheduling_queue(
    sched: Scheduler, old: Pod, new: Pod, at: float | None = None
) -> None:
    """An assumed pod waits for its own binding; until that fails, updates give no reason to act."""
    if old.metadata.uid != new.metadata.uid:
        delete_pod_from_scheduling_queue(sched, old, None)
        add_pod_to_scheduling_queue(sched, new, at)
        return
    start = perf_counter_ns()
    if sched.cache.is_assumed(new.metadata.uid):
        sched.queue.note_version(new)
    else:
        sched.queue.update(old, new)
        if old.status.nominated_node_name not in ("", new.status.nominated_node_name):
            give_up_nomination(sched, old)
    _handled(sched, EVENT_UNSCHEDULED_POD_UPDATE, start)


def delete_pod_from_scheduling_queue(sched: Scheduler, pod: Pod, bound: Pod | None) -> None:
    """The pod is gone, or bound; a pod that is held, or being bound, is let go if it is gone."""
    start = perf_counter_ns()
    sched.queue.delete(pod)
    if bound is None:
        sched.pod_deleted(pod.metadata.uid)
        if pod.status.nominated_node_name and not sched.cache.is_assumed(pod.metadata.uid):
            give_up_nomination(sched, pod)
    _handled(sched, EVENT_UNSCHEDULED_POD_DELETE, start)


def give_up_nomination(sched: Scheduler, pod: Pod) -> None:
    """The node that ``pod`` was promised is free for pods that had to respect the promise."""

    def respects(other: Pod) -> bool:
        return other.spec.priority <= pod.spec.priority

    sched.queue.move_all_to_active_or_backoff_queue(
        EVENT_ASSIGNED_POD_DELETE, old=pod, pre_check=respects
    )


def handle_node(sched: Scheduler, old: Node | None, new: Node | None) -> None:
    start = perf_counter_ns()
    if new is None:
        assert old is not None
        sched.cache.remove_node(old.metadata.name)
        sched.queue.move_all_to_active_or_backoff_queue(EVENT_NODE_DELETE, old, None)
        _handled(sched, EVENT_NODE_DELETE, start)
        return
    sched.cache.add_node(new)
    if old is None:
        sched.queue.move_all_to_active_or_backoff_queue(EVENT_NODE_ADD, None, new)
        _handled(sched, EVENT_NODE_ADD, start)
        return
    for event in node_update_events(old, new):
        sched.queue.move_all_to_active_or_backoff_queue(event, old, new)
        start = _handled(sched, event, start)


def handle_other(
    sched: Scheduler, kind: str, old: KubeObject | None, new: KubeObject | None
) -> None:
    start = perf_counter_ns()
    lister = sched.cache.listers.by_kind.get(kind)
    if lister is None:
        return
    if new is not None:
        lister.put(new)
    elif old is not None:
        lister.remove(old)
    resource = _RESOURCES.get(kind)
    if resource is not None:
        action = ActionType.UPDATE
        if old is None:
            action = ActionType.ADD
        elif new is None:
            action = ActionType.DELETE
        event = ClusterEvent(resource, action)
        sched.queue.move_all_to_active_or_backoff_queue(event, old, new)
        _handled(sched, event, start)


def _handled(sched: Scheduler, event: ClusterEvent, start: int) -> int:
    """Measure how long it took to take the event in; returns the time now, for the next one."""
    sched.metrics.observe_since(definitions.EVENT_HANDLING_DURATION, (event.label,), start)
    return perf_counter_ns()


def _as_pod(item: KubeObject | None) -> Pod | None:
    assert item is None or isinstance(item, Pod)
    return item


def _is_assigned(pod: Pod | None) -> bool:
    return pod is not None and bool(pod.spec.node_name) and not is_terminal(pod)


def _is_pending(sched: Scheduler, pod: Pod | None) -> bool:
    """Whether the pod waits for one of this scheduler's profiles."""
    return (
        pod is not None
        and not pod.spec.node_name
        and not is_terminal(pod)
        and pod.spec.scheduler_name in sched.profiles
    )
