"""Fields that the API server drops from objects while their feature gate is off."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final

from apps.cluster.admission.draft import Body
from apps.cluster.validation.gates import (
    GROUP_FIELDS,
    GROUP_PREEMPTION,
    NODE_RESOURCES,
    TOPOLOGY_OF_GROUPS,
    WORKLOAD_CLAIMS,
    gates_in_force,
)


def drop_gated_fields(
    kind: str, draft: Body, old: Mapping[str, Any] | None, enabled: Collection[str]
) -> None:
    """Drop the fields of gates that are off, unless `old`, the stored object, has them."""
    for gate, drop in _RULES.get(kind, ()):
        if gate not in enabled and gate not in gates_in_force(enabled, old):
            drop(draft)


def _drop_mappings(resource_slice: Body) -> None:
    for device in (resource_slice.get("spec") or {}).get("devices") or ():
        device.pop("nodeAllocatableResourceMappings", None)


def _drop_claim_statuses(pod: Body) -> None:
    (pod.get("status") or {}).pop("nodeAllocatableResourceClaimStatuses", None)


def _drop_of_group(gate: str, group: Body) -> None:
    spec = group.get("spec") or {}
    for field in GROUP_FIELDS[gate]:
        spec.pop(field, None)
    if gate == WORKLOAD_CLAIMS:
        (group.get("status") or {}).pop("resourceClaimStatuses", None)


def _drop_of_templates(gate: str, workload: Body) -> None:
    for template in (workload.get("spec") or {}).get("podGroupTemplates") or ():
        for field in GROUP_FIELDS[gate]:
            template.pop(field, None)


_OF_GROUPS: Final = (TOPOLOGY_OF_GROUPS, GROUP_PREEMPTION, WORKLOAD_CLAIMS)
#: kind -> the gates, and what drops the fields that each permits
_RULES: Final[Mapping[str, tuple[tuple[str, Callable[[Body], None]], ...]]] = {
    "Pod": ((NODE_RESOURCES, _drop_claim_statuses),),
    "ResourceSlice": ((NODE_RESOURCES, _drop_mappings),),
    "PodGroup": tuple((gate, partial(_drop_of_group, gate)) for gate in _OF_GROUPS),
    "Workload": tuple((gate, partial(_drop_of_templates, gate)) for gate in _OF_GROUPS),
}
