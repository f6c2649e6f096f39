"""ResourceSlices: their pool, the nodes they are for, and counters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, all_invalid, invalid, required
from apps.cluster.validation.devices.counters import validate_counter_set
from apps.cluster.validation.devices.device import validate_device
from apps.cluster.validation.devices.parts import (
    name_of,
    validate_driver,
    validate_items,
    validate_pool,
)
from apps.cluster.validation.selectors import validate_node_selector

Body = Mapping[str, Any]

_MAX_DEVICES: Final = 128
_MAX_DEVICES_WITH_TAINTS_OR_COUNTERS: Final = 64
_MAX_COUNTER_SETS: Final = 8
_NODES: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_OF: Final = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)


def validate_resource_slice(body: Body) -> Causes:
    """A ResourceSlice."""
    spec = body.get("spec") or {}
    yield from validate_driver(spec.get("driver", ""), "spec.driver")
    yield from _validate_pool(spec.get("pool") or {})
    yield from _validate_nodes(spec)
    if spec.get("sharedCounters") is not None and spec.get("devices") is not None:
        yield invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    devices = spec.get("devices") or ()
    advanced = any(each.get("taints") or each.get("consumesCounters") for each in devices)
    yield from validate_items(
        devices,
        "spec.devices",
        partial(validate_device, bool(spec.get("perDeviceNodeSelection"))),
        most=_MAX_DEVICES_WITH_TAINTS_OR_COUNTERS if advanced else _MAX_DEVICES,
        key=name_of,
    )
    yield from validate_items(
        spec.get("sharedCounters"),
        "spec.sharedCounters",
        validate_counter_set,
        most=_MAX_COUNTER_SETS,
        key=name_of,
    )


def validate_resource_slice_update(body: Body, old: Body) -> Causes:
    """A slice keeps its driver, its pool and its node."""
    spec, before = body.get("spec") or {}, old.get("spec") or {}
    pool, old_pool = spec.get("pool") or {}, before.get("pool") or {}
    for path, value, was in (
        ("spec.pool.name", pool.get("name", ""), old_pool.get("name", "")),
        ("spec.driver", spec.get("driver", ""), before.get("driver", "")),
        ("spec.nodeName", spec.get("nodeName"), before.get("nodeName")),
    ):
        if value != was:
            yield invalid(path, value, "field is immutable")


def _validate_pool(pool: Body) -> Causes:
    yield from validate_pool(pool.get("name", ""), "spec.pool.name")
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        yield invalid("spec.pool.resourceSliceCount", count, "must be greater than zero")
    if generation < 0:
        detail = "must be greater than or equal to zero"
        yield invalid("spec.pool.generation", generation, detail)


def _validate_nodes(spec: Body) -> Causes:
    node, selector = spec.get("nodeName"), spec.get("nodeSelector")
    if node == "":
        yield invalid("spec.nodeName", node, "must be either unset or set to a non-empty string")
    elif node:
        yield from all_invalid("spec.nodeName", node, names.dns_subdomain(node))
    if selector is not None:
        yield from validate_node_selector(selector, "spec.nodeSelector")
        terms = selector.get("nodeSelectorTerms") or []
        if len(terms) != 1:
            at = "spec.nodeSelector.nodeSelectorTerms"
            yield invalid(at, terms, "must have exactly one node selector term")
    for field in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(field) is False:
            yield invalid(f"spec.{field}", False, "must be either unset or set to true")
    given = [f"`{field}`" for field in _NODES if spec.get(field) not in (None, "", False)]
    if not given:
        yield required("spec", _ONE_OF)
    elif len(given) > 1:
        detail = f"{_ONE_OF}, but multiple fields are set"
        yield invalid("spec", f"{{{', '.join(given)}}}", detail)
