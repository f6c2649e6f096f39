"""What the kinds of resource.k8s.io have in common: names, lists, taints and configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

import msgspec

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)

Body = Mapping[str, Any]

_DRIVER_LENGTH: Final = 63
_POOL_LENGTH: Final = 253
_IDENTIFIER_LENGTH: Final = 32
_PARAMETERS_LENGTH: Final = 10 * 1024
MAX_REQUESTS: Final = 32
MAX_CONFIGS: Final = 32
_MAX_BINDING_CONDITIONS: Final = 4

_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_IDENTIFIER_RE: Final = re.compile(_IDENTIFIER)
_NOT_IDENTIFIER: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "
    "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for "
    f"validation is '{_IDENTIFIER}')"
)
_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_OPERATORS: Final = ("Equal", "Exists")


def validate_items(
    items: Sequence[Any] | None,
    path: str,
    rule: Callable[[Any, str], Causes],
    *,
    most: int | None = None,
    key: Callable[[Any], Hashable] | None = None,
) -> Causes:
    """The items of a list by a rule, their number, and that no two of them have the same key."""
    items = items or ()
    if most is not None and len(items) > most:
        yield too_many(path, len(items), most)
        return
    for index, item in enumerate(items):
        yield from rule(item, f"{path}[{index}]")
    if key is None:
        return
    seen: set[Hashable] = set()
    for index, item in enumerate(items):
        if key(item) in seen:
            yield duplicate(f"{path}[{index}]", key(item))
        seen.add(key(item))


def name_of(item: Body) -> str:
    """The name of a request, a device or a set of counters."""
    return str(item.get("name", ""))


def itself(item: Hashable) -> Hashable:
    """The key of an item that is a text."""
    return item


def validate_driver(name: str, path: str) -> Causes:
    """The name of a driver: a DNS subdomain of at most 63 characters."""
    if not name:
        yield required(path)
        return
    if len(name) > _DRIVER_LENGTH:
        yield too_long(path, _DRIVER_LENGTH)
    yield from all_invalid(path, name, names.dns_subdomain(name.lower()))


def validate_pool(name: str, path: str) -> Causes:
    """The name of a pool: DNS subdomains, separated by slashes."""
    if not name:
        yield required(path)
        return
    if len(name) > _POOL_LENGTH:
        yield too_long(path, _POOL_LENGTH)
    for part in name.split("/"):
        yield from all_invalid(path, part, names.dns_subdomain(part))


def validate_label(name: str, path: str) -> Causes:
    """The name of a request, a device or a counter: a DNS label."""
    return all_invalid(path, name, names.dns_label(name))


def validate_attribute_name(name: str, path: str) -> Causes:
    """The name of an attribute or a capacity: an identifier, after the domain of a driver."""
    parts = name.split("/")
    if len(parts) > 2:
        yield invalid(path, name, "must not contain more than one slash")
        return
    *domain, identifier = parts
    if domain and not domain[0]:
        yield invalid(path, "", "the domain must not be empty")
    elif domain:
        yield from validate_driver(domain[0], path)
    if domain and not identifier:
        yield invalid(path, "", "the name must not be empty")
    else:
        yield from _validate_identifier(identifier, path)


def validate_full_attribute_name(name: str, path: str) -> Causes:
    """The name of an attribute with its domain, as constraints have it."""
    yield from validate_attribute_name(name, path)
    if "/" not in name:
        detail = "a fully qualified name must be a domain and a name separated by a slash"
        yield invalid(path, name, detail)


def _validate_identifier(text: str, path: str) -> Causes:
    if len(text) > _IDENTIFIER_LENGTH:
        yield too_long(path, _IDENTIFIER_LENGTH)
    if not _IDENTIFIER_RE.fullmatch(text):
        yield invalid(path, text, _NOT_IDENTIFIER)


def validate_taint(taint: Body, path: str) -> Causes:
    """A taint of a device."""
    key, value, effect = (taint.get(field, "") for field in ("key", "value", "effect"))
    yield from all_invalid(f"{path}.key", key, names.qualified_name(key))
    yield from all_invalid(f"{path}.value", value, names.label_value(value))
    if not effect:
        yield required(f"{path}.effect")
    elif effect not in _EFFECTS:
        yield not_supported(f"{path}.effect", effect, _EFFECTS)


def validate_toleration(toleration: Body, path: str) -> Causes:
    """A toleration of a request."""
    key, value = toleration.get("key", ""), toleration.get("value", "")
    operator, effect = toleration.get("operator", ""), toleration.get("effect", "")
    if key:
        yield from all_invalid(f"{path}.key", key, names.qualified_name(key))
    if operator == "Exists":
        if value:
            yield invalid(f"{path}.value", value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        yield from all_invalid(f"{path}.value", value, names.label_value(value))
    elif not operator:
        yield required(f"{path}.operator")
    else:
        yield not_supported(f"{path}.operator", operator, _OPERATORS)
    if effect and effect not in _EFFECTS:
        yield not_supported(f"{path}.effect", effect, _EFFECTS)


def validate_configuration(config: Body, path: str) -> Causes:
    """The part of a configuration that is the driver's own."""
    opaque = config.get("opaque")
    if opaque is None:
        yield required(f"{path}.opaque")
        return
    yield from validate_driver(opaque.get("driver", ""), f"{path}.opaque.driver")
    parameters, at = opaque.get("parameters"), f"{path}.opaque.parameters"
    if parameters is None:
        yield required(at)
    elif len(msgspec.json.encode(parameters)) > _PARAMETERS_LENGTH:
        yield too_long(at, _PARAMETERS_LENGTH)
    elif not isinstance(parameters, dict):
        yield invalid(at, "<value omitted>", "must be a valid JSON object")


def validate_binding_conditions(owner: Body, path: str) -> Causes:
    """bindingConditions and bindingFailureConditions: both or none, and no name twice."""
    fields = ("bindingConditions", "bindingFailureConditions")
    wanted, failures = (owner.get(field) or () for field in fields)
    for field, conditions in zip(fields, (wanted, failures), strict=True):
        yield from validate_items(
            conditions,
            f"{path}.{field}",
            lambda name, at: all_invalid(at, name, names.qualified_name(name)),
            most=_MAX_BINDING_CONDITIONS,
            key=itself,
        )
    for index, name in enumerate(failures):
        if name in wanted:
            detail = "bindingFailureConditions must not overlap with bindingConditions"
            yield invalid(f"{path}.bindingFailureConditions[{index}]", name, detail)
    for field, given, other, others in (
        (fields[0], wanted, fields[1], failures),
        (fields[1], failures, fields[0], wanted),
    ):
        if others and not given:
            yield invalid(f"{path}.{field}", None, f"{field} are required to use {other}")
