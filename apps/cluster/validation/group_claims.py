"""The ResourceClaims of PodGroups, and of their templates in Workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.validation.causes import Causes, not_found, too_many
from apps.cluster.validation.pod_claims import validate_resource_claims

Body = Mapping[str, Any]

_MOST: Final = 4


def validate_group_claims(claims: Sequence[Body] | None, path: str) -> Causes:
    """resourceClaims of a PodGroup or of a template."""
    if claims and len(claims) > _MOST:
        yield too_many(path, len(claims), _MOST)
    else:
        yield from validate_resource_claims(claims or (), path)


def validate_group_status(group: Body, old: Body) -> Causes:
    """An update of the status of a PodGroup: its claims are those of the spec."""
    known = {each.get("name") for each in (group.get("spec") or {}).get("resourceClaims") or ()}
    statuses = (group.get("status") or {}).get("resourceClaimStatuses") or ()
    for index, status in enumerate(statuses):
        if status.get("name") not in known:
            detail = "must be the name of an entry in `spec.resourceClaims`"
            yield not_found(
                f"status.resourceClaimStatuses[{index}].name", status.get("name"), detail
            )
