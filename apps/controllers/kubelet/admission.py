"""Admission of pods by the kubelet, which checks every pod bound to its node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from apps.cluster.pods.qos import qos_class
from apps.controllers.node_usage import NodeUsage
from apps.scheduler.framework.resources import node_allocatable, pod_requests
from apps.scheduler.labels import SelectorError, node_selector_matches
from apps.scheduler.objects import Node, Pod, Taint
from apps.scheduler.plugins.helper.taints import is_tolerated

#: Pods from this priority on are critical: a kubelet keeps them under pressure.
CRITICAL_PRIORITY: Final = 2_000_000_000
_PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure")
_MEMORY_PRESSURE: Final = Taint(key="node.kubernetes.io/memory-pressure", effect="NoSchedule")


@dataclass(frozen=True, slots=True)
class PodRejection:
    """Why the kubelet rejects a pod: `reason` is one word, `why` a sentence."""

    reason: str
    why: str

    @property
    def message(self) -> str:
        """The message in the pod's status."""
        return f"Pod was rejected: {self.why}"


@dataclass(slots=True)
class FreeCapacity:
    """The free capacity of a node while its new pods are admitted one by one."""

    node: Node
    #: resource -> milli-CPU, bytes or units
    allocatable: dict[str, int]
    used: dict[str, int]
    max_pods: int
    pods: int

    @classmethod
    def of(cls, node: Node, usage: NodeUsage) -> FreeCapacity:
        """The free capacity besides the admitted pods of the node."""
        allocatable, max_pods = node_allocatable(node.status.allocatable)
        return cls(node, allocatable, dict(usage.used), max_pods, usage.pods)

    def admit(self, pod: Pod) -> PodRejection | None:
        """Admit the pod, or return the reason for its rejection."""
        requests = _without_devices(pod, pod_requests(pod, use_status=True))
        refusal = self._check_placement(pod) or self._check_capacity(requests)
        if refusal is None:
            self._take(requests)
        return refusal

    def _take(self, requests: dict[str, int]) -> None:
        self.pods += 1
        for name, amount in requests.items():
            self.used[name] = self.used.get(name, 0) + amount

    def _check_placement(self, pod: Pod) -> PodRejection | None:
        pressing = [name for name in under_pressure(self.node) if not _copes(pod, name)]
        if pressing:
            return PodRejection("Evicted", f"The node had condition: [{', '.join(pressing)}]. ")
        if not selects(pod, self.node):
            return _predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
        for taint in self.node.spec.taints:
            if taint.effect == "NoExecute" and not is_tolerated(pod.spec.tolerations, taint):
                return _predicate("TaintToleration", "node(s) had untolerated taint(s)")
        return None

    def _check_capacity(self, requests: dict[str, int]) -> PodRejection | None:
        if self.pods + 1 > self.max_pods:
            return _insufficient("pods", 1, self.pods, self.max_pods)
        for name, amount in sorted(requests.items()):
            used, capacity = self.used.get(name, 0), self.allocatable.get(name, 0)
            if amount and used + amount > capacity:
                return _insufficient(name, amount, used, capacity)
        return None


def under_pressure(node: Node) -> list[str]:
    """The conditions of pressure that are True."""
    return [
        each.type
        for each in node.status.conditions
        if each.type in _PRESSURES and each.status == "True"
    ]


def _copes(pod: Pod, condition: str) -> bool:
    """Whether a kubelet admits a pod to a node with this condition."""
    if pod.spec.priority >= CRITICAL_PRIORITY:
        return True
    if condition != "MemoryPressure":
        return False
    # pods that are not BestEffort cope with pressure on memory; others have to tolerate it
    best_effort = qos_class(msgspec.to_builtins(pod.spec)) == "BestEffort"
    return not best_effort or is_tolerated(pod.spec.tolerations, _MEMORY_PRESSURE)


def _without_devices(pod: Pod, requests: dict[str, int]) -> dict[str, int]:
    """The requests that the node itself has to meet: some are met by devices of a claim."""
    status = pod.status.extended_resource_claim_status
    by_claim = {each.resource_name for each in status.request_mappings} if status else set()
    return {name: amount for name, amount in requests.items() if name not in by_claim}


def _predicate(name: str, why: str) -> PodRejection:
    return PodRejection(name, f"Predicate {name} failed: {why}")


def _insufficient(name: str, requested: int, used: int, capacity: int) -> PodRejection:
    return PodRejection(
        f"OutOf{name}",
        f"Node didn't have enough resource: {name}, requested: {requested}, "
        f"used: {used}, capacity: {capacity}",
    )


def selects(pod: Pod, node: Node) -> bool:
    """Whether nodeSelector and required node affinity of the pod match the node."""
    labels, name = node.metadata.labels, node.metadata.name
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    if not required:
        return True
    try:
        return node_selector_matches(required, labels, name)
    except SelectorError:
        return False
