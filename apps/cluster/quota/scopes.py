"""The scopes and the scope selector of a ResourceQuota: which objects it counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.pods.qos import qos_class

Body = Mapping[str, Any]

PRIORITY_CLASS: Final = "PriorityClass"


def in_scope(quota: Body, kind: Kind, body: Body) -> bool:
    """Whether the object is in every scope of the quota; only pods can be in any."""
    requirements = list(requirements_of(quota))
    if kind is not kinds.POD:
        return not requirements
    return all(_matches(requirement, body) for requirement in requirements)


def requirements_of(quota: Body) -> Iterator[Body]:
    """The scopes and the selector's expressions, both as requirements."""
    spec = quota["spec"]
    for scope in spec.get("scopes") or ():
        yield {"scopeName": scope, "operator": "Exists"}
    yield from (spec.get("scopeSelector") or {}).get("matchExpressions") or ()


def _matches(requirement: Body, pod: Body) -> bool:
    spec = pod["spec"]
    match requirement["scopeName"]:
        case "Terminating":
            return _has_deadline(spec)
        case "NotTerminating":
            return not _has_deadline(spec)
        case "BestEffort":
            return qos_class(spec) == "BestEffort"
        case "NotBestEffort":
            return qos_class(spec) != "BestEffort"
        case "PriorityClass":
            return _has_class(requirement, spec.get("priorityClassName") or "")
        case "CrossNamespacePodAffinity":
            return any(map(_selects_other_namespaces, _affinity_terms(spec.get("affinity") or {})))
    return False


def _has_deadline(spec: Body) -> bool:
    return spec.get("activeDeadlineSeconds") is not None


def _has_class(requirement: Body, name: str) -> bool:
    values = requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return name in values if name else False
        case "NotIn":
            return name not in values
        case "Exists":
            return bool(name)
    return not name


def _selects_other_namespaces(term: Body) -> bool:
    return bool(term.get("namespaces")) or term.get("namespaceSelector") is not None


def _affinity_terms(affinity: Body) -> Iterator[Body]:
    for name in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(name) or {}
        yield from rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted.get("podAffinityTerm") or {}
