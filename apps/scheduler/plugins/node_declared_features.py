"""NodeDeclaredFeatures: pods that need a feature of the kubelet go where it is declared."""

from __future__ import annotations

from collections.abc import Sequence

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
from apps.scheduler.framework.nodes import NodeTable
from apps.scheduler.framework.status import SKIP, Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Node, Pod
from apps.scheduler.plugins import names

NAME = names.NODE_DECLARED_FEATURES


class NodeDeclaredFeatures:
    name = NAME

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        return None, SKIP

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeTable) -> Verdicts | None:
        return None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        node = ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE
        return (
            ClusterEventWithHint(ClusterEvent(Resource.NODE, node), _hint_node_changed),
            ClusterEventWithHint(ClusterEvent(Resource.POD, ActionType.UPDATE), _hint_pod_updated),
        )


def _hint_node_changed(pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
    """A node is new, or declares other features."""
    changed = old is None or old.status.declared_features != new.status.declared_features
    return QueueingHint.QUEUE if changed else QueueingHint.QUEUE_SKIP


def _hint_pod_updated(pod: PodInfo, old: Pod, new: Pod) -> QueueingHint:
    """What a pod needs of a kubelet does not change while it waits."""
    return QueueingHint.QUEUE_SKIP
