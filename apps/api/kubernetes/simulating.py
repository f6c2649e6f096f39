"""Dry runs that also say where a pod would go, as a warning; the body stays that of any dry run.

Clients ask for it: with the query parameter `simulate=true`, or, where these cannot be set, with an
annotation of the pod or the Binding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.api.kubernetes.calls import Call
from apps.studies.lab.dry_runs import ANNOTATION, describe_binding, describe_creation

PARAMETER: Final = "simulate"


def simulated_creation(call: Call, created: Mapping[str, Any]) -> list[str]:
    """The warning for a pod that a dry run would create; empty unless it is asked for."""
    if not _is_wanted(call, created):
        return []
    return [describe_creation(call.cluster, created)]


def simulated_binding(call: Call, name: str, binding: Mapping[str, Any]) -> list[str]:
    """The warning for a dry run of a binding; empty unless it is asked for."""
    if not _is_wanted(call, binding):
        return []
    node = (binding.get("target") or {}).get("name", "")
    reason = describe_binding(call.cluster, call.namespace, name, node)
    return [reason] if reason else []


def _is_wanted(call: Call, body: Mapping[str, Any]) -> bool:
    annotations = (body.get("metadata") or {}).get("annotations") or {}
    return call.query.get(PARAMETER) == "true" or annotations.get(ANNOTATION) == "true"
