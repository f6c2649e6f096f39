"""VolumeCapacityPriority: nodes scored by the volumes that claims would get (1.21 to 1.32, alpha).

It was a part of VolumeBinding behind the feature gate of this name. Only volumes that exist count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from apps.scheduler.config.errors import Problems
from apps.scheduler.config.fields import described
from apps.scheduler.config.resource_args import Shape, UtilizationShapePoint, check_shape
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.status import SKIP, Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.volumebinding.binder import VolumeBinder
from apps.scheduler.plugins.volumebinding.matching import NO_VOLUME
from apps.scheduler.plugins.volumebinding.pod_volume_claims import pod_claims
from apps.scheduler.plugins.volumebinding.scoring import (
    ClassStorage,
    describe_storage,
    score_storage,
    storage_by_class,
)

NAME: Final = "VolumeCapacityPriority"
#: the better a volume is used, the better
_DEFAULT_SHAPE: Final[Shape] = (
    UtilizationShapePoint(utilization=0, score=0),
    UtilizationShapePoint(utilization=100, score=10),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeCapacityPriorityArgs:
    shape: Shape = described(_DEFAULT_SHAPE, "Points of the score over the use of volumes.")


class VolumeCapacityPriority:
    name = NAME
    is_legacy = True
    args_type = VolumeCapacityPriorityArgs

    def __init__(self, args: VolumeCapacityPriorityArgs | None, handle: Handle) -> None:
        self._shape = (args or VolumeCapacityPriorityArgs()).shape
        self._handle = handle
        self._binder = VolumeBinder(handle.listers)

    @staticmethod
    def check_args(args: VolumeCapacityPriorityArgs, path: str, problems: Problems) -> None:
        check_shape(args.shape, f"{path}.shape", problems)

    def pre_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Status | None:
        """Skip pods that would get no existing volume on any node."""
        claims = pod_claims(pod, self._handle.listers)
        if not claims.delayed:
            return SKIP
        volumes = self._binder.find_pod_volumes(claims, nodes.select(rows))
        has_volumes = any(np.any(pick.slots != NO_VOLUME) for pick in volumes.picks)
        return None if has_volumes else SKIP

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        classes = self._storage(pod, nodes.select(rows))
        return score_storage(list(classes.values()), self._shape, len(rows))

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        return describe_storage(self._storage(pod, nodes), self._shape)

    def _storage(self, pod: PodInfo, nodes: NodeColumns) -> dict[str, ClassStorage]:
        claims = pod_claims(pod, self._handle.listers)
        volumes = self._binder.find_pod_volumes(claims, nodes)
        return storage_by_class(volumes, len(nodes), provisioned=False)
