"""Nodes: taints, resources, pod networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import ip_network
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, duplicate, forbidden, invalid
from apps.cluster.validation.placement import validate_taint_effect
from apps.cluster.validation.quantities import validate_amount
from apps.cluster.validation.selectors import validate_label_key

Body = Mapping[str, Any]

_NOT_A_NETWORK: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
#: The path of taints in the API server's messages.
_TAINTS: Final = "metadata.taints"
#: Fields that may be set once: (field, its name in messages).
_SET_ONCE: Final = (("podCIDRs", "podCIDR"), ("providerID", "providerID"))


def validate_node(node: Body) -> Causes:
    """A node."""
    spec, status = node.get("spec", {}), node.get("status", {})
    yield from _taints(spec.get("taints", ()))
    for field in ("capacity", "allocatable"):
        for name, amount in status.get(field, {}).items():
            yield from validate_amount(name, amount, f"status.{field}.{name}")
    for index, network in enumerate(spec.get("podCIDRs", ())):
        if not _is_network(network):
            yield invalid(f"spec.podCIDRs[{index}]", network, _NOT_A_NETWORK)


def validate_node_update(node: Body, old: Body) -> Causes:
    """An update may not change the pod networks or the provider id of a node."""
    spec, before = node.get("spec", {}), old.get("spec") or {}
    yield from _taints(spec.get("taints", ()))
    for field, label in _SET_ONCE:
        if before.get(field) and spec.get(field) != before[field]:
            yield forbidden(
                f"spec.{field}", f'node updates may not change {label} except from "" to valid'
            )


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
