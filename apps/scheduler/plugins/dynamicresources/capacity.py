"""Capacity of devices: what a request consumes, by the policy, and whether so much is left."""

from __future__ import annotations

from collections.abc import Mapping

from apps import quantity
from apps.scheduler.objects import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    Device,
    DeviceCapacity,
    Quantity,
)

#: capacity -> nano units
Consumed = Mapping[str, int]
_UNIT = 10**9


def nanos(amount: Quantity) -> int:
    return quantity.parse(amount).nanos


def consumption(device: Device, requests: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """What a request takes of each capacity of the device, in canonical notation."""
    return {
        name: quantity.canonical(_consumes(requests.get(name), capacity))
        for name, capacity in device.capacity.items()
    }


def fits(
    device: Device,
    requests: Mapping[str, Quantity],
    consumed: Consumed,
    allocating: Consumed,
) -> bool:
    """Whether the device has every capacity that is requested, and enough of it is left.

    ``consumed``: by claims; ``allocating``: by earlier requests of this pod.
    """
    if not requests.keys() <= device.capacity.keys():
        return False
    for name, capacity in device.capacity.items():
        amount = _consumes(requests.get(name), capacity)
        if capacity.request_policy is not None and _violates(amount, capacity.request_policy):
            return False
        total = nanos(amount) + consumed.get(name, 0) + allocating.get(name, 0)
        if total > nanos(capacity.value):
            return False
    return True


def _consumes(requested: Quantity | None, capacity: DeviceCapacity) -> Quantity:
    policy = capacity.request_policy
    if requested is None:
        default = policy.default if policy is not None else None
        return capacity.value if default is None else default
    if policy is None:
        return requested
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _round_up(requested, policy.valid_range, policy.valid_range.min)
    for valid in policy.valid_values:
        if nanos(requested) <= nanos(valid):
            return valid
    return requested


def _round_up(requested: Quantity, valid: CapacityRequestPolicyRange, least: Quantity) -> Quantity:
    """The request rounded up to the next step above the minimum, in binary notation."""
    if nanos(requested) < nanos(least):
        return least
    if valid.step is None:
        return requested
    step, start = quantity.value(valid.step), quantity.value(least)
    steps = -(-(quantity.value(requested) - start) // step)
    return quantity.format_nanos((start + steps * step) * _UNIT, "BinarySI")


def _violates(amount: Quantity, policy: CapacityRequestPolicy) -> bool:
    if policy.default is not None and amount == policy.default:
        return False
    valid = policy.valid_range
    if valid is not None:
        if valid.max is not None and nanos(amount) > nanos(valid.max):
            return True
        start = quantity.value(valid.min) if valid.min is not None else 0
        return valid.step is not None and bool(
            (quantity.value(amount) - start) % quantity.value(valid.step)
        )
    values = [nanos(each) for each in policy.valid_values]
    return bool(values) and nanos(amount) not in values
