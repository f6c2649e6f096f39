"""PodTopologySpread: pods of one kind spread evenly over zones, hosts or any other domain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.scheduler.config.args import PodTopologySpreadArgs
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import ClusterEventWithHint
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PreFilterResult, Verdicts
from apps.scheduler.framework.nodes import Int64Array, NodeTable
from apps.scheduler.framework.status import SKIP, Status, error
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins import names
from apps.scheduler.plugins.podtopologyspread.constraints import SpreadConstraint, hard_constraints
from apps.scheduler.plugins.podtopologyspread.hints import SpreadHints

NAME = names.POD_TOPOLOGY_SPREAD


class PodTopologySpread:
    name = NAME

    def __init__(self, args: PodTopologySpreadArgs | None, handle: Handle) -> None:
        self._handle = handle

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        if not pod.pod.spec.topology_spread_constraints:
            return None, SKIP
        return None, error("topology spread constraints are not supported yet")

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

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return SpreadHints(self._hard_constraints).events()

    def _hard_constraints(self, pod: PodInfo) -> Sequence[SpreadConstraint]:
        return hard_constraints(pod, pod.pod.spec.topology_spread_constraints)
