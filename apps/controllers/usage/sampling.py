"""Samples of usage: of each container of a running pod, and of each node.

A sample covers a window. It depends on the cluster's seed, the pod's namespace and name, the
container and the window, and on nothing else, so everyone who asks gets the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from apps import quantity
from apps.cluster.models import Cluster
from apps.cluster.pods.footprint import node_ready
from apps.controllers.usage.curves import CPU, DISK, MEMORY, PIDS, Curve, parse_curve, share

Body = Mapping[str, Any]

WINDOW_SECONDS: Final = 15
#: What a percentage counts from in a container without a request: cores, bytes, processes.
IDLE: Final[Mapping[str, float]] = {
    "cpu": 0.005,
    "memory": 20 * 2**20,
    "ephemeral-storage": 0.0,
    "pids": 5,
}
#: Without an annotation.
_DEFAULTS: Final[Mapping[str, Curve]] = {
    "cpu": share(0.5, 0.8),
    "memory": share(0.75, 0.85),
    "ephemeral-storage": share(0.5, 0.6),
    "pids": share(1.0, 1.0),
}
_ANNOTATIONS: Final[Mapping[str, str]] = {
    "cpu": CPU,
    "memory": MEMORY,
    "ephemeral-storage": DISK,
    "pids": PIDS,
}
#: An annotated level varies by this share, up and down.
_NOISE: Final[Mapping[str, float]] = {
    "cpu": 0.05,
    "memory": 0.01,
    "ephemeral-storage": 0.0,
    "pids": 0.0,
}
#: The number of processes of a node that Linux allows by default.
MAX_PIDS: Final = 32768
#: The share of a node's capacity that its system has at least.
_LEAST_RESERVED: Final = 0.02
_NANO = 10**9


@dataclass(frozen=True, slots=True)
class Usage:
    """Nanocores and bytes."""

    cpu: int
    memory: int

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.cpu + other.cpu, self.memory + other.memory)


NOTHING: Final = Usage(0, 0)


@dataclass(frozen=True, slots=True)
class Window:
    """The span of time that a sample covers, in a cluster with this seed."""

    seed: int
    number: int

    @property
    def end(self) -> datetime:
        return datetime.fromtimestamp(self.number * WINDOW_SECONDS, UTC)

    def draw(self, *names: str) -> float:
        """A number from 0 to 1, the same for the same names."""
        text = "\0".join((str(self.seed), str(self.number), *names))
        digest = hashlib.blake2b(text.encode(), digest_size=6).digest()
        return int.from_bytes(digest) / float(1 << 48)


def latest_window(cluster: Cluster) -> Window:
    """The last window that is complete."""
    return Window(cluster.seed, int(cluster.now().timestamp()) // WINDOW_SECONDS)


def is_measured(cluster: Cluster) -> bool:
    """Whether there is usage: the mock kubelets measure it while they run."""
    return cluster.kubelet and not cluster.paused


def pod_usage(pod: Body, window: Window) -> dict[str, Usage]:
    """The usage of each container of a pod; empty if the pod is not running."""
    cpu, memory = amounts_used(pod, "cpu", window), amounts_used(pod, "memory", window)
    return {name: _usage({"cpu": cpu[name], "memory": memory[name]}) for name in cpu}


def amounts_used(pod: Body, resource: str, window: Window) -> dict[str, float]:
    """What each container of a pod uses of a resource; empty if the pod is not running.

    In cores, bytes or processes; `resource` is cpu, memory, ephemeral-storage or pids.
    """
    if (pod.get("status") or {}).get("phase") != "Running":
        return {}
    spec = pod.get("spec") or {}
    sidecars = (c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always")
    containers = [*(spec.get("containers") or ()), *sidecars]
    return {c["name"]: _container_amount(pod, c, resource, window) for c in containers}


def node_usage(node: Body, pods: Iterable[Body], window: Window) -> Usage | None:
    """The usage of a node with these pods; None if it is not ready.

    The system uses most of what the node reserves, the difference of capacity and allocatable, or
    of a small share of its capacity.
    """
    if not node_ready(node):
        return None
    total = _system_usage(node, window)
    for pod in pods:
        for usage in pod_usage(pod, window).values():
            total += usage
    return total


def system_amount(node: Body, resource: str, window: Window) -> float:
    """What a node uses besides its pods: what its annotation says, or most of what it reserves."""
    status, metadata = node.get("status") or {}, node["metadata"]
    whole = capacity_of(node, resource)
    draw = window.draw(metadata["name"], resource)
    annotation = (metadata.get("annotations") or {}).get(_ANNOTATIONS[resource])
    curve = parse_curve(annotation)
    if curve is not None:
        return min(curve.amount(whole, window.number * WINDOW_SECONDS, draw), whole)
    allocatable = _amount(status.get("allocatable") or {}, resource, whole)
    reserved = max(whole - allocatable, whole * _LEAST_RESERVED)
    return _DEFAULTS[resource].amount(reserved, 0, draw)


def capacity_of(node: Body, resource: str) -> float:
    """The capacity of a node in cores, bytes or processes."""
    if resource == "pids":
        return MAX_PIDS
    return _amount((node.get("status") or {}).get("capacity") or {}, resource, 0.0)


def _system_usage(node: Body, window: Window) -> Usage:
    return _usage({name: system_amount(node, name, window) for name in ("cpu", "memory")})


def _container_amount(pod: Body, container: Body, resource: str, window: Window) -> float:
    metadata, resources = pod["metadata"], container.get("resources") or {}
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    draw = window.draw(metadata["namespace"], metadata["name"], container["name"], resource)
    request = _amount(requests, resource, IDLE[resource])
    curve = parse_curve((metadata.get("annotations") or {}).get(_ANNOTATIONS[resource]))
    default = _DEFAULTS[resource]
    amount = (curve or default).amount(request, window.number * WINDOW_SECONDS, draw)
    if curve is not None:
        amount *= 1 + _NOISE[resource] * (2 * draw - 1)
    # a container is throttled, or killed, at its limit
    return min(amount, _amount(limits, resource, amount))


def _amount(listed: Body, resource: str, default: float) -> float:
    """Cores or bytes of a resource in a list; the default if it is absent or zero."""
    try:
        nanos = quantity.parse(listed[resource]).nanos
    except (KeyError, quantity.QuantityError):
        return default
    return nanos / _NANO or default


def _usage(amounts: Mapping[str, float]) -> Usage:
    return Usage(round(amounts["cpu"] * _NANO), round(amounts["memory"]))
