"""One device of a ResourceSlice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    forbidden,
    invalid,
    required,
    too_long,
)
from apps.cluster.validation.devices.counters import validate_counters
from apps.cluster.validation.devices.parts import (
    validate_attribute_name,
    validate_binding_conditions,
    validate_items,
    validate_label,
    validate_taint,
)
from apps.cluster.validation.devices.policies import validate_request_policy
from apps.cluster.validation.selectors import validate_node_selector

Body = Mapping[str, Any]

_MAX_ATTRIBUTES_AND_CAPACITIES: Final = 32
_MAX_TAINTS: Final = 16
_MAX_CONSUMED_SETS: Final = 2
_MAX_VALUE: Final = 64
_VALUES: Final = ("bool", "int", "string", "version")
_NODES: Final = ("nodeName", "nodeSelector", "allNodes")
_NUMBER: Final = r"(0|[1-9]\d*)"
_BEFORE_RELEASE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION_RE: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_BEFORE_RELEASE}(\.{_BEFORE_RELEASE})*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
_ONE_OF: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
)
_NOT_HERE: Final = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set "
    "to true in the ResourceSlice spec"
)


def validate_device(selects_nodes: bool, device: Body, path: str) -> Causes:
    """A device; ``selects_nodes``: the slice leaves it to its devices which nodes they are for."""
    yield from validate_label(device.get("name", ""), f"{path}.name")
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    number = len(attributes) + len(capacity)
    if number > _MAX_ATTRIBUTES_AND_CAPACITIES:
        detail = (
            "the total number of attributes and capacities must not exceed "
            f"{_MAX_ATTRIBUTES_AND_CAPACITIES}"
        )
        yield invalid(path, number, detail)
    for name, value in attributes.items():
        yield from validate_attribute_name(name, f"{path}.attributes")
        yield from _validate_attribute(value, f"{path}.attributes[{name}]")
    for name, value in capacity.items():
        yield from validate_attribute_name(name, f"{path}.capacity")
        yield from _validate_capacity(device, value, f"{path}.capacity[{name}]")
    yield from validate_items(
        device.get("taints"), f"{path}.taints", validate_taint, most=_MAX_TAINTS
    )
    yield from validate_items(
        device.get("consumesCounters"),
        f"{path}.consumesCounters",
        _validate_consumption,
        most=_MAX_CONSUMED_SETS,
        key=lambda consumption: consumption.get("counterSet", ""),
    )
    yield from _validate_nodes(device, path, selects_nodes=selects_nodes)
    yield from validate_binding_conditions(device, path)


def _validate_attribute(attribute: Body, path: str) -> Causes:
    text, version = attribute.get("string") or "", attribute.get("version")
    if len(text.encode()) > _MAX_VALUE:
        yield too_long(f"{path}.string", _MAX_VALUE)
    if version is not None:
        if not _VERSION_RE.fullmatch(version):
            detail = "must be a string compatible with semver.org spec 2.0.0"
            yield invalid(f"{path}.version", version, detail)
        if len(version) > _MAX_VALUE:
            yield too_long(f"{path}.version", _MAX_VALUE)
    given = [value for value in _VALUES if attribute.get(value) is not None]
    if len(given) != 1:
        shown = dict(attribute) if given else ""
        yield invalid(path, shown, "exactly one value must be specified")


def _validate_capacity(device: Body, capacity: Body, path: str) -> Causes:
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    if device.get("allowMultipleAllocations"):
        yield from validate_request_policy(capacity["value"], policy, f"{path}.requestPolicy")
    else:
        yield forbidden(f"{path}.requestPolicy", "allowMultipleAllocations must be true")


def _validate_consumption(consumption: Body, path: str) -> Causes:
    name = consumption.get("counterSet", "")
    if not name:
        yield required(f"{path}.counterSet")
    else:
        yield from validate_label(name, f"{path}.counterSet")
    yield from validate_counters(consumption.get("counters") or {}, f"{path}.counters")


def _validate_nodes(device: Body, path: str, *, selects_nodes: bool) -> Causes:
    if not selects_nodes:
        if any(device.get(field) is not None for field in _NODES):
            yield invalid(path, None, _NOT_HERE)
        return
    node, selector = device.get("nodeName"), device.get("nodeSelector")
    if node == "":
        yield invalid(f"{path}.nodeName", node, "must not be empty")
    elif node:
        yield from all_invalid(f"{path}.nodeName", node, names.dns_subdomain(node))
    if selector is not None:
        yield from validate_node_selector(selector, f"{path}.nodeSelector")
    if device.get("allNodes") is False:
        yield invalid(f"{path}.allNodes", False, "must be either unset or set to true")
    given = [f"`{field}`" for field in _NODES if device.get(field) not in (None, "", False)]
    if not given:
        yield required(path, _ONE_OF)
    elif len(given) > 1:
        yield invalid(path, f"{{{', '.join(given)}}}", _ONE_OF)
