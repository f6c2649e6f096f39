"""NodeName: a pod whose spec names a node runs only there."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
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
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.node_columns import NodeColumns, Reads
from apps.scheduler.framework.status import Status, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Node, Pod

NAME: Final = "NodeName"
REASON: Final = "node(s) didn't match the requested node name"
_STATUSES = (None, unresolvable(REASON))


class NodeName:
    name = NAME
    sign_reads: Reads = "nodes"

    def __init__(self, args: None, handle: Handle) -> None:
        pass

    def sign(self, pod: PodInfo) -> Hashable | None:
        return pod.pod.spec.node_name

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        return pod.pod.spec.node_name

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        wanted = pod.pod.spec.node_name
        if not wanted:
            return None
        ids = np.ones(len(nodes), dtype=np.uint16)
        row = nodes.row_of(wanted)
        if row >= 0:
            ids[row] = 0
        return Verdicts(ids, _STATUSES)

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        wanted = pod.pod.spec.node_name
        yield Detail(f"the pod requests node {wanted}", {"wanted": wanted})

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        added = ClusterEvent(Resource.NODE, ActionType.ADD)
        return (ClusterEventWithHint(added, _hint_node_added),)


def _hint_node_added(pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
    return QueueingHint.QUEUE if fits(pod.pod, new) else QueueingHint.QUEUE_SKIP


def fits(pod: Pod, node: Node) -> bool:
    """Whether the pod names this node, or none."""
    return pod.spec.node_name in ("", node.metadata.name)
