"""A program that plays the kubelets of all nodes, in the same way in both clusters.

It does one thing in each namespace at a time, so that the controllers come to rest in between.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from ipaddress import ip_address
from typing import Any
from zlib import crc32

from apps.cluster import kinds
from tools.truth.stories.worlds import World, list_all, path_of, timestamp

Body = dict[str, Any]
#: What becomes of a pod: "Pending", "Running" (not ready), "Ready", "Succeeded" or "Failed",
#: the last one with an exit code after a colon, if it is not 1. "Silent" is a kubelet that does
#: nothing about it, also if it is deleted.
Fate = Callable[[Body], str]

_POD_ADDRESSES = int(ip_address("10.0.0.0"))
_STRATEGIC = "strategic-merge-patch+json"


def act(world: World, fates: dict[str, Fate], crowds: Container[str] = ()) -> bool:
    """Move one pod of each namespace on, of `crowds` all; whether there was one.

    `fates` are by namespace.
    """
    moved: set[str] = set()
    for pod in sorted(list_all(world, "Pod"), key=_order):
        namespace = pod["metadata"]["namespace"]
        concerned = namespace in fates and pod["spec"].get("nodeName")
        waits = namespace in moved and namespace not in crowds
        if concerned and not waits and _move(world, pod, fates[namespace](pod)):
            moved.add(namespace)
    return bool(moved)


def beat(world: World) -> None:
    """Renew the heartbeats of all nodes; conditions stay as they are."""
    for node in list_all(world, "Node"):
        conditions = (node.get("status") or {}).get("conditions") or []
        renewed = [
            {"type": each["type"], "lastHeartbeatTime": timestamp(world)} for each in conditions
        ]
        if renewed:
            path = path_of(kinds.NODE, "", node["metadata"]["name"], "status")
            world.request("PATCH", path, {"status": {"conditions": renewed}}, _STRATEGIC)


def _order(pod: Body) -> tuple[Any, ...]:
    metadata = pod["metadata"]
    index = (metadata.get("annotations") or {}).get("batch.kubernetes.io/job-completion-index", 0)
    return int(index), metadata["creationTimestamp"], metadata["name"]


def _move(world: World, pod: Body, fate: str) -> bool:
    metadata = pod["metadata"]
    path = path_of(kinds.POD, metadata["namespace"], metadata["name"])
    phase = (pod.get("status") or {}).get("phase", "Pending")
    has_ended = phase in ("Succeeded", "Failed")
    if fate == "Silent":
        return False
    if metadata.get("deletionTimestamp"):
        # what waits for a finalizer only is not the kubelet's business
        if not metadata.get("deletionGracePeriodSeconds"):
            return False
        if not has_ended:
            _report(world, path, pod, "Failed:137")
        world.request("DELETE", path, {"gracePeriodSeconds": 0})
        return True
    if has_ended or fate == _state(pod):
        return False
    _report(world, path, pod, fate)
    return True


def _state(pod: Body) -> str:
    status = pod.get("status") or {}
    ready = [each["status"] for each in status.get("conditions") or () if each["type"] == "Ready"]
    return "Ready" if ready == ["True"] else status.get("phase", "Pending")


def _report(world: World, path: str, pod: Body, fate: str) -> None:
    name, _, code = fate.partition(":")
    phase = "Running" if name == "Ready" else name
    ready = "True" if name == "Ready" else "False"
    moment = timestamp(world)
    address = str(ip_address(crc32(pod["metadata"]["uid"].encode()) % 2**24 + _POD_ADDRESSES))
    status: Body = {
        "phase": phase,
        "startTime": (pod.get("status") or {}).get("startTime") or moment,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "hostIP": "10.0.0.1",
        "hostIPs": [{"ip": "10.0.0.1"}],
        "conditions": [
            {"type": each, "status": status, "lastTransitionTime": moment}
            for each, status in (
                ("Initialized", "True"),
                ("Ready", ready),
                ("ContainersReady", ready),
            )
        ],
        "containerStatuses": [
            {
                "name": each["name"],
                "image": each["image"],
                "imageID": "",
                "restartCount": 0,
                "ready": name == "Ready",
                "started": phase == "Running",
                "state": _container_state(phase, int(code or 1), moment),
            }
            for each in pod["spec"]["containers"]
        ],
    }
    if phase == "Pending":
        status = {"phase": phase, "conditions": status["conditions"]}
    answered, body = world.request("PATCH", f"{path}/status", {"status": status}, _STRATEGIC)
    if answered >= 300:
        raise RuntimeError(f"{path}: {body}")


def _container_state(phase: str, code: int, moment: str) -> Body:
    if phase == "Running":
        return {"running": {"startedAt": moment}}
    if phase == "Pending":
        return {"waiting": {"reason": "ContainerCreating"}}
    code = 0 if phase == "Succeeded" else code
    reason = "Error" if code else "Completed"
    times = {"startedAt": moment, "finishedAt": moment}
    return {"terminated": {"exitCode": code, "reason": reason, **times}}


def always(fate: str) -> Fate:
    return lambda _: fate


def by_image(fates: dict[str, str], other: str = "Ready") -> Fate:
    """By the image of the first container."""
    return lambda pod: fates.get(pod["spec"]["containers"][0]["image"], other)
