"""Usage and waiting times of a cluster as they pass: nodes, pods on them, pods that wait.

The recorded and the replayed life are measured in the same way, with the definitions of the charts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from apps.engine.series.buckets import CLUSTER, Bucket
from apps.engine.series.levels import BASIC, NodeState, add_nodes
from apps.scheduler.framework.resources import node_allocatable, pod_requests
from apps.scheduler.objects import Node, Pod

#: (name, label) of what is measured over time.
SERIES: Final = (
    ("pods.bound", "Pods on nodes"),
    ("pods.pending", "Pending pods"),
    ("use.cpu", "CPU requested of allocatable"),
    ("use.memory", "Memory requested of allocatable"),
    ("imbalance.cpu", "Imbalance of CPU: standard deviation over nodes"),
    ("imbalance.memory", "Imbalance of memory: standard deviation over nodes"),
    ("fragmentation", "Fragmentation: average pods that do not fit, though there is room"),
)
_FINISHED: Final = ("Succeeded", "Failed")


@dataclass(slots=True)
class Levels:
    """The state at one time, and what has happened until then. Times: seconds since the epoch."""

    #: node name -> (allocatable by BASIC, ready, cordoned)
    _nodes: dict[str, tuple[Sequence[int], bool, bool]] = field(default_factory=dict)
    #: uid -> (node, requests by BASIC), of the pods on nodes
    _placed: dict[str, tuple[str, Sequence[int]]] = field(default_factory=dict)
    #: node name -> uids of the pods on it
    _on: dict[str, set[str]] = field(default_factory=dict)
    #: uid -> since when it waits
    _waiting: dict[str, float] = field(default_factory=dict)
    #: uid -> first node, and seconds from its creation to its binding, of pods bound in the span
    bound: dict[str, tuple[str, float]] = field(default_factory=dict)
    preempted: set[str] = field(default_factory=set)
    #: uid -> (priority, name of its class) of every pod that there was
    priorities: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def pending(self) -> Mapping[str, float]:
        """Pods without a node: uid -> since when."""
        return self._waiting

    @property
    def on_nodes(self) -> int:
        return len(self._placed)

    def pods_on(self, node: str) -> set[str]:
        """The uids of the pods on a node."""
        return self._on.get(node, set())

    def put_node(self, node: Node) -> None:
        amounts, pods = node_allocatable(node.status.allocatable)
        ready = any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)
        amount = (amounts.get("cpu", 0), amounts.get("memory", 0), pods)
        self._nodes[node.metadata.name] = amount, ready, node.spec.unschedulable

    def remove_node(self, name: str) -> None:
        self._nodes.pop(name, None)

    def put_pod(self, pod: Pod, at: float, *, counts: bool = True) -> None:
        """A pod as it is now; with `counts`, one that gets its node now is counted as bound."""
        uid, node = pod.metadata.uid, pod.spec.node_name
        self.priorities[uid] = pod.spec.priority, pod.spec.priority_class_name
        if pod.status.phase in _FINISHED:
            self._leave(uid)
        elif not node:
            self._waiting.setdefault(uid, at)
        else:
            since = self._waiting.pop(uid, None)
            if counts and since is not None:
                self.bound.setdefault(uid, (node, max(0.0, at - since)))
            requests = pod_requests(pod, use_status=True)
            amounts = (requests.get("cpu", 0), requests.get("memory", 0), 1)
            self._placed[uid] = node, amounts
            self._on.setdefault(node, set()).add(uid)

    def remove_pod(self, uid: str) -> None:
        self._leave(uid)

    def _leave(self, uid: str) -> None:
        self._waiting.pop(uid, None)
        if (placed := self._placed.pop(uid, None)) is not None:
            self._on[placed[0]].discard(uid)

    def measure(self) -> dict[str, float]:
        """The values of SERIES now; those that do not exist without nodes are left out."""
        names = list(self._nodes)
        rows = {name: row for row, name in enumerate(names)}
        requested = np.zeros((len(names), len(BASIC)))
        for node, amounts in self._placed.values():
            if (row := rows.get(node)) is not None:
                requested[row] += amounts
        state = NodeState(
            np.arange(len(names)),
            BASIC,
            requested,
            np.array([self._nodes[name][0] for name in names], dtype=float).reshape(-1, len(BASIC)),
            np.array([self._nodes[name][1] for name in names], dtype=bool),
            np.array([self._nodes[name][2] for name in names], dtype=bool),
        )
        bucket: Bucket = {}
        add_nodes(bucket, state)
        measured = bucket[CLUSTER].levels
        measured |= {"pods.bound": len(self._placed), "pods.pending": len(self._waiting)}
        return {name: measured[name] for name, _ in SERIES if name in measured}


@dataclass(slots=True)
class Samples:
    """Levels at fixed times."""

    times: Sequence[float]
    #: one for each time that has passed
    values: list[dict[str, float]] = field(default_factory=list)

    def pass_until(self, at: float, levels: Levels) -> None:
        """Measure at the times before `at`, as nothing has changed until then."""
        if len(self.values) < len(self.times) and self.times[len(self.values)] < at:
            measured = levels.measure()
            while len(self.values) < len(self.times) and self.times[len(self.values)] < at:
                self.values.append(measured)
