"""Validation: the invalid fields of an object, in the words of Kubernetes 1.36.

`validate` is the one entry. It expects bodies that went through `apps.cluster.admission.admit`, so
that every field has its type and its default, and reads nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from apps.cel.effort import Effort
from apps.cluster.errors import Cause
from apps.cluster.validation import data
from apps.cluster.validation.batch import validate_job, validate_job_update
from apps.cluster.validation.causes import Causes
from apps.cluster.validation.claims import validate_claim, validate_claim_update
from apps.cluster.validation.gates import use_gates
from apps.cluster.validation.metadata import validate_metadata, validate_metadata_update
from apps.cluster.validation.nodes import validate_node, validate_node_update
from apps.cluster.validation.pod_updates import (
    validate_ephemeral_containers,
    validate_pod_resize,
    validate_pod_update,
)
from apps.cluster.validation.pods import validate_new_pod
from apps.cluster.validation.quotas import (
    validate_resource_quota,
    validate_resource_quota_update,
)
from apps.cluster.validation.records import validate_event, validate_lease
from apps.cluster.validation.scheduling import (
    validate_priority_class,
    validate_priority_class_update,
    validate_runtime_class,
    validate_runtime_class_update,
)
from apps.cluster.validation.services import validate_service, validate_service_update
from apps.cluster.validation.statuses import validate_status
from apps.cluster.validation.storage import (
    validate_csi_node,
    validate_csi_node_update,
    validate_csi_storage_capacity,
    validate_csi_storage_capacity_update,
    validate_persistent_volume,
    validate_persistent_volume_update,
    validate_storage_class,
    validate_storage_class_update,
    validate_volume_attachment,
    validate_volume_attachment_update,
)
from apps.cluster.validation.workloads import (
    validate_daemon_set,
    validate_deployment,
    validate_disruption_budget,
    validate_replica_set,
    validate_replication_controller,
    validate_selector_update,
    validate_stateful_set,
    validate_stateful_set_update,
)

__all__ = ["validate"]

Body = Mapping[str, Any]


def validate(
    kind: str,
    body: Body,
    old: Body | None = None,
    *,
    subresource: str = "",
    gates: Collection[str] = (),
) -> list[Cause]:
    """The invalid fields of a new object, or of an update of `old`; empty if it is valid.

    `gates` are the feature gates of `API_GATES` that are on.
    """
    with use_gates(gates, old), Effort().shared():
        return _find_causes(kind, body, old, subresource)


def _find_causes(kind: str, body: Body, old: Body | None, subresource: str) -> list[Cause]:
    if old is None:
        causes = list(validate_metadata(kind, body["metadata"]))
        for rules in (_NEW, data.CREATED):
            rule = rules.get(kind)
            causes += rule(body) if rule is not None else ()
        return causes
    causes = list(validate_metadata(kind, body["metadata"]))
    # The API server checks this for all kinds, and then again for each of them.
    causes += 2 * list(validate_metadata_update(body["metadata"], old["metadata"]))
    if subresource == "status":
        return [*causes, *validate_status(kind, body, old)]
    if kind == "Pod":
        change = _POD_PARTS.get(subresource, validate_pod_update)
        return [*causes, *change(body, old)]
    rule, update = _NEW.get(kind), _UPDATES.get(kind)
    if rule is not None and kind not in _COMPARED_ONLY:
        causes += rule(body)
    if update is not None:
        causes += update(body, old)
    return causes


_NEW: Final[dict[str, Callable[[Body], Causes]]] = {
    **data.NEW,
    "Pod": validate_new_pod,
    "Node": validate_node,
    "PriorityClass": validate_priority_class,
    "RuntimeClass": validate_runtime_class,
    "ResourceQuota": validate_resource_quota,
    "PersistentVolume": validate_persistent_volume,
    "PersistentVolumeClaim": validate_claim,
    "StorageClass": validate_storage_class,
    "CSINode": validate_csi_node,
    "CSIStorageCapacity": validate_csi_storage_capacity,
    "VolumeAttachment": validate_volume_attachment,
    "Service": validate_service,
    "ReplicationController": validate_replication_controller,
    "ReplicaSet": validate_replica_set,
    "StatefulSet": validate_stateful_set,
    "Deployment": validate_deployment,
    "DaemonSet": validate_daemon_set,
    "Job": validate_job,
    "PodDisruptionBudget": validate_disruption_budget,
    "Event": validate_event,
    "Lease": validate_lease,
}
_POD_PARTS: Final[dict[str, Callable[[Body, Body], Causes]]] = {
    "ephemeralcontainers": validate_ephemeral_containers,
    "resize": validate_pod_resize,
}
#: Kinds of which an update is compared with the old object, but not validated as a new one.
_COMPARED_ONLY: Final = frozenset(
    {"DeviceClass", "PriorityClass", "ResourceClaim", "ResourceClaimTemplate", "RuntimeClass"}
)
_UPDATES: Final[dict[str, Callable[[Body, Body], Causes]]] = {
    **data.UPDATES,
    "Node": validate_node_update,
    "PriorityClass": validate_priority_class_update,
    "RuntimeClass": validate_runtime_class_update,
    "ResourceQuota": validate_resource_quota_update,
    "PersistentVolume": validate_persistent_volume_update,
    "PersistentVolumeClaim": validate_claim_update,
    "StorageClass": validate_storage_class_update,
    "CSINode": validate_csi_node_update,
    "CSIStorageCapacity": validate_csi_storage_capacity_update,
    "VolumeAttachment": validate_volume_attachment_update,
    "ReplicaSet": validate_selector_update,
    "StatefulSet": validate_stateful_set_update,
    "Deployment": validate_selector_update,
    "DaemonSet": validate_selector_update,
    "Job": validate_job_update,
    "Service": validate_service_update,
}
