"""The statuses of a pod that the mock kubelet reports: running, rejected, ended."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime
from typing import Any

from apps.cluster.writing.binding import set_condition
from apps.cluster.writing.metadata import timestamp
from apps.controlplane.controllers.kubelet.admission import PodRejection
from apps.controlplane.controllers.kubelet.registration import host_address
from apps.scheduler.objects import Node

Body = dict[str, Any]
Change = Callable[[Body], Body]

_RUNNING = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
_ENDED = ("Ready", "ContainersReady")
_OF_CONTAINERS = ("containerStatuses", "initContainerStatuses")


def mark_running(node: Node, now: datetime) -> Change:
    """Running and Ready, with all containers started."""
    parse_time, host = timestamp(now), host_address(node.metadata.name)

    def change(pod: Body) -> Body:
        spec, status = pod["spec"], dict(pod.get("status") or {})
        address = host if spec.get("hostNetwork") else _pod_address(pod["metadata"]["uid"])
        conditions = status.get("conditions") or []
        for name in _RUNNING:
            conditions = set_condition(conditions, {"type": name, "status": "True"}, now)
        running = {"running": {"startedAt": parse_time}}
        completed = {"terminated": _terminated_state(0, parse_time, parse_time)}
        return {
            **pod,
            "status": {
                **status,
                "phase": "Running",
                "conditions": conditions,
                "hostIP": host,
                "hostIPs": [{"ip": host}],
                "podIP": address,
                "podIPs": [{"ip": address}],
                "startTime": parse_time,
                "initContainerStatuses": [
                    _container_status(each, pod, running if _is_sidecar(each) else completed)
                    for each in spec.get("initContainers") or ()
                ],
                "containerStatuses": [
                    _container_status(each, pod, running) for each in spec["containers"]
                ],
            },
        }

    return change


def mark_rejected(refusal: PodRejection, now: datetime) -> Change:
    """Failed before any container was started."""

    def change(pod: Body) -> Body:
        reason = {"reason": refusal.reason, "message": refusal.message}
        status = {**(pod.get("status") or {}), "phase": "Failed", **reason}
        return {**pod, "status": {**status, "startTime": timestamp(now)}}

    return change


def mark_ended(phase: str, now: datetime) -> Change:
    """Succeeded, or Failed with exit code 1."""
    parse_time, code = timestamp(now), 0 if phase == "Succeeded" else 1

    def change(pod: Body) -> Body:
        status = dict(pod.get("status") or {})
        conditions = status.get("conditions") or []
        reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
        for name in _ENDED:
            condition = {"type": name, "status": "False", "reason": reason}
            conditions = set_condition(conditions, condition, now)
        since = status.get("startTime") or parse_time
        state = {"terminated": _terminated_state(code, since, parse_time)}
        containers = [
            {**each, "ready": False, "started": False, "state": state}
            for each in status.get("containerStatuses") or ()
        ]
        reported = {"phase": phase, "conditions": conditions, "containerStatuses": containers}
        return {**pod, "status": {**status, **reported}}

    return change


def mark_evicted(message: str, now: datetime) -> Change:
    """Failed because the node is short of a resource; its containers are killed."""
    end = mark_ended("Failed", now)
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "TerminationByKubelet",
        "message": message,
    }

    def change(pod: Body) -> Body:
        ended = end(pod)
        status = ended["status"]
        conditions = set_condition(status["conditions"], target, now)
        reported = {"reason": "Evicted", "message": message, "conditions": conditions}
        # without its containers, kubectl shows the pod as Evicted and not as Error
        kept = {name: value for name, value in status.items() if name not in _OF_CONTAINERS}
        return {**ended, "status": {**kept, **reported}}

    return change


def _container_status(container: Body, pod: Body, state: Body) -> Body:
    digest = hashlib.sha256(f"{pod['metadata']['uid']}/{container['name']}".encode()).hexdigest()
    running = "running" in state
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "containerID": f"schedweb://{digest}",
        "ready": True,
        "started": running,
        "restartCount": 0,
        "state": state,
    }


def _terminated_state(code: int, started_at: str, finished_at: str) -> Body:
    return {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": started_at,
        "finishedAt": finished_at,
    }


def _is_sidecar(container: Body) -> bool:
    return container.get("restartPolicy") == "Always"


def _pod_address(uid: str) -> str:
    """A stable address of the pod; in a mock cluster it is not reachable."""
    first, second, third = hashlib.sha256(uid.encode()).digest()[:3]
    return f"10.{first}.{second}.{third}"
