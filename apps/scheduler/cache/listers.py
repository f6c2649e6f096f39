"""The other objects that plugins read: namespaces, services, volumes, disruption budgets …"""

from __future__ import annotations

from typing import Any

from apps.scheduler.cache.assume_cache import AssumeCache
from apps.scheduler.cache.device_claims import DeviceClaims
from apps.scheduler.cache.lister import Lister
from apps.scheduler.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    DeviceClass,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    PodGroup,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    ResourceClaim,
    ResourceSlice,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
)


class Listers:
    """One Lister per kind; event handlers find it with ``by_kind``."""

    def __init__(self) -> None:
        self.namespaces: Lister[Namespace] = Lister()
        self.services: Lister[Service] = Lister()
        self.replication_controllers: Lister[ReplicationController] = Lister()
        self.replica_sets: Lister[ReplicaSet] = Lister()
        self.stateful_sets: Lister[StatefulSet] = Lister()
        self.persistent_volumes: Lister[PersistentVolume] = Lister()
        self.persistent_volume_claims: Lister[PersistentVolumeClaim] = Lister()
        self.storage_classes: Lister[StorageClass] = Lister()
        self.csi_nodes: Lister[CSINode] = Lister()
        self.csi_drivers: Lister[CSIDriver] = Lister()
        self.csi_storage_capacities: Lister[CSIStorageCapacity] = Lister()
        self.volume_attachments: Lister[VolumeAttachment] = Lister()
        self.pod_disruption_budgets: Lister[PodDisruptionBudget] = Lister()
        self.priority_classes: Lister[PriorityClass] = Lister()
        self.pod_groups: Lister[PodGroup] = Lister()
        self.device_classes: Lister[DeviceClass] = Lister()
        self.resource_slices: Lister[ResourceSlice] = Lister()
        self.resource_claims: Lister[ResourceClaim] = Lister()
        #: claims for devices with their allocations in flight
        self.device_claims = DeviceClaims(self.resource_claims)
        #: volumes and claims with the changes decided for pods that are not bound yet
        self.assumed_volumes = AssumeCache(self.persistent_volumes)
        self.assumed_claims = AssumeCache(self.persistent_volume_claims)
        self.by_kind: dict[str, Lister[Any]] = {
            "Namespace": self.namespaces,
            "Service": self.services,
            "ReplicationController": self.replication_controllers,
            "ReplicaSet": self.replica_sets,
            "StatefulSet": self.stateful_sets,
            "PersistentVolume": self.persistent_volumes,
            "PersistentVolumeClaim": self.persistent_volume_claims,
            "StorageClass": self.storage_classes,
            "CSINode": self.csi_nodes,
            "CSIDriver": self.csi_drivers,
            "CSIStorageCapacity": self.csi_storage_capacities,
            "VolumeAttachment": self.volume_attachments,
            "PodDisruptionBudget": self.pod_disruption_budgets,
            "PriorityClass": self.priority_classes,
            "PodGroup": self.pod_groups,
            "DeviceClass": self.device_classes,
            "ResourceSlice": self.resource_slices,
            "ResourceClaim": self.resource_claims,
        }
