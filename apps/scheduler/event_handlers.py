"""What a change of the cluster means to the cache and to the queue."""

from __future__ import annotations

from collections.abc import Callable, Container
from time import perf_counter_ns
from typing import Final

from apps.scheduler.cache.cache import Cache, is_terminal
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
from apps.scheduler.metrics.series import MetricsRegistry
from apps.scheduler.objects import KubeObject, Node, Pod
from apps.scheduler.queue.scheduling_queue import PriorityQueue

#: kinds whose changes plugins can register for, by the name they register
_RESOURCES: Final = {
    "PersistentVolume": Resource.PERSISTENT_VOLUME,
    "PersistentVolumeClaim": Resource.PERSISTENT_VOLUME_CLAIM,
    "StorageClass": Resource.STORAGE_CLASS,
    "CSINode": Resource.CSI_NODE,
    "CSIDriver": Resource.CSI_DRIVER,
    "CSIStorageCapacity": Resource.CSI_STORAGE_CAPACITY,
    "VolumeAttachment": Resource.VOLUME_ATTACHMENT,
    "PodGroup": Resource.POD_GROUP,
    "DeviceClass": Resource.DEVICE_CLASS,
    "ResourceSlice": Resource.RESOURCE_SLICE,
    "ResourceClaim": Resource.RESOURCE_CLAIM,
}


