"""What the kubelet of a node measures for its eviction signals, and which pod it evicts first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apps.controllers.kubelet.admission import CRITICAL_PRIORITY
from apps.controllers.kubelet.thresholds import SIGNALS
from apps.controllers.usage.curves import DISK, MEMORY, PIDS, parse_curve
from apps.controllers.usage.sampling import Window, amounts_used, capacity_of, system_amount
from apps.scheduler.framework.resources import pod_requests
from apps.scheduler.objects import Node, Pod

_ANNOTATIONS: Final = (MEMORY, DISK, PIDS)
_MIRROR: Final = "kubernetes.io/config.mirror"


@dataclass(frozen=True, slots=True)
class Observation:
    """A resource of a node: what is available, and what each container of each pod uses."""

    available: float
    capacity: float
    #: uid -> container -> bytes or processes
    used: Mapping[str, Mapping[str, float]]

    def used_by(self, pod: Pod) -> float:
        return sum(self.used.get(pod.metadata.uid, {}).values())


def has_curve(annotations: Mapping[str, str]) -> bool:
    """Whether annotations set the usage of a resource that kubelets evict for."""
    return bool(annotations) and any(name in annotations for name in _ANNOTATIONS)


def varies(annotations: Mapping[str, str]) -> bool:
    """Whether the usage that annotations set depends on the time."""
    curves = (parse_curve(annotations.get(name)) for name in _ANNOTATIONS)
    return any(curve is not None and curve.varies for curve in curves)


def observe(node: Node, pods: Sequence[Pod], window: Window) -> dict[str, Observation]:
    """The observation of each signal."""
    bodies = {pod.metadata.uid: msgspec.to_builtins(pod) for pod in pods}
    return {
        signal: _observe(msgspec.to_builtins(node), bodies, resource, window)
        for signal, (resource, _) in SIGNALS.items()
    }


def _observe(
    node: Mapping[str, Any], pods: Mapping[str, Any], resource: str, window: Window
) -> Observation:
    capacity = capacity_of(node, resource)
    used = {uid: amounts_used(pod, resource, window) for uid, pod in pods.items()}
    total = sum(sum(each.values()) for each in used.values())
    available = capacity - system_amount(node, resource, window) - total
    return Observation(max(available, 0.0), capacity, used)


def rank(pods: Sequence[Pod], resource: str, seen: Observation) -> list[Pod]:
    """The pods that may be evicted, in the kubelet's order.

    For memory and disk: first those that use more than they request (with overhead), then by
    priority, then by how much they exceed their requests. For processes: by priority, then by
    their number.
    """

    def exceeds(pod: Pod) -> float:
        request = 0 if resource == "pids" else pod_requests(pod, use_status=True).get(resource, 0)
        return seen.used_by(pod) - request

    def key(pod: Pod) -> tuple[bool, int, float]:
        within = resource != "pids" and exceeds(pod) <= 0
        return within, pod.spec.priority, -exceeds(pod)

    return sorted((pod for pod in pods if is_evictable(pod)), key=key)


def is_evictable(pod: Pod) -> bool:
    """Whether the pod runs and is not critical."""
    return (
        pod.status.phase == "Running"
        and not pod.metadata.deletion_timestamp
        and not is_critical(pod)
    )


def is_critical(pod: Pod) -> bool:
    """Whether kubelets keep the pod under pressure: a mirror pod, or one of a system class."""
    return pod.spec.priority >= CRITICAL_PRIORITY or _MIRROR in pod.metadata.annotations
