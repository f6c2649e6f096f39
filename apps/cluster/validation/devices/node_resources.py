"""What a device takes of the resources of its node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps import quantity
from apps.cluster.validation.causes import Causes, invalid, not_found, required

Body = Mapping[str, Any]

_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
_PAGES: Final = "hugepages-"


def validate_mappings(device: Body, path: str) -> Causes:
    """nodeAllocatableResourceMappings of a device at `path`."""
    mappings = device.get("nodeAllocatableResourceMappings") or {}
    for name, mapping in mappings.items():
        at = f"{path}.nodeAllocatableResourceMappings[{name}]"
        if name not in _RESOURCES and not name.startswith(_PAGES):
            detail = f"must be a resource of nodes: {', '.join(_RESOURCES)} or {_PAGES}<size>"
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
