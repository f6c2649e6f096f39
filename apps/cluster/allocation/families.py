"""IP families of services: a cluster has addresses of IPv4 alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.validation.causes import Causes, invalid

Spec = Mapping[str, Any]

_FIELDS: Final = ("clusterIPs", "ipFamilies", "ipFamilyPolicy", "type")
_NOT_DUAL: Final = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"


def check_families(spec: Spec, before: Spec) -> Causes:
    """Refuse families that the cluster does not have; what an update leaves as it is stays."""
    unchanged = bool(before) and all(spec.get(name) == before.get(name) for name in _FIELDS)
    if unchanged or spec.get("type") == "ExternalName":
        return
    causes = [*_lengths(spec), *_addresses(spec)]
    yield from causes
    without_endpoints = spec.get("clusterIP") == "None" and not spec.get("selector")
    if not causes and not without_endpoints:
        yield from _dual_stack(spec)


def _lengths(spec: Spec) -> Causes:
    policy = spec.get("ipFamilyPolicy")
    if policy == "SingleStack":
        for name, title in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
            if len(spec.get(name) or ()) > 1:
                yield invalid("spec.ipFamilyPolicy", policy, _NOT_DUAL.format(title))


def _addresses(spec: Spec) -> Causes:
    addresses = spec.get("clusterIPs") or ()
    for index, address in enumerate(addresses):
        if ":" in address:
            detail = "IPv6 is not configured on this cluster"
            yield invalid(f"spec.clusterIPs[{index}]", addresses, detail)


def _dual_stack(spec: Spec) -> Causes:
    policy = spec.get("ipFamilyPolicy")
    if policy == "RequireDualStack":
        detail = "this cluster is not configured for dual-stack services"
        yield invalid("spec.ipFamilyPolicy", policy, detail)
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family == "IPv6":
            yield invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")
