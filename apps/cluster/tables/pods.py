"""The table of pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.cluster.tables.columns import AGE, NAME, NONE, Column, age, get, path

Body = Mapping[str, Any]

_FINISHED = {
    "Succeeded": ("Succeeded", "The pod has completed successfully."),
    "Failed": ("Failed", "The pod failed."),
}


_TERMINAL = frozenset(_FINISHED)


@dataclass(slots=True)
class _Summary:
    """What the statuses of the containers add up to."""

    word: str
    ready: int = 0
    restarts: int = 0
    #: When the last restarted container ended; "" if unknown.
    restarted: str = ""

    def count(self, container: Body) -> None:
        self.restarts += container.get("restartCount", 0)
        self.restarted = max(
            self.restarted, get(container, "lastState", "terminated", "finishedAt")
        )


def status(pod: Body) -> str:
    """The column Status: the phase, or a more specific reason."""
    if get(pod, "metadata", "deletionTimestamp"):
        if get(pod, "status", "reason") == "NodeLost":
            return "Unknown"
        if get(pod, "status", "phase") not in _TERMINAL:
            return "Terminating"
    return _summarize(pod).word


def _summarize(pod: Body) -> _Summary:
    word = get(pod, "status", "reason") or get(pod, "status", "phase", default="Pending")
    for condition in get(pod, "status", "conditions", default=[]):
        if condition["type"] == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            word = "SchedulingGated"
    init, sidecars = _Summary(word), _Summary(word)
    initializing = _initialize(pod, init, sidecars)
    if initializing and not _is_true(pod, "Initialized"):
        return init
    sidecars.word = init.word
    _add_containers(pod, sidecars)
    return sidecars


def _initialize(pod: Body, init: _Summary, sidecars: _Summary) -> bool:
    """Whether an init container has not finished, which `init.word` then tells."""
    wanted = get(pod, "spec", "initContainers", default=[])
    lasting = {c["name"] for c in wanted if c.get("restartPolicy") == "Always"}
    for index, container in enumerate(get(pod, "status", "initContainerStatuses", default=[])):
        init.count(container)
        is_sidecar = container.get("name") in lasting
        if is_sidecar:
            sidecars.count(container)
        terminated = get(container, "state", "terminated", default=None)
        if terminated is not None and terminated.get("exitCode", 0) == 0:
            continue
        if is_sidecar and container.get("started"):
            sidecars.ready += bool(container.get("ready"))
            init.ready = sidecars.ready
            continue
        waiting = get(container, "state", "waiting", "reason")
        if terminated is not None:
            init.word = f"Init:{_exit(terminated)}"
        elif waiting and waiting != "PodInitializing":
            init.word = f"Init:{waiting}"
        else:
            init.word = f"Init:{index}/{len(wanted)}"
        return True
    return False


def _add_containers(pod: Body, summary: _Summary) -> None:
    """Add the containers: the reason of the first one that is not running."""
    running = False
    for container in reversed(get(pod, "status", "containerStatuses", default=[])):
        summary.count(container)
        waiting = get(container, "state", "waiting", "reason")
        terminated = get(container, "state", "terminated", default=None)
        if waiting:
            summary.word = waiting
        elif terminated is not None:
            summary.word = _exit(terminated)
        elif container.get("ready") and "running" in get(container, "state", default={}):
            running = True
            summary.ready += 1
    if summary.word == "Completed" and running:
        summary.word = "Running" if _is_true(pod, "Ready") else "NotReady"


def _exit(terminated: Body) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _is_true(pod: Body, condition: str) -> bool:
    conditions = get(pod, "status", "conditions", default=[])
    return any(c["type"] == condition and c["status"] == "True" for c in conditions)


def _ready(pod: Body, now: datetime) -> str:
    sidecars = [
        container
        for container in get(pod, "spec", "initContainers", default=[])
        if container.get("restartPolicy") == "Always"
    ]
    total = len(get(pod, "spec", "containers", default=[])) + len(sidecars)
    return f"{_summarize(pod).ready}/{total}"


def _restarts(pod: Body, now: datetime) -> str:
    summary = _summarize(pod)
    if summary.restarts and summary.restarted:
        return f"{summary.restarts} ({age(summary.restarted, now)} ago)"
    return str(summary.restarts)


def _ip(pod: Body, now: datetime) -> str:
    ips = get(pod, "status", "podIPs", default=[])
    return str(ips[0]["ip"] if ips else get(pod, "status", "podIP", default=NONE))


def _readiness_gates(pod: Body, now: datetime) -> str:
    gates = {gate["conditionType"] for gate in get(pod, "spec", "readinessGates", default=[])}
    if not gates:
        return NONE
    conditions = get(pod, "status", "conditions", default=[])
    met = sum(1 for c in conditions if c["type"] in gates and c["status"] == "True")
    return f"{met}/{len(gates)}"


def row_conditions(pod: Body) -> list[dict[str, str]]:
    """The condition of a table row: that the pod has completed."""
    finished = _FINISHED.get(get(pod, "status", "phase"))
    if finished is None:
        return []
    reason, message = finished
    return [{"type": "Completed", "status": "True", "reason": reason, "message": message}]


PODS = (
    NAME,
    Column("Ready", _ready),
    Column("Status", lambda pod, now: status(pod)),
    Column("Restarts", _restarts),
    AGE,
    Column("IP", _ip, priority=1),
    Column("Node", path("spec", "nodeName", default=NONE), priority=1),
    Column("Nominated Node", path("status", "nominatedNodeName", default=NONE), priority=1),
    Column("Readiness Gates", _readiness_gates, priority=1),
)
