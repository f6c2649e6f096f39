"""ResourceClaims and their templates, and DeviceClasses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    invalid,
    not_supported,
    required,
)
from apps.cluster.validation.devices.parts import (
    MAX_CONFIGS,
    MAX_REQUESTS,
    itself,
    name_of,
    validate_attribute_name,
    validate_configuration,
    validate_full_attribute_name,
    validate_items,
    validate_label,
    validate_toleration,
)
from apps.cluster.validation.devices.selectors import (
    NOTHING_STORED,
    Stored,
    list_expressions,
    validate_selectors,
)
from apps.cluster.validation.quantities import is_extended

Body = Mapping[str, Any]

_MAX_ALTERNATIVES: Final = 8
_MAX_CONSTRAINTS: Final = 32
_MAX_TOLERATIONS: Final = 16
_MODES: Final = ("All", "ExactCount")
_ONE_OF: Final = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_ATTRIBUTE: Final = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are '
    "set"
)
_NO_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)


def claim_rule(path: str) -> Callable[[Body], Causes]:
    """The rule of an object with the spec of a claim at a path."""

    def rule(body: Body) -> Causes:
        spec: Any = body
        for step in path.split("."):
            spec = spec.get(step) or {}
        return _validate_devices(spec.get("devices") or {}, f"{path}.devices")

    return rule


def validate_device_class(body: Body) -> Causes:
    """A DeviceClass."""
    return _validate_class(body, NOTHING_STORED)


def validate_device_class_update(body: Body, old: Body) -> Causes:
    """Expressions that are stored already are accepted as they are."""
    return _validate_class(body, list_expressions(old))


def _validate_class(body: Body, stored: Stored) -> Causes:
    spec = body.get("spec") or {}
    yield from validate_selectors(spec.get("selectors"), "spec.selectors", stored)
    yield from validate_items(
        spec.get("config"), "spec.config", validate_configuration, most=MAX_CONFIGS
    )
    resource = spec.get("extendedResourceName")
    if resource is not None and not is_extended(resource):
        detail = "must be a valid extended resource name"
        yield invalid("spec.extendedResourceName", resource, detail)


def request_names(devices: Body) -> frozenset[str]:
    """What constraints and results may name: requests, and their alternatives after a slash."""
    names = set()
    for request in devices.get("requests") or ():
        names.add(name_of(request))
        for alternative in request.get("firstAvailable") or ():
            names.add(f"{name_of(request)}/{name_of(alternative)}")
    return frozenset(names)


def validate_request_name(known: Collection[str], name: str, path: str) -> Causes:
    """A reference to a request of the claim."""
    parts = name.split("/")
    if len(parts) > 2:
        yield invalid(path, name, _NO_REQUEST)
        return
    for part in parts:
        yield from validate_label(part, path)
    if name not in known:
        yield invalid(path, name, _NO_REQUEST)


def _validate_devices(devices: Body, path: str) -> Causes:
    known = request_names(devices)
    yield from validate_items(
        devices.get("requests"),
        f"{path}.requests",
        _validate_request,
        most=MAX_REQUESTS,
        key=name_of,
    )
    yield from validate_items(
        devices.get("constraints"),
        f"{path}.constraints",
        partial(_validate_constraint, known),
        most=_MAX_CONSTRAINTS,
    )
    yield from validate_items(
        devices.get("config"), f"{path}.config", partial(_validate_config, known), most=MAX_CONFIGS
    )


def _validate_request(request: Body, path: str) -> Causes:
    yield from validate_label(name_of(request), f"{path}.name")
    alternatives, exactly = request.get("firstAvailable") or (), request.get("exactly")
    if exactly is None and not alternatives:
        yield required(path, _ONE_OF)
    elif exactly is None:
        yield from validate_items(
            alternatives,
            f"{path}.firstAvailable",
            _validate_alternative,
            most=_MAX_ALTERNATIVES,
            key=name_of,
        )
    elif alternatives:
        yield invalid(path, None, f"{_ONE_OF}, but multiple fields are set")
    else:
        yield from _validate_wanted(exactly, f"{path}.exactly")


def _validate_alternative(wanted: Body, path: str) -> Causes:
    yield from validate_label(name_of(wanted), f"{path}.name")
    yield from _validate_wanted(wanted, path)


def _validate_wanted(wanted: Body, path: str) -> Causes:
    device_class = wanted.get("deviceClassName", "")
    if not device_class:
        yield required(f"{path}.deviceClassName")
    else:
        problems = names.dns_subdomain(device_class)
        yield from all_invalid(f"{path}.deviceClassName", device_class, problems)
    yield from validate_selectors(wanted.get("selectors"), f"{path}.selectors")
    yield from _validate_mode(wanted.get("allocationMode", ""), wanted.get("count") or 0, path)
    yield from validate_items(
        wanted.get("tolerations"),
        f"{path}.tolerations",
        validate_toleration,
        most=_MAX_TOLERATIONS,
    )
    for name in (wanted.get("capacity") or {}).get("requests") or ():
        yield from validate_attribute_name(name, f"{path}.capacity.requests")


def _validate_mode(mode: str, count: int, path: str) -> Causes:
    if mode not in _MODES:
        yield not_supported(f"{path}.allocationMode", mode, _MODES)
    elif mode == "All" and count:
        detail = f"must not be specified when allocationMode is '{mode}'"
        yield invalid(f"{path}.count", count, detail)
    elif mode != "All" and count <= 0:
        yield invalid(f"{path}.count", count, "must be greater than zero")


def _validate_constraint(known: Collection[str], constraint: Body, path: str) -> Causes:
    yield from _validate_references(known, constraint, path)
    for field in ("matchAttribute", "distinctAttribute"):
        attribute = constraint.get(field)
        if attribute is not None:
            yield from validate_full_attribute_name(attribute, f"{path}.{field}")
            return
    yield required(path, _ONE_ATTRIBUTE)


def _validate_config(known: Collection[str], config: Body, path: str) -> Causes:
    yield from _validate_references(known, config, path)
    yield from validate_configuration(config, path)


def _validate_references(known: Collection[str], owner: Body, path: str) -> Causes:
    yield from validate_items(
        owner.get("requests"),
        f"{path}.requests",
        partial(validate_request_name, known),
        most=MAX_REQUESTS,
        key=itself,
    )
