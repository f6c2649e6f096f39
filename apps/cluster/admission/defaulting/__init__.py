"""Defaults: every field the API server fills in, kind by kind.

Each function changes the draft in place, and does not change a draft that has its defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from apps.cluster.admission.defaulting.cluster import (
    default_csi_driver,
    default_csi_storage_capacity,
    default_event,
    default_lease,
    default_namespace,
    default_node,
    default_priority_class,
    default_resource_quota,
    default_runtime_class,
)
from apps.cluster.admission.defaulting.data import DEFAULTERS
from apps.cluster.admission.defaulting.pods import default_pod
from apps.cluster.admission.defaulting.services import default_service
from apps.cluster.admission.defaulting.storage import (
    default_persistent_volume,
    default_persistent_volume_claim,
    default_storage_class,
)
from apps.cluster.admission.defaulting.workloads import (
    default_daemon_set,
    default_deployment,
    default_job,
    default_pod_disruption_budget,
    default_replica_set,
    default_replication_controller,
    default_stateful_set,
)
from apps.cluster.admission.draft import Body, drop_empty

__all__ = ["default_metadata", "set_defaults"]

_DEFAULTERS: Final[dict[str, Callable[[Body], None]]] = {
    **DEFAULTERS,
    "Pod": default_pod,
    "Node": default_node,
    "Namespace": default_namespace,
    "PriorityClass": default_priority_class,
    "RuntimeClass": default_runtime_class,
    "Lease": default_lease,
    "Event": default_event,
    "CSIDriver": default_csi_driver,
    "CSIStorageCapacity": default_csi_storage_capacity,
    "PersistentVolume": default_persistent_volume,
    "PersistentVolumeClaim": default_persistent_volume_claim,
    "ResourceQuota": default_resource_quota,
    "StorageClass": default_storage_class,
    "Service": default_service,
    "ReplicationController": default_replication_controller,
    "ReplicaSet": default_replica_set,
    "StatefulSet": default_stateful_set,
    "Deployment": default_deployment,
    "DaemonSet": default_daemon_set,
    "Job": default_job,
    "PodDisruptionBudget": default_pod_disruption_budget,
}


def set_defaults(kind: str, draft: Body) -> None:
    """Set the defaults of an object of `kind`."""
    default_metadata(draft["metadata"])
    default = _DEFAULTERS.get(kind)
    if default is not None:
        default(draft)


def default_metadata(metadata: Body) -> None:
    """The same for the metadata of any kind."""
    drop_empty(
        metadata,
        "generateName",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    )
