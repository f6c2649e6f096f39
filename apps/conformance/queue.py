"""Replay a recorded trace of kube-scheduler's queue and compare the state after every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apps.conformance.default_profile import default_framework, default_hints
from apps.scheduler.clock import VirtualClock
from apps.scheduler.framework.events import (
    ClusterEvent,
    action_by_name,
    node_update_events,
    pod_update_events,
)
from apps.scheduler.objects import Node, Pod, decode_as
from apps.scheduler.queue.backoff_queue import BackoffRules
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo
from apps.scheduler.queue.scheduling_queue import PriorityQueue, QueuePlugins

Json = Mapping[str, Any]


def run_queue_case(case: Json, expect: Json) -> list[str]:
    """The first difference, as human-readable lines; empty if there is none."""
    return compare_queue(case, expect, QueueReplay(case))


def compare_queue(case: Json, expect: Json, replay: QueueReplay) -> list[str]:
    """`run_queue_case` with a given replay."""
    for step, (operation, wanted) in enumerate(zip(case["ops"], expect["states"], strict=True)):
        state = replay.perform(operation)
        differences = [
            f"{case['id']} step {step} ({operation['op']}): {field} is {state.get(field)!r}, "
            f"recorded {wanted.get(field)!r}"
            for field in sorted(state.keys() | wanted.keys())
            if state.get(field) != wanted.get(field)
        ]
        if differences:
            return differences
    return []


class QueueReplay:
    """A queue, a clock, and the latest version of every pod of the trace."""

    def __init__(self, case: Json) -> None:
        self._case = case
        self._clock = VirtualClock()
        self._now_ms = 0
        self._pods: dict[str, Pod] = {}
        self._popped: dict[str, QueuedPodInfo] = {}
        self.queue = self.new_queue()

    def new_queue(self) -> PriorityQueue:
        """An empty queue with the settings and the clock of the trace."""
        profile = default_framework()
        return PriorityQueue(
            self._clock,
            QueuePlugins(
                rank=profile.queue_sort_key,
                hints={profile.name: default_hints()},
                pre_enqueue={profile.name: profile.pre_enqueue_functions()},
            ),
            backoff=BackoffRules(
                initial_seconds=self._case["podInitialBackoffSeconds"],
                max_seconds=self._case["podMaxBackoffSeconds"],
            ),
        )

    def latest(self, uid: str) -> Pod | None:
        """The latest version of the pod; in the traces a uid is the pod's key."""
        return self._pods.get(uid)

    def perform(self, operation: Json) -> dict[str, Any]:
        """Perform one operation; returns the state after it, in the form of the recording."""
        self._now_ms += operation.get("ms", 0)
        self._clock.at = self._now_ms / 1000
        seen = _OPERATIONS[operation["op"]](self, operation) or {}
        return {**seen, **self.state()}

    # --- operations, each returning what it adds to the state -----------------------------------

    def step(self, operation: Json) -> None:
        """Only time passes."""

    def add(self, operation: Json) -> None:
        self.queue.add(self._learn(operation["pod"]))

    def update(self, operation: Json) -> Json:
        old = self._pods[_key(operation["new"])]
        new = self._learn(operation["new"])
        self.queue.update(old, new)
        return _labels(pod_update_events(old, new))

    def delete(self, operation: Json) -> None:
        self.queue.delete(self._pods[operation["key"]])

    def pop(self, operation: Json) -> Json:
        info = self.queue.pop()
        if info is None:
            return {"popped": None}
        self._popped[info.key] = info
        popped: dict[str, Any] = {
            "pod": info.key,
            "attempts": info.attempts,
            "unschedulableCount": info.unschedulable_count,
            "consecutiveErrorsCount": info.consecutive_errors_count,
        }
        if info.was_flushed_from_unschedulable:
            popped["wasFlushedFromUnschedulable"] = True
        return {"popped": popped}

    def unschedulable(self, operation: Json) -> None:
        info = self._popped.pop(operation["key"])
        self.queue.add_unschedulable_if_not_present(
            info,
            unschedulable_plugins=operation.get("unschedulablePlugins") or (),
            pending_plugins=operation.get("pendingPlugins") or (),
        )
        if "node" in operation:
            self.queue.add_nominated_pod(info.pod_info, operation["node"])

    def done(self, operation: Json) -> None:
        info = self._popped.pop(operation["key"])
        self.queue.delete_nominated_pod(info.pod_info)
        self.queue.done(info.uid)

    def activate(self, operation: Json) -> None:
        self.queue.activate([self._pods[key] for key in operation["keys"]])

    def flush_backoff(self, operation: Json) -> None:
        self.queue.flush_backoff_completed()

    def flush_unschedulable(self, operation: Json) -> None:
        self.queue.flush_unschedulable_leftover()

    def move(self, operation: Json) -> Json:
        event = ClusterEvent(operation["resource"], action_by_name(operation["action"]))
        old, new = _node(operation.get("old")), _node(operation.get("new"))
        self.queue.move_all_to_active_or_backoff_queue(event, old, new)
        return _labels([event])

    def node_update(self, operation: Json) -> Json:
        old = decode_as(Node, operation["old"])
        new = decode_as(Node, operation["new"])
        events = node_update_events(old, new)
        for event in events:
            self.queue.move_all_to_active_or_backoff_queue(event, old, new)
        return _labels(events)

    def assigned_pod_add(self, operation: Json) -> Json:
        self.queue.assigned_pod_added(decode_as(Pod, operation["pod"]))
        return {"events": ["AssignedPodAdd"]}

    def assigned_pod_update(self, operation: Json) -> Json:
        old, new = decode_as(Pod, operation["old"]), decode_as(Pod, operation["new"])
        events = pod_update_events(old, new)
        for event in events:
            self.queue.assigned_pod_updated(old, new, event)
        return _labels(events)

    def assigned_pod_delete(self, operation: Json) -> Json:
        self.queue.assigned_pod_deleted(decode_as(Pod, operation["pod"]))
        return {"events": ["AssignedPodDelete"]}

    def _learn(self, body: Json) -> Pod:
        pod = decode_as(Pod, body)
        self._pods[pod.key] = pod
        return pod

    # --- the state ------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        queue = self.queue
        nominated: dict[str, list[str]] = {}
        for node_name, pod_info in queue.nominator:
            nominated.setdefault(node_name, []).append(pod_info.key)
        unschedulable = sorted(queue.contents.unschedulable_pods(), key=lambda info: info.key)
        return {
            "nowMs": self._now_ms,
            "active": [info.key for info in queue.contents.active_pods()],
            "backoff": [_backing_off(info) for info in queue.contents.backoff_pods()],
            "unschedulable": [_unschedulable(info) for info in unschedulable],
            "nominated": nominated,
            "inFlight": sorted(info.key for info in queue.contents.in_flight_pods()),
            "schedulingCycle": queue.scheduling_cycle,
        }


