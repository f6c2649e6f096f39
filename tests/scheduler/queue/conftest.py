"""A queue on a clock that stands still, with three plugins whose hints are easy to foresee."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.clock import VirtualClock
from apps.scheduler.framework.events import (
    EVENT_NODE_ADD,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.status import Status, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod, decode
from apps.scheduler.queue.hinting import build_queueing_hint_map
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo
from apps.scheduler.queue.records import PodMove, SavedEntry, SubQueue
from apps.scheduler.queue.scheduling_queue import PriorityQueue, QueuePlugins

GATES_GONE = ClusterEvent(Resource.POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)


def skip(pod: PodInfo, old: Any, new: Any) -> QueueingHint:
    return QueueingHint.QUEUE_SKIP


def fail(pod: PodInfo, old: Any, new: Any) -> QueueingHint:
    raise ZeroDivisionError("a plugin's mistake")


def gate(pod: PodInfo) -> Status | None:
    return unresolvable("waiting") if pod.pod.spec.scheduling_gates else None


#: "Eager" wants a retry after every new node, "Picky" after none, "Broken" cannot tell
HINTS = build_queueing_hint_map(
    [
        ("Eager", [ClusterEventWithHint(EVENT_NODE_ADD)]),
        ("Picky", [ClusterEventWithHint(EVENT_NODE_ADD, skip)]),
        ("Broken", [ClusterEventWithHint(EVENT_NODE_ADD, fail)]),
        ("Gate", [ClusterEventWithHint(GATES_GONE)]),
    ]
)


class World:
    def __init__(self) -> None:
        self.clock = VirtualClock(1000.0)
        self.moves: list[PodMove] = []
        self.pods: dict[str, Pod] = {}
        self.queue = self.new_queue()

    def new_queue(self) -> PriorityQueue:
        return PriorityQueue(
            self.clock,
            QueuePlugins(
                hints={"default-scheduler": HINTS},
                pre_enqueue={"default-scheduler": [("Gate", gate)]},
            ),
            observer=self.moves.append,
        )

    def pod(self, name: str, *, gated: bool = False, **spec: Any) -> Pod:
        """A pod, known by its uid from now on; the same name gives a new version of it."""
        body: dict[str, Any] = {
            "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}"},
            "spec": {"containers": [{"name": "c"}], **spec},
        }
        if gated:
            body["spec"]["schedulingGates"] = [{"name": "quota"}]
        pod: Pod = decode("Pod", body)
        self.pods[pod.metadata.uid] = pod
        return pod

    def add(self, name: str, **kwargs: Any) -> Pod:
        pod = self.pod(name, **kwargs)
        self.queue.add(pod)
        return pod

    def pop(self) -> QueuedPodInfo:
        info = self.queue.pop()
        assert info is not None
        return info

    def reject(self, info: QueuedPodInfo, *plugins: str, pending: tuple[str, ...] = ()) -> SubQueue:
        return self.queue.add_unschedulable_if_not_present(
            info, unschedulable_plugins=plugins, pending_plugins=pending
        )

    def add_rejected(self, name: str, *plugins: str, **kwargs: Any) -> Pod:
        """A pod that was tried once and rejected by these plugins."""
        pod = self.add(name, **kwargs)
        info = self.pop()
        assert info.pod is pod
        self.reject(info, *plugins)
        return pod

    def node_added(self) -> None:
        self.queue.move_all_to_active_or_backoff_queue(EVENT_NODE_ADD)

    def place(self, name: str) -> SubQueue:
        return self.queue.contents.place_of(f"shop/{name}")

    def entries(self) -> dict[str, SavedEntry]:
        return {entry.pod_uid: entry for entry in self.queue.dump()}


@pytest.fixture
def world() -> World:
    return World()
