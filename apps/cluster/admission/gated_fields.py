"""Fields that the API server drops from objects while their feature gate is off."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, Final

from apps.cluster.admission.defaulting.pod_groups import default_pod_group, default_workload
from apps.cluster.admission.draft import Body
from apps.cluster.kind import Kind
from apps.cluster.validation.gates import (
    GROUP_FIELDS,
    GROUP_PREEMPTION,
    TOPOLOGY_OF_GROUPS,
    WORKLOAD_CLAIMS,
    gates_in_force,
)


def drop_gated_fields(
    kind: Kind, draft: Body, old: Mapping[str, Any] | None, enabled: Collection[str]
) -> None:
    """Drop the fields of gates that are off, unless `old`, the stored object, has them."""
    for gate, drop in kind.gated_fields:
        if gate not in enabled and gate not in gates_in_force(enabled, old):
            drop(draft)


def drop_mappings(resource_slice: Body) -> None:
    for device in (resource_slice.get("spec") or {}).get("devices") or ():
        device.pop("nodeAllocatableResourceMappings", None)


def drop_claim_statuses(pod: Body) -> None:
    (pod.get("status") or {}).pop("nodeAllocatableResourceClaimStatuses", None)


def _drop_of_group(gate: str, group: Body) -> None:
    spec = group.get("spec") or {}
    for field in GROUP_FIELDS[gate]:
        spec.pop(field, None)
    if gate == WORKLOAD_CLAIMS:
        (group.get("status") or {}).pop("resourceClaimStatuses", None)
    default_pod_group(group)


def _drop_of_templates(gate: str, workload: Body) -> None:
    for template in (workload.get("spec") or {}).get("podGroupTemplates") or ():
        for field in GROUP_FIELDS[gate]:
            template.pop(field, None)
    default_workload(workload)


_GATES_OF_GROUPS: Final = (TOPOLOGY_OF_GROUPS, GROUP_PREEMPTION, WORKLOAD_CLAIMS)
FIELDS_OF_GROUPS: Final = tuple((gate, partial(_drop_of_group, gate)) for gate in _GATES_OF_GROUPS)
FIELDS_OF_TEMPLATES: Final = tuple(
    (gate, partial(_drop_of_templates, gate)) for gate in _GATES_OF_GROUPS
)
