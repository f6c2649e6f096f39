"""Admission of pod groups (plugins PodGroupWorkloadExists and PodGroupProtection)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.admission.defaulting.pod_groups import DEFAULT_MODE
from apps.cluster.admission.draft import Body
from apps.cluster.admission.storage import add_protection_finalizer
from apps.cluster.errors import Forbidden, qualified
from apps.cluster.lookups import Lookups

_GROUP: Final = "scheduling.k8s.io"
PROTECTION = f"{_GROUP}/podgroup-protection"

_protect = add_protection_finalizer(PROTECTION)


def admit_pod_group(group: Body, lookups: Lookups) -> None:
    """Protect a new group; Forbidden if the template that it names does not exist."""
    _protect(group, lookups)
    reference = (group.get("spec") or {}).get("podGroupTemplateRef") or {}
    wanted = reference.get("workload") or {}
    if not wanted.get("workloadName"):
        return
    name, metadata = wanted["workloadName"], group["metadata"]
    workload = lookups.workload(metadata.get("namespace", ""), name)
    reason = ""
    if workload is None:
        reason = f'Workload "{name}" not found'
    elif workload["metadata"].get("deletionTimestamp"):
        reason = f'Workload "{name}" is being deleted'
    else:
        template = wanted.get("podGroupTemplateName", "")
        templates = (workload.get("spec") or {}).get("podGroupTemplates") or ()
        if all(each.get("name") != template for each in templates):
            reason = f'PodGroupTemplate "{template}" not found in Workload "{name}"'
    if reason:
        plural = qualified("podgroups", _GROUP)
        details = {"name": metadata["name"], "group": _GROUP, "kind": "podgroups"}
        refused = f'{plural} "{metadata["name"]}" is forbidden: PodGroup rejected: {reason}'
        raise Forbidden(refused, details=details)


def default_disruption_modes(draft: Body, old: Mapping[str, Any] | None) -> None:
    """Set the disruption mode of each template of a Workload that has none.

    One that was stored without a mode, before the feature gate was on, stays as it is: the spec
    cannot be changed.
    """
    stored = {each.get("name", ""): each for each in _templates(old or {})}
    for template in _templates(draft):
        if "disruptionMode" in stored.get(template.get("name", ""), {"disruptionMode": ""}):
            template.setdefault("disruptionMode", DEFAULT_MODE)


def _templates(workload: Mapping[str, Any]) -> Sequence[Body]:
    return (workload.get("spec") or {}).get("podGroupTemplates") or ()
