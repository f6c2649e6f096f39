"""Admission of pod groups (plugins PodGroupWorkloadExists and PodGroupProtection)."""

from __future__ import annotations

from apps.cluster.admission.draft import Body
from apps.cluster.admission.lookups import Lookups
from apps.cluster.admission.storage import add_protection_finalizer
from apps.cluster.errors import Forbidden, qualified

PROTECTION = "scheduling.k8s.io/podgroup-protection"

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
        plural = qualified("podgroups", "scheduling.k8s.io")
        raise Forbidden(f'{plural} "{metadata["name"]}" is forbidden: PodGroup rejected: {reason}')
