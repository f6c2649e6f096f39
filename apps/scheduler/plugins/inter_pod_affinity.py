"""InterPodAffinity: pods that want to be near some pods, or away from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.scheduler.config.args import InterPodAffinityArgs
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import ClusterEventWithHint
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PreFilterResult, Verdicts
from apps.scheduler.framework.nodes import Int64Array, NodeTable
from apps.scheduler.framework.status import SKIP, Status, error
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins import names
from apps.scheduler.plugins.interpodaffinity import hints

NAME = names.INTER_POD_AFFINITY


class InterPodAffinity:
    name = NAME

    def __init__(self, args: InterPodAffinityArgs | None, handle: Handle) -> None:
        self._handle = handle

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        if not pod.has_pod_affinity and not len(self._handle.snapshot.pods_by_term):
            return None, SKIP
        return None, error("inter-pod affinity terms are not supported yet")

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
        return hints.EVENTS
