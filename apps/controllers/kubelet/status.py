"""The statuses of a pod that the mock kubelet reports: running, rejected, ended."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

import msgspec

from apps.cluster.writing.binding import set_condition
from apps.cluster.writing.metadata import timestamp
from apps.controllers.kubelet.admission import PodRejection
from apps.controllers.kubelet.registration import host_address
from apps.scheduler.objects import Node

Body = dict[str, Any]
Change = Callable[[Body], Body]

_RUNNING = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
_ENDED = ("Ready", "ContainersReady")
_OF_CONTAINERS = ("containerStatuses", "initContainerStatuses")


def mark_running(node: Node, now: datetime) -> Change:
    """Running and Ready, with all containers started."""
    host = host_address(node.metadata.name)

    def change(pod: Body) -> Body:
        return {**pod, "status": _running_status(pod, now, _Identity.of(pod, host))}

    return change


class RunningStatus:
    """The JSON text of the status that `mark_running` sets, for pods that differ in their uid.

    Such a pod has the spec and the status of `pod`, and starts at the same time.
    """

    def __init__(self, pod: Body, now: datetime) -> None:
        """`pod` has the fields that `mark_running` reads."""
        self._host_network = bool(pod["spec"].get("hostNetwork"))
        self._containers: list[str] = []
        host = _mark("host")
        address = host if self._host_network else _mark("pod")
        #: its status as plain data; a mark stands for what depends on uid and node
        self.status = _running_status(pod, now, _Identity(host, address, self._mark_container))
        #: text and names of marks, in turn
        self._parts = msgspec.json.encode(self.status).decode().split(_MARK)

    def text(self, uid: str, node: str) -> bytes:
        """The status of the pod with this uid on this node."""
        values = {"host": host_address(node)}
        if not self._host_network:
            values["pod"] = _pod_address(uid)
        for number, name in enumerate(self._containers):
            values[str(number)] = _container_id(uid, name)
        parts = self._parts.copy()
        parts[1::2] = [values[name] for name in parts[1::2]]
        return "".join(parts).encode()

    def _mark_container(self, name: str) -> str:
        self._containers.append(name)
        return _mark(str(len(self._containers) - 1))


#: Cannot be guessed, so no text of a pod contains it.
_MARK: Final = secrets.token_hex(16)


def _mark(name: str) -> str:
    return f"{_MARK}{name}{_MARK}"


@dataclass(frozen=True, slots=True)
class _Identity:
    """What the status of a running pod says about this pod alone."""

    host: str
    address: str
    #: name of a container -> its id
    container_id: Callable[[str], str]

    @classmethod
    def of(cls, pod: Body, host: str) -> _Identity:
        uid = pod["metadata"]["uid"]
        address = host if pod["spec"].get("hostNetwork") else _pod_address(uid)
        return cls(host, address, partial(_container_id, uid))


def _running_status(pod: Body, now: datetime, identity: _Identity) -> Body:
    spec, status = pod["spec"], dict(pod.get("status") or {})
    start_time = timestamp(now)
    conditions = status.get("conditions") or []
    for name in _RUNNING:
        conditions = set_condition(conditions, {"type": name, "status": "True"}, now)
    running = {"running": {"startedAt": start_time}}
    completed = {"terminated": _terminated_state(0, start_time, start_time)}
    initial = [
        _container_status(each, identity, running if _is_sidecar(each) else completed)
        for each in spec.get("initContainers") or ()
    ]
    return {
        **status,
        "phase": "Running",
        "conditions": conditions,
        "hostIP": identity.host,
        "hostIPs": [{"ip": identity.host}],
        "podIP": identity.address,
        "podIPs": [{"ip": identity.address}],
        "startTime": start_time,
        **({"initContainerStatuses": initial} if initial else {}),
        "containerStatuses": [
            _container_status(each, identity, running) for each in spec["containers"]
        ],
    }


def start_ephemeral_containers(now: datetime) -> Change:
    """The ephemeral containers run that have been added."""
    running = {"running": {"startedAt": timestamp(now)}}

    def change(pod: Body) -> Body:
        status = dict(pod.get("status") or {})
        known = {each["name"]: each for each in status.get("ephemeralContainerStatuses") or ()}
        identity = _Identity.of(pod, "")
        status["ephemeralContainerStatuses"] = [
            known.get(each["name"])
            or {**_container_status(each, identity, running), "ready": False}
            for each in pod["spec"].get("ephemeralContainers") or ()
        ]
        return {**pod, "status": status}

    return change


def mark_rejected(refusal: PodRejection, now: datetime) -> Change:
    """Failed before any container was started."""

    def change(pod: Body) -> Body:
        reason = {"reason": refusal.reason, "message": refusal.message}
        status = {**(pod.get("status") or {}), "phase": "Failed", **reason}
        return {**pod, "status": {**status, "startTime": timestamp(now)}}

    return change


def mark_ended(phase: str, now: datetime, exit_code: int = 1) -> Change:
    """Succeeded, or Failed with this exit code."""
    parse_time, code = timestamp(now), 0 if phase == "Succeeded" else exit_code

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


def _container_status(container: Body, identity: _Identity, state: Body) -> Body:
    running = "running" in state
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "containerID": identity.container_id(container["name"]),
        "ready": True,
        "started": running,
        "restartCount": 0,
        "state": state,
        "lastState": {},
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


def _container_id(uid: str, name: str) -> str:
    return f"schedweb://{hashlib.sha256(f'{uid}/{name}'.encode()).hexdigest()}"


def _pod_address(uid: str) -> str:
    """A stable address of the pod; in a mock cluster it is not reachable."""
    first, second, third = hashlib.sha256(uid.encode()).digest()[:3]
    return f"10.{first}.{second}.{third}"
