"""NodeDeclaredFeatures: refuses nodes that do not declare a kubelet feature the pod needs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PreFilterResult, Verdicts
from apps.scheduler.framework.node_columns import NodeColumns, Reads, UInt16Array
from apps.scheduler.framework.status import SKIP, Status, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Node, Pod

NAME: Final = "NodeDeclaredFeatures"
REASON: Final = "node(s) didn't match Pod's required features"
RESTART_ALL_CONTAINERS: Final = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_HOST_NETWORK: Final = "UserNamespacesHostNetworkSupport"


class NodeDeclaredFeatures:
    name = NAME
    feature_gate = NAME
    sign_reads: Reads = "nodes"

    def __init__(self, args: None, handle: Handle) -> None:
        pass

    def sign(self, pod: PodInfo) -> Hashable | None:
        return required_features(pod.pod)

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        return required_features(pod.pod)

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[PreFilterResult | None, Status | None]:
        return None, None if required_features(pod.pod) else SKIP

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        required = required_features(pod.pod)

        def missing(table: NodeColumns) -> UInt16Array:
            """Bit i stands for ``required[i]``."""
            bits = np.zeros(len(table), dtype=np.uint16)
            for line in np.flatnonzero(table.alive).tolist():
                node = table.info(line).node
                declared = node.status.declared_features if node is not None else ()
                bits[line] = sum(1 << i for i, name in enumerate(required) if name not in declared)
            return bits

        column = nodes.memo((NAME, required), missing, depends="node")
        return Verdicts(column, _statuses(required))

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        node = ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE
        return (
            ClusterEventWithHint(ClusterEvent(Resource.NODE, node), _hint_node_changed),
            ClusterEventWithHint(ClusterEvent(Resource.POD, ActionType.UPDATE), _hint_pod_updated),
        )


def _hint_node_changed(pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
    """The node is new, or its declared features changed."""
    changed = old is None or old.status.declared_features != new.status.declared_features
    return QueueingHint.QUEUE if changed else QueueingHint.QUEUE_SKIP


def _hint_pod_updated(pod: PodInfo, old: Pod, new: Pod) -> QueueingHint:
    """The features that a pod needs do not change while it waits."""
    return QueueingHint.QUEUE_SKIP


def required_features(pod: Pod) -> tuple[str, ...]:
    """The features without which a kubelet cannot run the pod, sorted."""
    spec = pod.spec
    required = []
    containers = (*spec.containers, *spec.init_containers)
    rules = (rule for container in containers for rule in container.restart_policy_rules)
    if any(rule.action == "RestartAllContainers" for rule in rules):
        required.append(RESTART_ALL_CONTAINERS)
    if spec.host_network and spec.host_users is False:
        required.append(USER_NAMESPACES_HOST_NETWORK)
    return tuple(required)


def _statuses(required: Sequence[str]) -> list[Status | None]:
    """A status for each set of missing features; its index is the set as bits."""
    statuses: list[Status | None] = [None]
    for _ in range(1, 1 << len(required)):
        statuses.append(unresolvable(REASON))
    return statuses
