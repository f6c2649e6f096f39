"""Which events trigger a retry of a pod that NodeVolumeLimits rejected."""

from __future__ import annotations

from typing import Final

from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import (
    CSINode,
    PersistentVolumeClaim,
    Pod,
    Volume,
    VolumeAttachment,
)
from apps.scheduler.plugins.helper.csi_migration import plugin_of_mount


def _hint(helps: bool) -> QueueingHint:
    return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP


def hint_csi_node_changed(pod: PodInfo, old: CSINode, new: CSINode) -> QueueingHint:
    """The node can attach more volumes of some driver than before."""
    before, now = _limits(old), _limits(new)
    return _hint(any(limit > before.get(driver, 0) for driver, limit in now.items()))


def hint_pod_deleted(pod: PodInfo, old: Pod, new: Pod | None) -> QueueingHint:
    """A running pod with a volume that may count against a driver's limit was deleted."""
    return _hint(bool(old.spec.node_name) and any(map(may_be_attached, old.spec.volumes)))


def hint_claim_added(
    pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> QueueingHint:
    """One of the pod's claims, without which its driver is unknown, was created."""
    own = new.metadata.namespace == pod.namespace and new.metadata.name in pod.claim_names
    return _hint(own)


def hint_volume_detached(
    pod: PodInfo, old: VolumeAttachment, new: VolumeAttachment | None
) -> QueueingHint:
    """A volume was detached, perhaps one of a driver that the pod needs."""
    if pod.claim_names:
        return QueueingHint.QUEUE
    plugins = map(plugin_of_mount, pod.mounts)
    return _hint(any(plugin and plugin.driver == old.spec.attacher for plugin in plugins))


def may_be_attached(volume: Volume) -> bool:
    """Whether a CSI driver serves the volume, through a claim or in place of an in-tree source."""
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or is_migratable(volume)
    )


def is_migratable(volume: Volume) -> bool:
    """Whether the in-tree source can be migrated to a CSI driver."""
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


def _limits(csi_node: CSINode) -> dict[str, int]:
    """Driver -> its limit, 0 if none is given."""
    return {
        entry.name: (entry.allocatable.count or 0) if entry.allocatable is not None else 0
        for entry in csi_node.spec.drivers
    }


EVENTS: Final = (
    ClusterEventWithHint(ClusterEvent(Resource.CSI_NODE, ActionType.ADD)),
    ClusterEventWithHint(ClusterEvent(Resource.CSI_NODE, ActionType.UPDATE), hint_csi_node_changed),
    ClusterEventWithHint(
        ClusterEvent(Resource.POD, ActionType.DELETE),
        hint_pod_deleted,
        looks_for="whose volumes count against a driver's limit",
    ),
    ClusterEventWithHint(
        ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD), hint_claim_added
    ),
    ClusterEventWithHint(
        ClusterEvent(Resource.VOLUME_ATTACHMENT, ActionType.DELETE), hint_volume_detached
    ),
)

#: Where nodes without a driver are rejected, a new driver helps, too.
EVENTS_WITH_DRIVERS: Final = (
    ClusterEventWithHint(ClusterEvent(Resource.CSI_NODE, ActionType.ADD | ActionType.UPDATE)),
    ClusterEventWithHint(ClusterEvent(Resource.CSI_DRIVER, ActionType.ADD | ActionType.UPDATE)),
    *(each for each in EVENTS if each.event.resource != Resource.CSI_NODE),
)
