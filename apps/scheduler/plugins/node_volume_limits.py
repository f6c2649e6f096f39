"""NodeVolumeLimits: how many volumes of a CSI driver a node can attach."""

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
from apps.scheduler.framework.status import SKIP, Status, error
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import PersistentVolumeClaim, Pod, Volume
from apps.scheduler.plugins import names

NAME = names.NODE_VOLUME_LIMITS


class NodeVolumeLimits:
    name = NAME

    def __init__(self, args: None, handle: Handle) -> None:
        self._handle = handle

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeTable
    ) -> tuple[PreFilterResult | None, Status | None]:
        if all(volume.image is not None for volume in pod.pod.spec.volumes):
            return None, SKIP
        return None, error("volumes are not supported yet")

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeTable) -> Verdicts | None:
        return None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        csi_node = ClusterEvent(Resource.CSI_NODE, ActionType.ADD | ActionType.UPDATE)
        deleted = ClusterEvent(Resource.POD, ActionType.DELETE)
        claim = ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD)
        detached = ClusterEvent(Resource.VOLUME_ATTACHMENT, ActionType.DELETE)
        return (
            ClusterEventWithHint(csi_node),
            ClusterEventWithHint(deleted, _hint_pod_deleted),
            ClusterEventWithHint(claim, _hint_claim_added),
            ClusterEventWithHint(detached),
        )


def _hint_pod_deleted(pod: PodInfo, old: Pod, new: Pod | None) -> QueueingHint:
    """A running pod with a volume that may count against a driver's limit is gone."""
    helps = bool(old.spec.node_name) and any(map(may_be_attached, old.spec.volumes))
    return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP


def _hint_claim_added(
    pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> QueueingHint:
    """One of the pod's claims, without which its driver is unknown, was made."""
    own = new.metadata.namespace == pod.namespace and new.metadata.name in pod.claim_names
    return QueueingHint.QUEUE if own else QueueingHint.QUEUE_SKIP


def may_be_attached(volume: Volume) -> bool:
    """Whether a CSI driver serves the volume, by a claim or in place of an in-tree source."""
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or is_migratable(volume)
    )


def is_migratable(volume: Volume) -> bool:
    """Whether the in-tree source has a CSI driver that stands in for it."""
    return any(
        source is not None
        for source in (
            volume.gce_persistent_disk,
            volume.aws_elastic_block_store,
            volume.azure_disk,
            volume.azure_file,
            volume.cinder,
            volume.vsphere_volume,
            volume.portworx_volume,
        )
    )
