"""Which events trigger a retry of a pod that did not fit: resources were released or added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apps.scheduler.framework import resources
from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Node, Pod


def _hint(helps: bool) -> QueueingHint:
    return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP


def hint_pod_changed(pod: PodInfo, old: Pod, new: Pod | None) -> QueueingHint:
    """A pod on a node was deleted, or requests less of a resource that this pod requests."""
    if new is None:
        return _hint(bool(old.spec.node_name or old.status.nominated_node_name))
    if new.metadata.uid == pod.uid:
        return QueueingHint.QUEUE
    if not new.spec.node_name:
        return QueueingHint.QUEUE_SKIP
    before, after = PodInfo(old).requests, PodInfo(new).requests
    return _hint(
        any(
            amount > 0 and before.get(name, 0) > after.get(name, 0)
            for name, amount in pod.requests.items()
        )
    )


def hint_node_changed(pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
    """The empty node could run the pod, and is new or has more of a requested resource."""
    wanted = pod.spec_requests
    now, slots_now = resources.node_allocatable(new.status.allocatable)
    if not _fits_empty(wanted, now, slots_now):
        return QueueingHint.QUEUE_SKIP
    if old is None:
        return QueueingHint.QUEUE
    before, slots_before = resources.node_allocatable(old.status.allocatable)
    return _hint(slots_now > slots_before or _grew(wanted, before, now))


def _fits_empty(wanted: Mapping[str, int], allocatable: Mapping[str, int], slots: int) -> bool:
    return slots >= 1 and all(
        amount <= allocatable.get(name, 0) for name, amount in wanted.items() if amount > 0
    )


def _grew(wanted: Mapping[str, int], before: Mapping[str, int], now: Mapping[str, int]) -> bool:
    return any(
        amount > 0 and now.get(name, 0) > before.get(name, 0) for name, amount in wanted.items()
    )


EVENTS: Final = (
    ClusterEventWithHint(
        ClusterEvent(Resource.POD, ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN),
        hint_pod_changed,
        looks_for="that uses a resource this pod requests",
    ),
    ClusterEventWithHint(
        ClusterEvent(Resource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE),
        hint_node_changed,
        looks_for="that could run the pod if it were empty",
    ),
    ClusterEventWithHint(
        ClusterEvent(Resource.DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE),
    ),
)
