"""The table of pods."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apps.controlplane.tables.columns import AGE, NAME, NONE, Column, age, get, path

Body = Mapping[str, Any]

_FINISHED = {
    "Succeeded": ("Succeeded", "The pod has completed successfully."),
    "Failed": ("Failed", "The pod failed."),
}


def status(pod: Body) -> str:
    """The column Status: the phase, or a more specific reason."""
    if get(pod, "metadata", "deletionTimestamp"):
        return "Unknown" if get(pod, "status", "reason") == "NodeLost" else "Terminating"
    word = get(pod, "status", "reason") or get(pod, "status", "phase", default="Pending")
    for condition in get(pod, "status", "conditions", default=[]):
        if condition["type"] == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            word = "SchedulingGated"
    initializing = _initializing(pod)
    if initializing:
        return initializing
    return _container_reason(pod) or word


def _initializing(pod: Body) -> str:
    """`Init:…` while an init container has not finished; "" otherwise."""
    wanted = get(pod, "spec", "initContainers", default=[])
    sidecars = {c["name"] for c in wanted if c.get("restartPolicy") == "Always"}
    found = get(pod, "status", "initContainerStatuses", default=[])
    for index, container in enumerate(found):
        terminated = get(container, "state", "terminated", default=None)
        if terminated is not None and terminated.get("exitCode", 0) == 0:
            continue
        if container.get("name") in sidecars and container.get("started"):
            continue
        if terminated is not None:
            return f"Init:{_exit(terminated)}"
        waiting = get(container, "state", "waiting", "reason")
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{index}/{len(wanted)}"
    return ""


def _container_reason(pod: Body) -> str:
    """The reason of the first container that is not running; "" if all are running."""
    word, running = "", False
    for container in reversed(get(pod, "status", "containerStatuses", default=[])):
        waiting = get(container, "state", "waiting", "reason")
        terminated = get(container, "state", "terminated", default=None)
        if waiting:
            word = waiting
        elif terminated is not None:
            word = _exit(terminated)
        elif container.get("ready") and "running" in get(container, "state", default={}):
            running = True
    if word == "Completed" and running:
        return "Running" if _ready_condition(pod) else "NotReady"
    return word


def _exit(terminated: Body) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _ready_condition(pod: Body) -> bool:
    conditions = get(pod, "status", "conditions", default=[])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _ready(pod: Body, now: datetime) -> str:
    statuses = get(pod, "status", "containerStatuses", default=[])
    ready = sum(1 for c in statuses if c.get("ready") and "running" in get(c, "state", default={}))
    return f"{ready}/{len(get(pod, 'spec', 'containers', default=[]))}"


def _restarts(pod: Body, now: datetime) -> str:
    statuses = get(pod, "status", "containerStatuses", default=[])
    count = sum(c.get("restartCount", 0) for c in statuses)
    ends = [get(c, "lastState", "terminated", "finishedAt") for c in statuses]
    latest = max(filter(None, ends), default="")
    return f"{count} ({age(latest, now)} ago)" if count and latest else str(count)


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


COLUMNS = (
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
