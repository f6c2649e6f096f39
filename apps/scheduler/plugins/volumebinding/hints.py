"""Which events trigger a retry of a pod that VolumeBinding rejected."""

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
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from apps.scheduler.plugins.helper.csi_migration import MIGRATED_PLUGINS
from apps.scheduler.plugins.volumebinding.provisioning import volume_limit

_ADD_OR_UPDATE: Final = ActionType.ADD | ActionType.UPDATE


def _hint(helps: bool) -> QueueingHint:
    return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP


def hint_storage_class_changed(
    pod: PodInfo, old: StorageClass | None, new: StorageClass
) -> QueueingHint:
    """The class is new, or its allowed topologies changed; the binding mode is immutable."""
    return _hint(old is None or old.allowed_topologies != new.allowed_topologies)


def hint_claim_changed(
    pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> QueueingHint:
    """One of the pod's claims was created or updated."""
    own = new.metadata.namespace == pod.namespace and new.metadata.name in pod.claim_names
    return _hint(own)


def hint_csi_node_changed(pod: PodInfo, old: CSINode | None, new: CSINode) -> QueueingHint:
    """The CSINode is new, or its list of migrated plugins changed."""
    if old is None:
        return QueueingHint.QUEUE
    before, now = old.metadata.annotations, new.metadata.annotations
    return _hint(before.get(MIGRATED_PLUGINS) != now.get(MIGRATED_PLUGINS))


def hint_csi_driver_changed(pod: PodInfo, old: CSIDriver, new: CSIDriver) -> QueueingHint:
    """A driver of the pod's inline volumes no longer requires capacity tracking."""
    uses = any(
        volume.csi is not None and volume.csi.driver == new.metadata.name
        for volume in pod.pod.spec.volumes
    )
    return _hint(uses and old.spec.storage_capacity and not new.spec.storage_capacity)


def hint_capacity_changed(
    pod: PodInfo, old: CSIStorageCapacity | None, new: CSIStorageCapacity
) -> QueueingHint:
    """Larger volumes can be provisioned than before."""
    before, now = None if old is None else volume_limit(old), volume_limit(new)
    return _hint(old is None or (now is not None and (before is None or now > before)))


EVENTS: Final = (
    ClusterEventWithHint(
        ClusterEvent(Resource.STORAGE_CLASS, _ADD_OR_UPDATE), hint_storage_class_changed
    ),
    ClusterEventWithHint(
        ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, _ADD_OR_UPDATE), hint_claim_changed
    ),
    # Only the binder can determine to which claims a volume may be bound.
    ClusterEventWithHint(ClusterEvent(Resource.PERSISTENT_VOLUME, _ADD_OR_UPDATE)),
    ClusterEventWithHint(
        ClusterEvent(Resource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
    ),
    ClusterEventWithHint(ClusterEvent(Resource.CSI_NODE, _ADD_OR_UPDATE), hint_csi_node_changed),
    ClusterEventWithHint(
        ClusterEvent(Resource.CSI_DRIVER, ActionType.UPDATE), hint_csi_driver_changed
    ),
    ClusterEventWithHint(
        ClusterEvent(Resource.CSI_STORAGE_CAPACITY, _ADD_OR_UPDATE), hint_capacity_changed
    ),
)
