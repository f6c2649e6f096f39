"""Slow and obvious versions of what plugins compute with columns: one pod, one node at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.labels import node_selector_matches
from apps.scheduler.objects import Node, Taint, Toleration


def fit_reasons(pod: PodInfo, node: NodeInfo) -> list[str]:
    """What NodeResourcesFit says of the node, in any order."""
    reasons = ["Too many pods"] if len(node.pods) + 1 > node.allowed_pods else []
    for name, amount in pod.spec_requests.items():
        free = node.allocatable.get(name, 0) - node.requested.get(name, 0)
        if amount > 0 and amount > free:
            reasons.append(f"Insufficient {name}")
    return reasons


def fit_unresolvable(pod: PodInfo, node: NodeInfo) -> bool:
    return any(
        amount > node.allocatable.get(name, 0)
        for name, amount in pod.spec_requests.items()
        if amount > 0
    )


def least_allocated(pod: PodInfo, node: NodeInfo) -> int:
    """LeastAllocated over CPU and memory with equal weights."""
    wanted = pod.fit_scoring_requests
    scores = []
    for name, used in (("cpu", node.nonzero_cpu), ("memory", node.nonzero_memory)):
        capacity = node.allocatable.get(name, 0)
        if capacity == 0:
            continue
        requested = used + wanted.get(name, 0)
        scores.append(0 if requested > capacity else (capacity - requested) * 100 // capacity)
    return sum(scores) // len(scores) if scores else 0


def balanced_allocation(pod: PodInfo, node: NodeInfo) -> int:
    def evenness(wanted: dict[str, int]) -> int:
        shares = [
            min((node.requested.get(name, 0) + wanted.get(name, 0)) / node.allocatable[name], 1.0)
            for name in ("cpu", "memory")
            if node.allocatable.get(name, 0)
        ]
        deviation = abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0
        return math.trunc((1 - deviation) * 100)

    return 50 + (50 + evenness(pod.requests) - evenness({})) // 2


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or toleration.value == taint.value


def untolerated(node: Node, tolerations: Sequence[Toleration], effects: Sequence[str]) -> int:
    return sum(
        taint.effect in effects and not any(tolerates(t, taint) for t in tolerations)
        for taint in node.spec.taints
    )


def node_affinity_matches(pod: PodInfo, node: Node) -> bool:
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.pod.spec.node_selector.items()):
        return False
    affinity = pod.pod.spec.affinity
    if affinity is None or affinity.node_affinity is None:
        return True
    required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
    return required is None or node_selector_matches(required, labels, node.metadata.name)


def image_locality(pod: PodInfo, node: Node, nodes: Sequence[Node]) -> int:
    """For pods with one container, whose image is reported with equal sizes everywhere."""
    megabyte = 1024 * 1024
    image = pod.pod.spec.containers[0].image
    sizes = [i.size_bytes for each in nodes for i in each.status.images if image in i.names]
    here = any(image in i.names for i in node.status.images)
    total = int(sizes[0] * (len(sizes) / len(nodes))) if here else 0
    clipped = min(max(total, 23 * megabyte), 1000 * megabyte)
    return 100 * (clipped - 23 * megabyte) // (977 * megabyte)
