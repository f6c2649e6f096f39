"""Fields that the API server drops from objects while their feature gate is off."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final

from apps.cluster.admission.draft import Body
from apps.cluster.validation.gates import (
    GROUP_FIELDS,
    GROUP_PREEMPTION,
    TOPOLOGY_OF_GROUPS,
    gates_in_force,
)


def drop_gated_fields(
    kind: str, draft: Body, old: Mapping[str, Any] | None, enabled: Collection[str]
) -> None:
    """Drop the fields of gates that are off, unless `old`, the stored object, has them."""
    for gate, drop in _RULES.get(kind, ()):
        if gate not in enabled and gate not in gates_in_force(enabled, old):
            drop(draft)


def _drop_of_group(gate: str, group: Body) -> None:
    spec = group.get("spec") or {}
    for field in GROUP_FIELDS[gate]:
        spec.pop(field, None)


def _drop_of_templates(gate: str, workload: Body) -> None:
    for template in (workload.get("spec") or {}).get("podGroupTemplates") or ():
        for field in GROUP_FIELDS[gate]:
            template.pop(field, None)


_OF_GROUPS: Final = (TOPOLOGY_OF_GROUPS, GROUP_PREEMPTION)
#: kind -> the gates, and what drops the fields that each permits
_RULES: Final[Mapping[str, tuple[tuple[str, Callable[[Body], None]], ...]]] = {
    "PodGroup": tuple((gate, partial(_drop_of_group, gate)) for gate in _OF_GROUPS),
    "Workload": tuple((gate, partial(_drop_of_templates, gate)) for gate in _OF_GROUPS),
}
