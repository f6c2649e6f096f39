"""What the page of an object shows that depends on its kind: relations, and what a deletion means.

A kind without an entry has the relations of its owners, and no consequences of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster, KubernetesObject
from apps.dashboard.queries import consequences, related
from apps.dashboard.queries.related import Relation


def _nothing(cluster: Cluster, stored: KubernetesObject) -> Iterator[Relation]:
    yield from ()


@dataclass(frozen=True, slots=True)
class _KindPage:
    """The objects that are related to one of a kind, and the sentences about its deletion."""

    relations: Callable[[Cluster, KubernetesObject], Iterator[Relation]] = _nothing
    consequences: Callable[[Cluster, KubernetesObject], list[str]] = consequences.of_others


_WORKLOAD: Final = _KindPage(related.selected_by, consequences.of_workload)
_PAGES: Final[Mapping[str, _KindPage]] = {
    "CSINode": _KindPage(related.of_its_node),
    "DaemonSet": _WORKLOAD,
    "Deployment": _KindPage(related.of_deployment, consequences.of_workload),
    "DeviceClass": _KindPage(related.of_device_class),
    "Job": _WORKLOAD,
    "Lease": _KindPage(related.of_its_node),
    "Namespace": _KindPage(related.of_namespace, consequences.of_namespace),
    "Node": _KindPage(consequences=consequences.of_node),
    "PersistentVolume": _KindPage(related.of_volume),
    "PersistentVolumeClaim": _KindPage(related.of_volume_claim, consequences.of_volume_claim),
    "Pod": _KindPage(consequences=consequences.of_pod),
    "PodDisruptionBudget": _KindPage(related.selected_by, consequences.of_budget),
    "PriorityClass": _KindPage(related.of_priority_class, consequences.of_priority_class),
    "ReplicaSet": _WORKLOAD,
    "ReplicationController": _WORKLOAD,
    "ResourceClaim": _KindPage(related.of_resource_claim),
    "ResourceSlice": _KindPage(related.of_resource_slice),
    "Service": _KindPage(related.selected_by),
    "StatefulSet": _WORKLOAD,
    "StorageClass": _KindPage(related.of_storage_class),
    "VolumeAttachment": _KindPage(related.of_attachment),
}
_OTHERS: Final = _KindPage()


def relations(cluster: Cluster, kind: Kind, stored: KubernetesObject) -> list[Relation]:
    """The relations of an object, without empty ones."""
    page = _PAGES.get(kind.key, _OTHERS)
    candidates = [related.owners_of(cluster, stored), *page.relations(cluster, stored)]
    return [relation for relation in candidates if relation.total]


def consequences_of(cluster: Cluster, kind: Kind, stored: KubernetesObject) -> list[str]:
    """The consequences of deleting this object, one sentence each."""
    return [
        *_PAGES.get(kind.key, _OTHERS).consequences(cluster, stored),
        "This cannot be undone. The deletion stays in the change log.",
    ]
