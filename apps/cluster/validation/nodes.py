"""Nodes: taints, resources, pod networks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from ipaddress import ip_network
from typing import Any, Final

from apps.cluster.schema.go_types import internal
from apps.cluster.validation import names
from apps.cluster.validation.addresses import validate_network
from apps.cluster.validation.causes import Causes, duplicate, forbidden, invalid
from apps.cluster.validation.placement import validate_taint_effect
from apps.cluster.validation.quantities import validate_amount
from apps.cluster.validation.selectors import validate_label_key

Body = Mapping[str, Any]

_ONE_OF_EACH_FAMILY: Final = "may specify no more than one CIDR for each IP family"
_FEATURE: Final = re.compile("[A-Z][A-Za-z0-9]*(/[A-Za-z0-9]+)*")
_NOT_A_FEATURE: Final = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., "
    "MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)
#: The path of taints in the API server's messages.
_TAINTS: Final = "metadata.taints"
#: Fields that may be set once: (field, its name in messages).
_SET_ONCE: Final = (("podCIDRs", "podCIDR"), ("providerID", "providerID"))


def validate_node(node: Body) -> Causes:
    """A node."""
    spec, status = node.get("spec", {}), node.get("status", {})
    networks = spec.get("podCIDRs", ())
    yield from _taints(spec.get("taints", ()))
    yield from _amounts(status)
    yield from _features(status)
    for index, network in enumerate(networks):
        yield from validate_network(network, f"spec.podCIDRs[{index}]")
    if len(networks) > 1 and all(map(_is_network, networks)):
        families = {ip_network(network, strict=False).version for network in networks}
        if len(families) < len(networks):
            yield invalid("spec.podCIDRs", networks, _ONE_OF_EACH_FAMILY)


def validate_node_update(node: Body, old: Body) -> Causes:
    """An update may not change the pod networks or the provider id of a node."""
    spec, before = node.get("spec", {}), old.get("spec") or {}
    yield from _amounts(node.get("status", {}))
    yield from _distinct_addresses(node.get("status", {}))
    yield from _features(node.get("status", {}))
    for field, label in _SET_ONCE:
        if before.get(field) and spec.get(field) != before[field]:
            yield forbidden(
                f"spec.{field}", f'node updates may not change {label} except from "" to valid'
            )
    yield from _taints(spec.get("taints", ()))


def _distinct_addresses(status: Body) -> Causes:
    addresses = status.get("addresses") or ()
    shown = internal("core.NodeAddress", addresses)
    for index, address in enumerate(shown):
        if address in shown[:index]:
            yield duplicate(f"status.addresses[{index}]", address)


def _features(status: Body) -> Causes:
    last = ""
    for index, feature in enumerate(status.get("declaredFeatures") or ()):
        path = f"status.declaredFeatures[{index}]"
        if feature == last and index:
            yield duplicate(path, feature)
        elif feature < last:
            yield invalid(path, feature, "list must be sorted alphabetically")
        if not _FEATURE.fullmatch(feature):
            yield invalid(path, feature, f'invalid feature name "{feature}": {_NOT_A_FEATURE}')
        last = feature


def _amounts(status: Body) -> Causes:
    for field in ("capacity", "allocatable"):
        for name, amount in (status.get(field) or {}).items():
            yield from validate_amount(name, amount, f"status.{field}.{name}")


def _taints(taints: Sequence[Body]) -> Causes:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        path = f"{_TAINTS}[{index}]"
        key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
        yield from validate_label_key(key, f"{path}.key")
        problems = names.label_value(value)
        if problems:
            yield invalid(f"{path}.value", value, ";".join(problems))
        yield from validate_taint_effect(effect, f"{path}.effect")
        if (key, effect) in seen:
            fields = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": None}
            yield duplicate(path, {**fields, "TimeAdded": taint.get("timeAdded")})
        seen.add((key, effect))


def _is_network(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text
