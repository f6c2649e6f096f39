"""The other objects that plugins read: namespaces, services, volumes, disruption budgets …"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from apps.scheduler.cache.assume_cache import AssumeCache
from apps.scheduler.cache.change_log import ChangeLog
from apps.scheduler.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    KubeObject,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
)

T = TypeVar("T", bound=KubeObject)


class Lister(Generic[T]):
    """The objects of one kind by key: ``namespace/name``, or the name if cluster-scoped."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, T]] = {}
        #: (namespace, name) of every object that was put or removed
        self.log: ChangeLog[tuple[str, str]] = ChangeLog()

    @property
    def version(self) -> int:
        """Counts every change; what is computed from the list is valid while it stays the same."""
        return self.log.position

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._objects.get(namespace, {}).get(name)

    def in_namespace(self, namespace: str) -> Iterator[T]:
        return iter(self._objects.get(namespace, {}).values())

    def __iter__(self) -> Iterator[T]:
        for objects in self._objects.values():
            yield from objects.values()

    def __len__(self) -> int:
        return sum(map(len, self._objects.values()))

    def put(self, item: T) -> None:
        meta = item.metadata
        self._objects.setdefault(meta.namespace, {})[meta.name] = item
        self.log.append((meta.namespace, meta.name))

    def remove(self, item: T) -> None:
        meta = item.metadata
        objects = self._objects.get(meta.namespace, {})
        if objects.pop(meta.name, None) is not None:
            self.log.append((meta.namespace, meta.name))
        if not objects:
            self._objects.pop(meta.namespace, None)


class Listers:
    """One Lister per kind; ``by_kind`` is how change events find theirs."""

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
        #: volumes and claims with what was decided for pods that are not bound yet
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
        }
