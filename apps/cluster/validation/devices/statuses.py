"""The status of ResourceClaims: reservations, the allocation, and what drivers report."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, Final

from apps.cluster.schema.go_types import internal
from apps.cluster.validation.causes import (
    Causes,
    forbidden,
    invalid,
    not_supported,
    required,
    too_many,
)
from apps.cluster.validation.devices.claims import request_names, validate_request_name
from apps.cluster.validation.devices.parts import (
    MAX_CONFIGS,
    MAX_REQUESTS,
    itself,
    validate_binding_conditions,
    validate_configuration,
    validate_driver,
    validate_items,
    validate_label,
    validate_pool,
    validate_toleration,
)
from apps.cluster.validation.selectors import validate_node_selector

Body = Mapping[str, Any]

_MAX_RESERVATIONS: Final = 256
_MAX_RESULTS: Final = 32
_MAX_CONDITIONS: Final = 8
_SOURCES: Final = ("FromClaim", "FromClass")


def validate_claim_status(claim: Body, old: Body) -> Causes:
    """The status of a ResourceClaim, after an update of ``old``."""
    status, before = claim.get("status") or {}, old.get("status") or {}
    yield from validate_items(
        status.get("reservedFor"),
        "status.reservedFor",
        _validate_consumer,
        most=_MAX_RESERVATIONS,
        key=lambda consumer: consumer.get("uid", ""),
    )
    allocation = status.get("allocation")
    results = ((allocation or {}).get("devices") or {}).get("results") or ()
    yield from validate_items(
        status.get("devices"),
        "status.devices",
        partial(_validate_device, {_shared_id(each) for each in results}),
        key=_shared_id,
    )
    yield from _validate_reservations(claim, status, before)
    if allocation is None:
        return
    if before.get("allocation") is None:
        known = request_names((claim.get("spec") or {}).get("devices") or {})
        yield from _validate_allocation(known, allocation, "status.allocation")
    elif allocation != before["allocation"]:
        shown = internal("resource.AllocationResult", allocation)
        yield invalid("status.allocation", shown, "field is immutable")


def _validate_reservations(claim: Body, status: Body, before: Body) -> Causes:
    reserved = status.get("reservedFor") or ()
    if reserved and status.get("allocation") is None:
        yield forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
    elif claim["metadata"].get("deletionTimestamp"):
        earlier = before.get("reservedFor") or ()
        if any(consumer not in earlier for consumer in reserved):
            detail = (
                "new entries may not be added while `deallocationRequested` or "
                "`deletionTimestamp` are set"
            )
            yield forbidden("status.reservedFor", detail)


def _validate_consumer(consumer: Body, path: str) -> Causes:
    for field in ("resource", "name", "uid"):
        if not consumer.get(field):
            yield required(f"{path}.{field}")


def _shared_id(device: Body) -> str:
    """driver/pool/device, with the share of a device that several claims have."""
    parts = [device.get(field, "") for field in ("driver", "pool", "device")]
    return "/".join([*parts, device["shareID"]] if device.get("shareID") else parts)


def _validate_device(allocated: Collection[str], device: Body, path: str) -> Causes:
    yield from _validate_device_names(device, path)
    if _shared_id(device) not in allocated:
        names = ("Driver", "Pool", "Device", "ShareID")
        shown = {name: device.get(name[0].lower() + name[1:], "") for name in names}
        yield invalid(path, shown, "must be an allocated device in the claim")
    conditions = device.get("conditions") or ()
    if len(conditions) > _MAX_CONDITIONS:
        yield too_many(f"{path}.conditions", len(conditions), _MAX_CONDITIONS)


def _validate_device_names(device: Body, path: str) -> Causes:
    yield from validate_driver(device.get("driver", ""), f"{path}.driver")
    yield from validate_pool(device.get("pool", ""), f"{path}.pool")
    yield from validate_label(device.get("device", ""), f"{path}.device")


def _validate_allocation(known: Collection[str], allocation: Body, path: str) -> Causes:
    devices = allocation.get("devices") or {}
    yield from validate_items(
        devices.get("results"),
        f"{path}.devices.results",
        partial(_validate_result, known),
        most=_MAX_RESULTS,
    )
    yield from validate_items(
        devices.get("config"),
        f"{path}.devices.config",
        partial(_validate_config, known),
        most=2 * MAX_CONFIGS,
    )
    if allocation.get("nodeSelector") is not None:
        yield from validate_node_selector(allocation["nodeSelector"], f"{path}.nodeSelector")


def _validate_result(known: Collection[str], result: Body, path: str) -> Causes:
    yield from validate_request_name(known, result.get("request", ""), f"{path}.request")
    yield from _validate_device_names(result, path)
    yield from validate_binding_conditions(result, path)
    yield from validate_items(result.get("tolerations"), f"{path}.tolerations", validate_toleration)


def _validate_config(known: Collection[str], config: Body, path: str) -> Causes:
    source = config.get("source", "")
    if not source:
        yield required(f"{path}.source")
    elif source not in _SOURCES:
        yield not_supported(f"{path}.source", source, _SOURCES)
    yield from validate_items(
        config.get("requests"),
        f"{path}.requests",
        partial(validate_request_name, known),
        most=MAX_REQUESTS,
        key=itself,
    )
    yield from validate_configuration(config, path)
