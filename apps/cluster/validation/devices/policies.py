"""The request policy of a capacity that claims share: which amounts may be requested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps import quantity
from apps.cluster.validation.causes import (
    Causes,
    duplicate,
    forbidden,
    invalid,
    required,
    too_many,
)
from apps.quantity import Quantity, canonical, compare

Body = Mapping[str, Any]

_MAX_VALUES: Final = 10
_ONE_POLICY: Final = (
    'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the '
    "same time"
)


def validate_request_policy(capacity: Quantity, policy: Body, path: str) -> Causes:
    """The policy of a capacity of this value."""
    values, valid_range = policy.get("validValues"), policy.get("validRange")
    if values and valid_range is not None:
        yield forbidden(path, _ONE_POLICY)
        return
    default = policy.get("default")
    if not values and valid_range is None:
        return
    if default is None:
        field = "validValues" if values else "validRange"
        yield required(f"{path}.default", f"required when {field} is defined")
    elif values:
        yield from _validate_values(default, capacity, values, f"{path}.validValues")
    else:
        yield from _validate_range(default, capacity, valid_range or {}, f"{path}.validRange")


def _validate_values(
    default: Quantity, capacity: Quantity, values: Sequence[Quantity], path: str
) -> Causes:
    for index in range(1, len(values)):
        if compare(values[index - 1], values[index]) > 0:
            detail = "values must be sorted in ascending order"
            yield invalid(f"{path}[{index}]", canonical(values[index]), detail)
    if len(values) > _MAX_VALUES:
        yield too_many(path, len(values), _MAX_VALUES)
    else:
        yield from _validate_each_value(capacity, values, path)
    if len(values) > _MAX_VALUES or all(compare(each, default) for each in values):
        detail = "default value is not valid according to the requestPolicy"
        yield invalid(path, canonical(default), detail)


def _validate_each_value(capacity: Quantity, values: Sequence[Quantity], path: str) -> Causes:
    for index, each in enumerate(values):
        if compare(each, capacity) > 0:
            detail = f"option is larger than capacity value: {canonical(capacity)}"
            yield invalid(f"{path}[{index}]", canonical(each), detail)
    seen: set[int] = set()
    for index, each in enumerate(values):
        whole = quantity.value(each)
        if whole in seen:
            yield duplicate(f"{path}[{index}]", str(whole))
        seen.add(whole)


def _validate_range(default: Quantity, capacity: Quantity, allowed: Body, path: str) -> Causes:
    least, most, step = (allowed.get(field) for field in ("min", "max", "step"))
    if least is None:
        yield required(f"{path}.min", "required when validRange is defined")
        return
    total = f"is larger than capacity value: {canonical(capacity)}"
    checks = [
        (least, capacity, "min", least, f"min {total}"),
        (least, default, "min", default, f"default is less than min: {canonical(least)}"),
    ]
    if most is not None:
        limit = canonical(most)
        checks += [
            (least, most, "max", least, f"min is larger than max: {limit}"),
            (most, capacity, "max", most, f"max {total}"),
            (default, most, "max", default, f"default is more than max: {limit}"),
        ]
    for smaller, larger, field, shown, detail in checks:
        if compare(smaller, larger) > 0:
            yield invalid(f"{path}.{field}", canonical(shown), detail)
    if step is not None:
        steps = [default] if most is None else [default, most]
        yield from _validate_step(step, least, capacity, steps, f"{path}.step")


def _validate_step(
    step: Quantity, least: Quantity, capacity: Quantity, values: Sequence[Quantity], path: str
) -> Causes:
    nanos = quantity.parse(step).nanos
    if not quantity.value(step):
        # the API server crashes
        yield invalid(path, canonical(step), "must be greater than zero")
        return
    first = quantity.parse(least)
    sum_of_both = quantity.format_nanos(first.nanos + nanos, first.format)
    if compare(sum_of_both, capacity) > 0:
        limit = canonical(capacity)
        detail = f"one step {sum_of_both} is larger than capacity value: {limit}"
        yield invalid(path, canonical(step), detail)
    for each in values:
        if (quantity.value(each) - quantity.value(least)) % quantity.value(step):
            shown = f"({canonical(step)}) from ({canonical(least)})"
            detail = f"value is not a multiple of a given step {shown}"
            yield invalid(path, canonical(each), detail)
