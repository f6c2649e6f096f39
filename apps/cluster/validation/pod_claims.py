"""The ResourceClaims of a pod, and which of its containers use them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from apps.cluster.schema.go_types import internal
from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    invalid,
    not_found,
    required,
)

Body = Mapping[str, Any]

_SOURCES: Final = ("resourceClaimName", "resourceClaimTemplateName")
_NONE: Final = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
_BOTH: Final = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"


def validate_resource_claims(claims: Sequence[Body], path: str) -> Causes:
    """resourceClaims in the spec of a pod or a template."""
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at = f"{path}[{index}]"
        yield from _validate_name(claim.get("name", ""), seen, f"{at}.name")
        yield from _validate_source(claim, at)


def validate_claim_names(pod: str, spec: Body) -> Causes:
    """The names of the claims that will be created from templates for this pod."""
    for index, claim in enumerate(spec.get("resourceClaims") or ()):
        name = claim.get("name", "")
        if not name or claim.get("resourceClaimTemplateName") is None or names.dns_label(name):
            continue
        for problem in names.dns_subdomain(f"{pod}-{name}"):
            detail = f"final ResourceClaim name: {problem}"
            yield invalid(f"spec.resourceClaims[{index}].name", f"{pod}-{name}", detail)


def validate_used_claims(used: Sequence[Body], known: Collection[str], path: str) -> Causes:
    """Claims of a container, of those `known` to its pod: each once, as a whole or by requests."""
    seen: set[str] = set()
    for index, claim in enumerate(used):
        at, name, request = f"{path}[{index}]", claim.get("name", ""), claim.get("request", "")
        if not name:
            yield required(at)
            continue
        key = f"{name}/{request}" if request else name
        if request:
            yield from all_invalid(f"{at}.request", request, names.dns_label(request))
        overlaps = not request and any(each.startswith(f"{name}/") for each in seen)
        if name in seen or key in seen or overlaps:
            yield duplicate(at, key if key in seen else name)
        seen.add(key)
        if name not in known:
            others = f": {', '.join(sorted(known))}" if known else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{others}"
            yield not_found(at, name, detail)


def _validate_name(name: str, seen: set[str], path: str) -> Causes:
    if not name:
        yield required(path)
    elif name in seen:
        yield duplicate(path, name)
    else:
        yield from all_invalid(path, name, names.dns_label(name))
    seen.add(name)


def _validate_source(claim: Body, path: str) -> Causes:
    given = [field for field in _SOURCES if claim.get(field) is not None]
    if len(given) != 1:
        shown = internal("core.PodResourceClaim", claim)
        yield invalid(path, shown, _BOTH if given else _NONE)
    for field in given:
        yield from all_invalid(f"{path}.{field}", claim[field], names.dns_subdomain(claim[field]))