_OPERATIONS: Mapping[str, Callable[[QueueReplay, Json], Json | None]] = {
    "step": QueueReplay.step,
    "add": QueueReplay.add,
    "update": QueueReplay.update,
    "delete": QueueReplay.delete,
    "pop": QueueReplay.pop,
    "unschedulable": QueueReplay.unschedulable,
    "done": QueueReplay.done,
    "activate": QueueReplay.activate,
    "flushBackoff": QueueReplay.flush_backoff,
    "flushUnschedulable": QueueReplay.flush_unschedulable,
    "move": QueueReplay.move,
    "nodeUpdate": QueueReplay.node_update,
    "assignedPodAdd": QueueReplay.assigned_pod_add,
    "assignedPodUpdate": QueueReplay.assigned_pod_update,
    "assignedPodDelete": QueueReplay.assigned_pod_delete,
}


def _key(body: Json) -> str:
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"


def _node(body: Json | None) -> Node | None:
    return None if body is None else decode_as(Node, body)


def _labels(events: list[ClusterEvent]) -> Json:
    return {"events": [event.label for event in events]} if events else {}


def _backing_off(info: QueuedPodInfo) -> list[Any]:
    expiry = None if info.backoff_expiry is None else round(info.backoff_expiry * 1000)
    return [info.key, expiry, "unschedulable" if info.rejector_plugins else "error"]


def _unschedulable(info: QueuedPodInfo) -> dict[str, Any]:
    entry: dict[str, Any] = {"pod": info.key}
    if info.gating_plugin:
        entry["gatedBy"] = info.gating_plugin
    if info.unschedulable_plugins:
        entry["unschedulablePlugins"] = sorted(info.unschedulable_plugins)
    if info.pending_plugins:
        entry["pendingPlugins"] = sorted(info.pending_plugins)
    return entry
