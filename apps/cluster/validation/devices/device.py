"""One device of a ResourceSlice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from apps import quantity
from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    forbidden,
    invalid,
    not_found,
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
from apps.cluster.validation.gates import LIST_ATTRIBUTES, LIST_FIELDS, is_enabled
from apps.cluster.validation.selectors import validate_node_selector

Body = Mapping[str, Any]

#: the resources of a node that a device may take
_NODE_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
_PAGES: Final = "hugepages-"

_MAX_ATTRIBUTES_AND_CAPACITIES: Final = 32
_MAX_ATTRIBUTE_VALUES: Final = 48
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
    yield from _validate_number_of_values(attributes, path)
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
    yield from validate_mappings(device, path)
    yield from _validate_nodes(device, path, selects_nodes=selects_nodes)
    yield from validate_binding_conditions(device, path)


def _validate_number_of_values(attributes: Mapping[str, Body], path: str) -> Causes:
    """Limit the values of all attributes together; one that is no list has one value."""
    if not is_enabled(LIST_ATTRIBUTES):
        return
    number = sum(
        sum(len(attribute.get(field) or ()) for field in LIST_FIELDS) or 1
        for attribute in attributes.values()
    )
    if number > _MAX_ATTRIBUTE_VALUES:
        detail = f"the total number of attribute values must not exceed {_MAX_ATTRIBUTE_VALUES}"
        yield invalid(path, number, detail)


def _validate_attribute(attribute: Body, path: str) -> Causes:
    if attribute.get("string") is not None:
        yield from _validate_text(attribute["string"], f"{path}.string")
    if attribute.get("version") is not None:
        yield from _validate_version(attribute["version"], f"{path}.version")
    fields: tuple[str, ...] = _VALUES
    if is_enabled(LIST_ATTRIBUTES):
        fields += LIST_FIELDS
        yield from _validate_lists(attribute, path)
    given = [field for field in fields if attribute.get(field) is not None]
    if len(given) != 1:
        shown = dict(attribute) if given else ""
        yield invalid(path, shown, "exactly one value must be specified")


def _validate_lists(attribute: Body, path: str) -> Causes:
    for field in LIST_FIELDS:
        if attribute.get(field) == []:
            yield invalid(f"{path}.{field}", [], "must not be empty if specified")
    for index, text in enumerate(attribute.get("strings") or ()):
        yield from _validate_text(text, f"{path}.strings[{index}]")
    for index, version in enumerate(attribute.get("versions") or ()):
        yield from _validate_version(version, f"{path}.versions[{index}]")


def _validate_text(text: str, path: str) -> Causes:
    if len(text.encode()) > _MAX_VALUE:
        yield too_long(path, _MAX_VALUE)


def _validate_version(version: str, path: str) -> Causes:
    if not _VERSION_RE.fullmatch(version):
        yield invalid(path, version, "must be a string compatible with semver.org spec 2.0.0")
    yield from _validate_text(version, path)


def _validate_capacity(device: Body, capacity: Body, path: str) -> Causes:
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    if device.get("allowMultipleAllocations"):
        # a quantity that is not given is zero
        value = capacity.get("value", "0")
        yield from validate_request_policy(value, policy, f"{path}.requestPolicy")
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


def validate_mappings(device: Body, path: str) -> Causes:
    """nodeAllocatableResourceMappings of a device at `path`."""
    mappings = device.get("nodeAllocatableResourceMappings") or {}
    for name, mapping in mappings.items():
        at = f"{path}.nodeAllocatableResourceMappings[{name}]"
        if name not in _NODE_RESOURCES and not name.startswith(_PAGES):
            detail = f"must be a resource of nodes: {', '.join(_NODE_RESOURCES)} or {_PAGES}<size>"
            yield invalid(at, name, detail)
        yield from _validate_mapping(mapping, device.get("capacity") or {}, at)


def _validate_mapping(mapping: Body, capacity: Body, path: str) -> Causes:
    key, multiplier = mapping.get("capacityKey"), mapping.get("allocationMultiplier")
    if key is None and multiplier is None:
        yield required(path, "one of `capacityKey`, `allocationMultiplier` is required")
    if key is not None and key not in capacity:
        yield not_found(f"{path}.capacityKey", key, "must be a capacity of the device")
    if multiplier is not None and quantity.parse(multiplier).nanos <= 0:
        yield invalid(f"{path}.allocationMultiplier", multiplier, "must be greater than zero")
