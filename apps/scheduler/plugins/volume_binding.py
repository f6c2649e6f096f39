"""VolumeBinding: claims get volumes that the chosen node can reach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.scheduler.config.args import VolumeBindingArgs
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import ClusterEventWithHint
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PreFilterResult, Verdicts
from apps.scheduler.framework.nodes import Int64Array, NodeTable
from apps.scheduler.framework.status import SKIP, Status, error
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins import names
from apps.scheduler.plugins.volumebinding import hints

NAME = names.VOLUME_BINDING


class VolumeBinding:
    name = NAME

    def __init__(self, args: VolumeBindingArgs | None, handle: Handle) -> None:
        self._handle = handle

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        if not pod.claim_names:
            return None, SKIP
        return None, error("PersistentVolumeClaims are not supported yet")

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeTable) -> Verdicts | None:
        return None

    def pre_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeTable, lines: Int64Array
    ) -> Status | None:
        return SKIP

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeTable, lines: Int64Array
    ) -> Int64Array:
        return np.zeros(len(lines), dtype=np.int64)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        pass

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return hints.EVENTS
