"""NodePorts: a host port can be used once per node, address and protocol."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PreFilterResult, Verdicts
from apps.scheduler.framework.node_columns import NodeColumns
from apps.scheduler.framework.status import SKIP, Status, unschedulable
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.objects import Node, Pod
from apps.scheduler.plugins.helper.node_text import list_names

NAME: Final = "NodePorts"
REASON: Final = "node(s) didn't have free ports for the requested pod ports"
_STATUSES = (None, unschedulable(REASON))


class NodePorts:
    name = NAME

    def __init__(self, args: None, handle: Handle) -> None:
        pass

    def sign(self, pod: PodInfo) -> Hashable | None:
        return pod.host_ports

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        return frozenset(each.port for each in pod.host_ports)

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[PreFilterResult | None, Status | None]:
        return None, None if pod.host_ports else SKIP

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        return Verdicts(nodes.port_conflicts(pod.host_ports).astype("uint16"), _STATUSES)

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        """The host ports that are in use, and the pods that use them."""
        for wanted in pod.host_ports:
            takers = [
                other.key
                for other in nodes.info(0).pods.values()
                for port in other.host_ports
                if port.key == wanted.key and port.conflicts_with(wanted.ip)
            ]
            if takers:
                yield Detail(
                    f"host port {wanted.protocol} {wanted.port} is used by {list_names(takers)}",
                    {"port": wanted.port, "protocol": wanted.protocol, "pods": takers},
                )

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        node = ClusterEvent(Resource.NODE, ActionType.ADD)
        deleted = ClusterEvent(Resource.POD, ActionType.DELETE)
        return (
            ClusterEventWithHint(
                deleted, _hint_pod_deleted, looks_for="that uses a host port this pod requests"
            ),
            ClusterEventWithHint(node, _hint_node_added),
        )


def _hint_pod_deleted(pod: PodInfo, old: Pod, new: Pod | None) -> QueueingHint:
    """A pod on a node has released a port that this pod requests."""
    if not (old.spec.node_name or old.status.nominated_node_name):
        return QueueingHint.QUEUE_SKIP
    freed = NodeInfo(old.spec.node_name)
    freed.add_pod(PodInfo(old))
    helps = freed.port_conflicts(pod.host_ports)
    return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP


def _hint_node_added(pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
    return QueueingHint.QUEUE
