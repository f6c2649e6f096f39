"""Fields that the API server drops from objects while their feature gate is off."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from apps.cluster.admission.draft import Body
from apps.cluster.validation.gates import NODE_RESOURCES, WORKLOAD_CLAIMS, gates_in_force


def drop_gated_fields(
    kind: str, draft: Body, old: Mapping[str, Any] | None, enabled: Collection[str]
) -> None:
    """Drop the fields of gates that are off, unless `old`, the stored object, has them."""
    rule = _RULES.get(kind)
    if rule is not None and rule[0] not in enabled:
        gate, drop = rule
        if gate not in gates_in_force(enabled, old):
            drop(draft)


def _drop_mappings(resource_slice: Body) -> None:
    for device in (resource_slice.get("spec") or {}).get("devices") or ():
        device.pop("nodeAllocatableResourceMappings", None)


def _drop_claim_statuses(pod: Body) -> None:
    (pod.get("status") or {}).pop("nodeAllocatableResourceClaimStatuses", None)


def _drop_group_claims(group: Body) -> None:
    (group.get("spec") or {}).pop("resourceClaims", None)
    (group.get("status") or {}).pop("resourceClaimStatuses", None)


def _drop_template_claims(workload: Body) -> None:
    for template in (workload.get("spec") or {}).get("podGroupTemplates") or ():
        template.pop("resourceClaims", None)


#: kind -> the gate, and what it permits
_RULES: Final[Mapping[str, tuple[str, Callable[[Body], None]]]] = {
    "Pod": (NODE_RESOURCES, _drop_claim_statuses),
    "ResourceSlice": (NODE_RESOURCES, _drop_mappings),
    "PodGroup": (WORKLOAD_CLAIMS, _drop_group_claims),
    "Workload": (WORKLOAD_CLAIMS, _drop_template_claims),
}
