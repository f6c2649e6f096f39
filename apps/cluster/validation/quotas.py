"""ResourceQuotas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.validation.causes import Causes, invalid, required
from apps.cluster.validation.quantities import (
    HUGE_PAGES_OF_QUOTAS,
    OF_QUOTAS,
    OF_QUOTAS_OF_PODS,
    validate_amount,
    validate_resource_name,
)

Body = Mapping[str, Any]

#: Scope -> the standard resources that a quota with this scope may limit.
_SCOPES: Final[Mapping[str, frozenset[str]]] = {
    "Terminating": OF_QUOTAS_OF_PODS,
    "NotTerminating": OF_QUOTAS_OF_PODS,
    "BestEffort": frozenset({"pods"}),
    "NotBestEffort": OF_QUOTAS_OF_PODS,
    "PriorityClass": OF_QUOTAS_OF_PODS,
    "CrossNamespacePodAffinity": OF_QUOTAS_OF_PODS,
}
_OPPOSITES: Final = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


def validate_resource_quota(quota: Body) -> Causes:
    """A ResourceQuota: known resources, in scopes that support them."""
    spec = quota.get("spec") or {}
    for name, amount in (spec.get("hard") or {}).items():
        yield from _limited_resource(name, f"spec.hard[{name}]")
        yield from validate_amount(name, amount, f"spec.hard[{name}]")
    scopes = spec.get("scopes") or ()
    yield from _scopes(spec, scopes, scopes, "spec.scopes")
    yield from _selector(spec)


def validate_resource_quota_update(quota: Body, old: Body) -> Causes:
    """The scopes of a quota are immutable; its amounts are not."""
    scopes, before = ((each.get("spec") or {}).get("scopes") or [] for each in (quota, old))
    if sorted(scopes) != sorted(before):
        yield invalid("spec.scopes", scopes, "field is immutable")


def _limited_resource(name: str, path: str) -> Causes:
    yield from validate_resource_name(name, path)
    standard = name in OF_QUOTAS or name.startswith(HUGE_PAGES_OF_QUOTAS)
    if "/" not in name and not standard:
        yield invalid(path, name, "must be a standard resource for quota")


def _scopes(spec: Body, scopes: Sequence[str], shown: Any, path: str) -> Causes:
    limited = sorted(OF_QUOTAS & (spec.get("hard") or {}).keys())
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid(path, shown, "unsupported scope")
            continue
        for name in limited:
            if name not in _SCOPES[scope]:
                yield invalid(path, shown, "unsupported scope applied to resource")
    for pair in _OPPOSITES:
        if pair <= set(scopes):
            yield invalid(path, shown, "conflicting scopes")


def _selector(spec: Body) -> Causes:
    selector = spec.get("scopeSelector")
    if selector is None:
        return
    path = "spec.scopeSelector.matchExpressions"
    requirements = selector.get("matchExpressions") or ()
    for requirement in requirements:
        yield from _requirement(requirement, path)
    scopes = [requirement.get("scopeName", "") for requirement in requirements]
    yield from _scopes(spec, scopes, requirements, path)


def _requirement(requirement: Body, path: str) -> Causes:
    scope, operator = requirement.get("scopeName", ""), requirement.get("operator", "")
    values = requirement.get("values") or []
    if scope != "PriorityClass" and scope in _SCOPES and operator != "Exists":
        yield invalid(
            f"{path}.operator",
            operator,
            f"must be 'Exists' when scope is {scope}",
        )
    if operator in _WITH_VALUES and not values:
        detail = "must be at least one value when `operator` is 'In' or 'NotIn'"
        yield required(f"{path}.values", f"{detail} for scope selector")
    elif operator in _WITHOUT_VALUES and values:
        detail = "must be no value when `operator` is 'Exists' or 'DoesNotExist'"
        yield invalid(f"{path}.values", values, f"{detail} for scope selector")
    elif operator not in (*_WITH_VALUES, *_WITHOUT_VALUES):
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
