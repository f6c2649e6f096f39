"""LimitRanges."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    forbidden,
    invalid,
    required,
)
from apps.cluster.validation.quantities import (
    validate_container_resource_name,
    validate_resource_name,
)
from apps.quantity import parse

Body = Mapping[str, Any]

#: (field, another that must not be less than it, the field that is invalid, whose value is shown)
_ORDER: Final = (
    ("min", "max", "min", "min"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest"),
    ("min", "default", "default", "min"),
    ("default", "max", "default", "max"),
)
_LIMIT_TYPES: Final = ("Pod", "Container", "PersistentVolumeClaim")
_OF_PODS: Final = ("Pod", "Container")
_NO_STORAGE: Final = "either minimum or maximum storage value is required, but neither was provided"
_SAID: Final = {
    "min": "min",
    "max": "max",
    "default": "default",
    "defaultRequest": "default request",
}
_REQUEST: Final = ("defaultRequest", "default")


def validate_limit_range(body: Body) -> Causes:
    seen: set[str] = set()
    for index, item in enumerate(body["spec"].get("limits") or ()):
        path, kind = f"spec.limits[{index}]", item.get("type", "")
        yield from _limit_type(kind, f"{path}.type")
        if kind in seen:
            yield duplicate(f"{path}.type", kind)
        seen.add(kind)
        yield from _limited_resources(item, kind, path, "max", "min")
        if kind == "Pod":
            for field in ("default", "defaultRequest"):
                if item.get(field):
                    detail = "may not be specified when `type` is 'Pod'"
                    yield forbidden(f"{path}.{field}", detail)
        else:
            yield from _limited_resources(item, kind, path, "default", "defaultRequest")
        if kind == "PersistentVolumeClaim" and not any(
            "storage" in (item.get(field) or ()) for field in ("min", "max")
        ):
            yield required(f"{path}.limits", _NO_STORAGE)
        yield from _limited_resources(item, kind, path, "maxLimitRequestRatio")
        yield from _bounds(item, path)


def _limit_type(kind: str, path: str) -> Causes:
    yield from all_invalid(path, kind, names.qualified_name(kind))
    if kind and "/" not in kind and kind not in _LIMIT_TYPES:
        yield invalid(path, kind, "must be a standard limit type or fully qualified")


def _limited_resources(item: Body, kind: str, path: str, *fields: str) -> Causes:
    for field in fields:
        for name in item.get(field) or ():
            validate = (
                validate_container_resource_name if kind in _OF_PODS else validate_resource_name
            )
            yield from validate(name, f"{path}.{field}[{name}]")


def _amount(given: Any) -> Fraction:
    return Fraction(parse(given).nanos, 10**9)


def _bounds(item: Body, path: str) -> Causes:
    given = {field: item.get(field) or {} for field in (*_SAID, "maxLimitRequestRatio")}
    for name in sorted(set().union(*given.values())):
        for low, high, field, shown in _ORDER:
            if name not in given[low] or name not in given[high]:
                continue
            small, large = given[low][name], given[high][name]
            if _amount(small) > _amount(large):
                more = "default limit" if (low, high) == _REQUEST else _SAID[high]
                said = f"{_SAID[low]} value {small} is greater than {more} value {large}"
                yield invalid(f"{path}.{field}[{name}]", given[shown][name], said)
        if name in given["maxLimitRequestRatio"]:
            yield from _ratio(given, name, f"{path}.maxLimitRequestRatio[{name}]")


def _ratio(given: Mapping[str, Body], name: str, path: str) -> Causes:
    ratio = given["maxLimitRequestRatio"][name]
    if _amount(ratio) < 1:
        yield invalid(path, ratio, f"ratio {ratio} is less than 1")
    if name in given["min"] and name in given["max"] and _amount(given["min"][name]):
        most = _amount(given["max"][name]) / _amount(given["min"][name])
        if _amount(ratio) > most:
            yield invalid(path, ratio, f"ratio {ratio} is greater than max/min = {float(most):.6f}")
