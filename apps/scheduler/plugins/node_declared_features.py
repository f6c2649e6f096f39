"""NodeDeclaredFeatures: pods that need a feature of the kubelet go where it is declared."""

from __future__ import annotations

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PreFilterResult, Verdicts
from apps.scheduler.framework.nodes import NodeTable
from apps.scheduler.framework.status import SKIP, Status
from apps.scheduler.framework.types import PodInfo
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
