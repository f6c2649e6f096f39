"""Constraints, disruption mode and priority of PodGroups and of their templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    invalid,
    not_supported,
    required,
    too_many,
)

_MAX_CONSTRAINTS: Final = 1
_MODES: Final = ("Pod", "PodGroup")
_HIGHEST_PRIORITY: Final = 1_000_000_000


def validate_group_fields(spec: Mapping[str, Any], path: str) -> Causes:
    """The fields that feature gates permit; `spec` is that of a group, or a template."""
    yield from _topology(spec.get("schedulingConstraints") or {}, f"{path}.schedulingConstraints")
    mode = spec.get("disruptionMode")
    if mode is not None and mode not in _MODES:
        yield not_supported(f"{path}.disruptionMode", mode, _MODES)
    name = spec.get("priorityClassName")
    if name:
        yield from all_invalid(f"{path}.priorityClassName", name, names.dns_subdomain(name))
    priority = spec.get("priority")
    if priority is not None and priority > _HIGHEST_PRIORITY:
        detail = f"must be less than or equal to {_HIGHEST_PRIORITY}"
        yield invalid(f"{path}.priority", priority, detail)


def _topology(constraints: Mapping[str, Any], path: str) -> Causes:
    topology = constraints.get("topology") or ()
    if len(topology) > _MAX_CONSTRAINTS:
        yield too_many(f"{path}.topology", len(topology), _MAX_CONSTRAINTS)
    for index, constraint in enumerate(topology):
        key = constraint.get("key", "")
        field = f"{path}.topology[{index}].key"
        if not key:
            yield required(field)
        else:
            yield from all_invalid(field, key, names.qualified_name(key))
