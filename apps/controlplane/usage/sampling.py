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

from apps.cluster.models import Cluster
from apps.cluster.pods.footprint import node_ready
from apps.controlplane.usage.curves import CPU, MEMORY, Curve, parse_curve, share
from apps.scheduler import quantity

Body = Mapping[str, Any]

WINDOW_SECONDS: Final = 15
#: What a percentage counts from in a container without a request: cores and bytes.
IDLE: Final[Mapping[str, float]] = {"cpu": 0.005, "memory": 20 * 2**20}
#: Without an annotation.
_DEFAULTS: Final[Mapping[str, Curve]] = {"cpu": share(0.5, 0.8), "memory": share(0.75, 0.85)}
_ANNOTATIONS: Final[Mapping[str, str]] = {"cpu": CPU, "memory": MEMORY}
#: An annotated level varies by this share, up and down.
_NOISE: Final[Mapping[str, float]] = {"cpu": 0.05, "memory": 0.01}
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
        """From 0 to 1: the same for the same names."""
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
    if (pod.get("status") or {}).get("phase") != "Running":
        return {}
    spec = pod.get("spec") or {}
    sidecars = (c for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always")
    containers = [*(spec.get("containers") or ()), *sidecars]
    return {container["name"]: _container_usage(pod, container, window) for container in containers}


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


def _system_usage(node: Body, window: Window) -> Usage:
    status, name = node.get("status") or {}, node["metadata"]["name"]
    capacity, allocatable = status.get("capacity") or {}, status.get("allocatable") or {}
    amounts = {}
    for resource, curve in _DEFAULTS.items():
        whole = _amount(capacity, resource, 0.0)
        reserved = max(whole - _amount(allocatable, resource, whole), whole * _LEAST_RESERVED)
        amounts[resource] = curve.amount(reserved, 0, window.draw(name, resource))
    return _usage(amounts)


def _container_usage(pod: Body, container: Body, window: Window) -> Usage:
    metadata, resources = pod["metadata"], container.get("resources") or {}
    annotations = metadata.get("annotations") or {}
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    amounts = {}
    for resource, default in _DEFAULTS.items():
        draw = window.draw(metadata["namespace"], metadata["name"], container["name"], resource)
        request = _amount(requests, resource, IDLE[resource])
        curve = parse_curve(annotations.get(_ANNOTATIONS[resource]))
        amount = (curve or default).amount(request, window.number * WINDOW_SECONDS, draw)
        if curve is not None:
            amount *= 1 + _NOISE[resource] * (2 * draw - 1)
        # a container is throttled, or killed, at its limit
        amounts[resource] = min(amount, _amount(limits, resource, amount))
    return _usage(amounts)


def _amount(listed: Body, resource: str, default: float) -> float:
    """Cores or bytes of a resource in a list; the default if it is absent or zero."""
    try:
        nanos = quantity.parse(listed[resource]).nanos
    except (KeyError, quantity.QuantityError):
        return default
    return nanos / _NANO or default


def _usage(amounts: Mapping[str, float]) -> Usage:
    return Usage(round(amounts["cpu"] * _NANO), round(amounts["memory"]))
