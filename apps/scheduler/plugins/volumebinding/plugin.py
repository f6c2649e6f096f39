"""The extension points of VolumeBinding."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from apps.scheduler.config.errors import Problems
from apps.scheduler.config.fields import described
from apps.scheduler.config.resource_args import Shape, check_shape
from apps.scheduler.framework import intents
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import ClusterEventWithHint
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PreFilterResult, Verdicts
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns, Reads
from apps.scheduler.framework.status import SKIP, Status, StatusError, error, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects.meta import Int64
from apps.scheduler.plugins.helper.pod_signs import volumes_sign
from apps.scheduler.plugins.volumebinding import hints
from apps.scheduler.plugins.volumebinding.assumption import Assumption, assume
from apps.scheduler.plugins.volumebinding.binder import VolumeBinder
from apps.scheduler.plugins.volumebinding.pod_volume_claims import (
    PodClaims,
    pod_claims,
    unusable_claim,
)
from apps.scheduler.plugins.volumebinding.refusal_details import volumes_out_of_reach
from apps.scheduler.plugins.volumebinding.scoring import (
    DEFAULT_SHAPE,
    ClassStorage,
    describe_storage,
    score_storage,
    storage_by_class,
)

NAME: Final = "VolumeBinding"
STORAGE_CAPACITY_SCORING: Final = "StorageCapacityScoring"
REASON_IMMEDIATE: Final = "pod has unbound immediate PersistentVolumeClaims"
REASON_OUT_OF_REACH: Final = "node(s) didn't match PersistentVolume's node affinity"
REASON_NOTHING_TO_BIND: Final = "node(s) didn't find available persistent volumes to bind"
REASON_NO_SPACE: Final = "node(s) did not have enough free storage"
REASON_MISSING: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

_STATE: Final = NAME
_ASSUMPTION: Final = f"Reserve{NAME}"


def _statuses() -> list[Status | None]:
    """For ``3 * bound + delayed``, the outcomes of PodVolumes; reasons in upstream's order."""
    statuses = []
    for bound in ((), (REASON_OUT_OF_REACH,), (REASON_MISSING,)):
        for delayed in ((), (REASON_NOTHING_TO_BIND,), (REASON_NO_SPACE,)):
            first, last = (delayed, bound) if REASON_MISSING in bound else (bound, delayed)
            reasons = (*first, *last)
            statuses.append(unresolvable(*reasons) if reasons else None)
    return statuses


_STATUSES: Final = _statuses()


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeBindingArgs:
    bind_timeout_seconds: Int64 = described(
        600, "Seconds to wait until the volumes of a pod are bound; 0: do not wait."
    )
    shape: Shape | None = described(
        None,
        "Points of the score over the utilization of storage. Only with the feature gate "
        "StorageCapacityScoring.",
    )


class VolumeBinding:
    name = NAME
    is_idle_when_skipped = True
    sign_reads: Reads = "nodes"
    args_type = VolumeBindingArgs
    gated_args: ClassVar[Mapping[str, str]] = {"shape": STORAGE_CAPACITY_SCORING}

    def __init__(self, args: VolumeBindingArgs | None, handle: Handle) -> None:
        self._handle = handle
        self._binder = VolumeBinder(handle.listers)
        #: None: storage is not scored
        self._shape: Shape | None = None
        if handle.gates.enabled(STORAGE_CAPACITY_SCORING):
            self._shape = (args.shape if args is not None else None) or DEFAULT_SHAPE

    def sign(self, pod: PodInfo) -> Hashable | None:
        return None if pod.pod.spec.volumes else ()

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        return volumes_sign(pod)

    @staticmethod
    def check_args(args: VolumeBindingArgs, path: str, problems: Problems) -> None:
        if args.bind_timeout_seconds < 0:
            problems.invalid(
                f"{path}.bindTimeoutSeconds",
                args.bind_timeout_seconds,
                "invalid BindTimeoutSeconds, should not be a negative value",
            )
        if args.shape:
            check_shape(args.shape, f"{path}.shape", problems)

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[PreFilterResult | None, Status | None]:
        if not pod.claim_names:
            return None, SKIP
        unusable = unusable_claim(pod, self._handle.listers)
        if unusable:
            return None, unresolvable(unusable)
        claims = pod_claims(pod, self._handle.listers)
        if claims.immediate:
            return None, unresolvable(REASON_IMMEDIATE)
        state.write(_STATE, claims)
        return None, None

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        claims = state.find(_STATE, PodClaims)
        if claims is None:  # PreFilter is disabled; other plugins name the key here
            raise StatusError(error("not found"))
        volumes = self._binder.find_pod_volumes(claims, nodes)
        return Verdicts(3 * volumes.bound + volumes.delayed, _STATUSES)

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        node = nodes.info(0).node
        if node is None:
            return iter(())
        return volumes_out_of_reach(pod, node, self._handle.listers)

    def pre_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Status | None:
        """Skip without the feature gate StorageCapacityScoring."""
        return SKIP if self._shape is None else None

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        """Score nodes by the share of their storage that would be used; 0 without claims."""
        classes = self._storage(state, nodes.select(rows)) if len(rows) else {}
        return score_storage(list(classes.values()), self._shape or DEFAULT_SHAPE, len(rows))

    def _storage(self, state: CycleState, nodes: NodeColumns) -> dict[str, ClassStorage]:
        claims = state.find(_STATE, PodClaims)
        if claims is None:
            return {}
        volumes = self._binder.find_pod_volumes(claims, nodes, measures=True)
        return storage_by_class(volumes, len(nodes))

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        """The storage of each class that would be used."""
        volumes = self._binder.find_pod_volumes(
            pod_claims(pod, self._handle.listers), nodes, measures=True
        )
        return describe_storage(storage_by_class(volumes, 1), self._shape or DEFAULT_SHAPE)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Assume the volumes, so that following pods do not get them before they are written."""
        claims = state.find(_STATE, PodClaims)
        row = self._handle.snapshot.row_of(node_name)
        if claims is None or not claims.delayed or row < 0:
            return None
        node = self._handle.snapshot.select(np.array([row], dtype=np.int64))
        volumes = self._binder.find_pod_volumes(claims, node)
        assumption = assume(volumes, node_name, self._handle.listers)
        state.write(_ASSUMPTION, assumption)
        for volume in assumption.volumes:
            self._handle.listers.assumed_volumes.assume(volume)
        for claim in assumption.claims:
            self._handle.listers.assumed_claims.assume(claim)
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        assumption = state.find(_ASSUMPTION, Assumption) or Assumption()
        for volume in assumption.volumes:
            self._handle.listers.assumed_volumes.restore(volume)
        for claim in assumption.claims:
            self._handle.listers.assumed_claims.restore(claim)

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        assumption = state.find(_ASSUMPTION, Assumption)
        for patch in assumption.patches() if assumption is not None else ():
            intents.add(state, patch)
        return None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return hints.EVENTS
