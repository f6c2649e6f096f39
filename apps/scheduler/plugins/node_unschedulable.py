"""NodeUnschedulable: cordoned nodes accept only pods that tolerate the unschedulable taint."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import (
    ITSELF,
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
from apps.scheduler.plugins.helper.pod_signs import tolerations_sign
from apps.scheduler.plugins.helper.taints import UNSCHEDULABLE_TAINT, is_tolerated

NAME: Final = "NodeUnschedulable"
REASON: Final = "node(s) were unschedulable"
_STATUSES = (None, unresolvable(REASON))


class NodeUnschedulable:
    name = NAME
    sign_reads: Reads = "nodes"

    def __init__(self, args: None, handle: Handle) -> None:
        pass

    def sign(self, pod: PodInfo) -> Hashable | None:
        return pod.pod.spec.tolerations

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        return tolerations_sign(pod)

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        cordoned = nodes.unschedulable
        if not cordoned.any() or is_tolerated(pod.pod.spec.tolerations, UNSCHEDULABLE_TAINT):
            return None
        return Verdicts(cordoned.astype("uint16"), _STATUSES)

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        yield Detail("the node is cordoned", {"unschedulable": True})

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        node = ClusterEvent(Resource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        toleration = ClusterEvent(Resource.POD, ActionType.UPDATE_POD_TOLERATION)
        return (
            ClusterEventWithHint(node, _hint_node_changed, looks_for="that is not cordoned"),
            ClusterEventWithHint(toleration, _hint_toleration_added, looks_for=ITSELF),
        )


def _hint_node_changed(pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
    """The node is not cordoned, and is new or was cordoned before."""
    helps = not new.spec.unschedulable and (old is None or old.spec.unschedulable)
    return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP


def _hint_toleration_added(pod: PodInfo, old: Pod | None, new: Pod) -> QueueingHint:
    """The pod itself has the toleration now that it lacked."""
    own = new.metadata.uid == pod.uid
    helps = own and is_tolerated(new.spec.tolerations, UNSCHEDULABLE_TAINT)
    return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP
