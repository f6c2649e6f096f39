"""VolumeRestrictions: volumes that only one pod, or one node, may use."""

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

NAME = names.VOLUME_RESTRICTIONS


class VolumeRestrictions:
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
        deleted = ClusterEvent(Resource.POD, ActionType.DELETE)
        claim = ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD)
        return (
            ClusterEventWithHint(deleted, _hint_pod_deleted),
            ClusterEventWithHint(ClusterEvent(Resource.NODE, ActionType.ADD)),
            ClusterEventWithHint(claim, _hint_claim_added),
        )


def _hint_pod_deleted(pod: PodInfo, old: Pod, new: Pod | None) -> QueueingHint:
    """A pod of the namespace no longer uses a disk or a claim that this pod wants."""
    if old.metadata.namespace != pod.namespace:
        return QueueingHint.QUEUE_SKIP
    volumes = pod.pod.spec.volumes
    disks = any(conflicts(mine, theirs) for mine in volumes for theirs in old.spec.volumes)
    claims = _claims_by_name(volumes) & _claims_by_name(old.spec.volumes)
    return QueueingHint.QUEUE if disks or claims else QueueingHint.QUEUE_SKIP


def _hint_claim_added(
    pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> QueueingHint:
    """The pod's claim exists now, so that its access mode is known."""
    own = new.metadata.namespace == pod.namespace
    named = new.metadata.name in _claims_by_name(pod.pod.spec.volumes)
    return QueueingHint.QUEUE if own and named else QueueingHint.QUEUE_SKIP


def conflicts(volume: Volume, other: Volume) -> bool:
    """Whether both name one disk that cannot be mounted twice, or not so.

    An EBS volume never; a GCE disk, an iSCSI volume and an RBD image only if all read.
    """
    if volume.gce_persistent_disk and other.gce_persistent_disk:
        disk, taken = volume.gce_persistent_disk, other.gce_persistent_disk
        if disk.pd_name == taken.pd_name and not (disk.read_only and taken.read_only):
            return True
    if volume.aws_elastic_block_store and other.aws_elastic_block_store:
        ebs, taken_ebs = volume.aws_elastic_block_store, other.aws_elastic_block_store
        if ebs.volume_id == taken_ebs.volume_id:
            return True
    if volume.iscsi and other.iscsi:
        read_only = volume.iscsi.read_only and other.iscsi.read_only
        if volume.iscsi.iqn == other.iscsi.iqn and not read_only:
            return True
    if volume.rbd and other.rbd:
        image, taken_image = volume.rbd, other.rbd
        shared = set(image.monitors) & set(taken_image.monitors)
        same = (image.pool, image.image) == (taken_image.pool, taken_image.image)
        return bool(shared) and same and not (image.read_only and taken_image.read_only)
    return False


def _claims_by_name(volumes: Sequence[Volume]) -> set[str]:
    """The claims that volumes name, ephemeral ones not included."""
    sources = (volume.persistent_volume_claim for volume in volumes)
    return {source.claim_name for source in sources if source is not None}
