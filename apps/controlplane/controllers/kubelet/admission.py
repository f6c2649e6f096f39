"""Whether a node takes a pod that was put on it: kubelet looks again, whoever placed the pod."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from apps.scheduler.framework.resources import node_allocatable, pod_requests
from apps.scheduler.labels import SelectorError, node_selector_matches
from apps.scheduler.objects import Node, Pod
from apps.scheduler.plugins.helper.taints import tolerated

_TERMINAL = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the pod fails: `reason` is a word, `why` tells it to people."""

    reason: str
    why: str

    @property
    def message(self) -> str:
        """What the pod's status says of it."""
        return f"Pod was rejected: {self.why}"


@dataclass(slots=True)
class Room:
    """What a node has left, while the pods that came are admitted one by one."""

    node: Node
    #: resource -> milli-CPU, bytes or units
    allocatable: dict[str, int]
    used: dict[str, int]
    max_pods: int
    pods: int

    @classmethod
    def of(cls, node: Node, present: Iterable[Pod]) -> Room:
        """The room beside the pods that are on the node already."""
        allocatable, max_pods = node_allocatable(node.status.allocatable)
        room = cls(node, allocatable, {}, max_pods, 0)
        for pod in present:
            if pod.status.phase not in _TERMINAL:
                room._take(pod_requests(pod, use_status=True))
        return room

    def admit(self, pod: Pod) -> Refusal | None:
        """Take the pod in, or say why not."""
        requests = pod_requests(pod, use_status=True)
        refusal = self._misplaced(pod) or self._over_capacity(requests)
        if refusal is None:
            self._take(requests)
        return refusal

    def _take(self, requests: dict[str, int]) -> None:
        self.pods += 1
        for name, amount in requests.items():
            self.used[name] = self.used.get(name, 0) + amount

    def _misplaced(self, pod: Pod) -> Refusal | None:
        if not selects(pod, self.node):
            return _predicate("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
        for taint in self.node.spec.taints:
            if taint.effect == "NoExecute" and not tolerated(pod.spec.tolerations, taint):
                return _predicate("TaintToleration", "node(s) had untolerated taint(s)")
        return None

    def _over_capacity(self, requests: dict[str, int]) -> Refusal | None:
        if self.pods + 1 > self.max_pods:
            return _out_of("pods", 1, self.pods, self.max_pods)
        for name, amount in sorted(requests.items()):
            used, capacity = self.used.get(name, 0), self.allocatable.get(name, 0)
            if amount and used + amount > capacity:
                return _out_of(name, amount, used, capacity)
        return None


def _predicate(name: str, why: str) -> Refusal:
    return Refusal(name, f"Predicate {name} failed: {why}")


def _out_of(name: str, requested: int, used: int, capacity: int) -> Refusal:
    return Refusal(
        f"OutOf{name}",
        f"Node didn't have enough resource: {name}, requested: {requested}, "
        f"used: {used}, capacity: {capacity}",
    )


def selects(pod: Pod, node: Node) -> bool:
    """Whether nodeSelector and required node affinity let the pod be on this node."""
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
