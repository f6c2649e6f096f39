"""Admission of pod groups (plugins PodGroupWorkloadExists and PodGroupProtection)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from apps.cluster.admission.draft import Body
from apps.cluster.admission.storage import add_protection_finalizer
from apps.cluster.errors import Forbidden, qualified
from apps.cluster.lookups import Lookups

PROTECTION = "scheduling.k8s.io/podgroup-protection"
_DEFAULT_MODE: Final = "Pod"

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


def default_disruption_modes(kind: str, draft: Body, old: Mapping[str, Any] | None) -> None:
    """Set the disruption mode of a PodGroup, or of each template of a Workload, that has none.

    One that was stored without a mode, before the feature gate was on, stays as it is: the spec
    cannot be changed.
    """
    stored = dict(_with_modes(kind, old)) if old is not None else {}
    for name, spec in _with_modes(kind, draft):
        if "disruptionMode" in stored.get(name, {"disruptionMode": ""}):
            spec.setdefault("disruptionMode", _DEFAULT_MODE)


def _with_modes(kind: str, body: Mapping[str, Any]) -> Iterator[tuple[str, Body]]:
    """What has a disruption mode, by the name of its template."""
    spec = body.get("spec")
    if kind == "PodGroup" and spec is not None:
        yield "", spec
    elif kind == "Workload" and spec is not None:
        for template in spec.get("podGroupTemplates") or ():
            yield template.get("name", ""), template