class EventHandlers:
    """Applies changes of the cluster to the cache and to the queue.

    ``profiles``: the scheduler names whose pods are scheduled here. ``pod_deleted`` is called with
    the uid of a pending pod that was deleted. ``completes_gangs``: a new pending pod may be the
    one for which others wait (feature gate GangScheduling).
    """

    def __init__(
        self,
        cache: Cache,
        queue: PriorityQueue,
        metrics: MetricsRegistry,
        *,
        profiles: Container[str],
        pod_deleted: Callable[[str], None],
        completes_gangs: bool = False,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._metrics = metrics
        self._profiles = profiles
        self._pod_deleted = pod_deleted
        self._completes_gangs = completes_gangs

    def handle(
        self,
        kind: str,
        old: KubeObject | None,
        new: KubeObject | None,
        at: float | None = None,
    ) -> None:
        """Created: ``old`` is None; deleted: ``new`` is None. Other kinds are ignored."""
        if kind == "Pod":
            self._handle_pod(_as_pod(old), _as_pod(new), at)
        elif kind == "Node":
            assert old is None or isinstance(old, Node)
            assert new is None or isinstance(new, Node)
            self._handle_node(old, new)
        else:
            self._handle_other(kind, old, new)

    def _handle_pod(self, old: Pod | None, new: Pod | None, at: float | None = None) -> None:
        """The cache holds pods that have a node and run, the queue holds pods that wait for one.

        A pod that changes sides leaves the one before it enters the other.
        """
        was_assigned, is_assigned = takes_room(old), takes_room(new)
        was_pending, is_pending = self._is_pending(old), self._is_pending(new)
        if was_pending and not is_pending:
            assert old is not None
            self._delete_pod_from_scheduling_queue(old, new)
        if was_assigned and not is_assigned:
            assert old is not None
            self._delete_pod_from_cache(old)
        if is_assigned:
            assert new is not None
            if was_assigned and old is not None:
                self._update_pod_in_cache(old, new)
            else:
                self._add_pod_to_cache(new)
        elif is_pending:
            assert new is not None
            if was_pending and old is not None:
                self._update_pod_in_scheduling_queue(old, new, at)
            else:
                self._add_pod_to_scheduling_queue(new, at)

    def _add_pod_to_cache(self, pod: Pod) -> None:
        """A pod runs on a node; it may have been assumed there."""
        start = perf_counter_ns()
        self._cache.add_pod(PodInfo(pod))
        self._queue.assigned_pod_added(pod)
        self._note_handled(EVENT_ASSIGNED_POD_ADD, start)

    def _update_pod_in_cache(self, old: Pod, new: Pod) -> None:
        start = perf_counter_ns()
        self._cache.update_pod(PodInfo(new))
        for event in pod_update_events(old, new):
            self._queue.assigned_pod_updated(old, new, event)
            start = self._note_handled(event, start)

    def _delete_pod_from_cache(self, pod: Pod) -> None:
        start = perf_counter_ns()
        self._cache.remove_pod(pod.metadata.uid)
        self._queue.assigned_pod_deleted(pod)
        self._note_handled(EVENT_ASSIGNED_POD_DELETE, start)

    def _add_pod_to_scheduling_queue(self, pod: Pod, at: float | None) -> None:
        start = perf_counter_ns()
        self._cache.pod_groups.add_pending(pod)
        self._queue.add(pod, at)
        if self._completes_gangs:
            self._queue.move_all_to_active_or_backoff_queue(EVENT_UNSCHEDULED_POD_ADD, None, pod)
        self._note_handled(EVENT_UNSCHEDULED_POD_ADD, start)

    def _update_pod_in_scheduling_queue(self, old: Pod, new: Pod, at: float | None = None) -> None:
        """Of an assumed pod only the version is noted: it is being bound, and is not retried."""
        if old.metadata.uid != new.metadata.uid:
            self._delete_pod_from_scheduling_queue(old, None)
            self._add_pod_to_scheduling_queue(new, at)
            return
        start = perf_counter_ns()
        self._cache.pod_groups.add_pending(new)
        if self._cache.is_assumed(new.metadata.uid):
            self._queue.note_version(new)
        else:
            self._queue.update(old, new)
            if old.status.nominated_node_name not in ("", new.status.nominated_node_name):
                self._withdraw_nomination(old)
        self._note_handled(EVENT_UNSCHEDULED_POD_UPDATE, start)

    def _delete_pod_from_scheduling_queue(self, pod: Pod, bound: Pod | None) -> None:
        """The pod was deleted (``bound`` is None), or bound by another scheduler or this one."""
        start = perf_counter_ns()
        self._cache.pod_groups.remove_pending(pod)
        self._queue.delete(pod)
        if bound is None:
            self._pod_deleted(pod.metadata.uid)
            if pod.status.nominated_node_name and not self._cache.is_assumed(pod.metadata.uid):
                self._withdraw_nomination(pod)
        self._note_handled(EVENT_UNSCHEDULED_POD_DELETE, start)

    def _withdraw_nomination(self, pod: Pod) -> None:
        """Retry the pods for which the nomination of ``pod`` kept room occupied."""

        def was_blocked(other: Pod) -> bool:
            return other.spec.priority <= pod.spec.priority

        self._queue.move_all_to_active_or_backoff_queue(
            EVENT_ASSIGNED_POD_DELETE, old=pod, pre_check=was_blocked
        )

    def _handle_node(self, old: Node | None, new: Node | None) -> None:
        start = perf_counter_ns()
        if new is None:
            assert old is not None
            self._cache.remove_node(old.metadata.name)
            self._queue.move_all_to_active_or_backoff_queue(EVENT_NODE_DELETE, old, None)
            self._note_handled(EVENT_NODE_DELETE, start)
            return
        self._cache.add_node(new)
        if old is None:
            self._queue.move_all_to_active_or_backoff_queue(EVENT_NODE_ADD, None, new)
            self._note_handled(EVENT_NODE_ADD, start)
            return
        for event in node_update_events(old, new):
            self._queue.move_all_to_active_or_backoff_queue(event, old, new)
            start = self._note_handled(event, start)

    def _handle_other(self, kind: str, old: KubeObject | None, new: KubeObject | None) -> None:
        start = perf_counter_ns()
        lister = self._cache.listers.by_kind.get(kind)
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
            self._queue.move_all_to_active_or_backoff_queue(event, old, new)
            self._note_handled(event, start)

    def _note_handled(self, event: ClusterEvent, start: int) -> int:
        """Measure how long handling the event took; returns the time now, where the next starts."""
        self._metrics.observe_since(definitions.EVENT_HANDLING_DURATION, (event.label,), start)
        return perf_counter_ns()

    def _is_pending(self, pod: Pod | None) -> bool:
        """Whether the pod waits for one of this scheduler's profiles."""
        return (
            pod is not None
            and not pod.spec.node_name
            and not is_terminal(pod)
            and pod.spec.scheduler_name in self._profiles
        )


def _as_pod(item: KubeObject | None) -> Pod | None:
    assert item is None or isinstance(item, Pod)
    return item


def takes_room(pod: Pod | None) -> bool:
    """Whether a pod takes room on a node."""
    return pod is not None and bool(pod.spec.node_name) and not is_terminal(pod)
