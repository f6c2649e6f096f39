"""Binding conditions: what a driver has to report before a pod is bound."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from apps.scheduler.objects import Condition, DeviceRequestAllocationResult, ResourceClaim

REASON_PENDING: Final = "BindingConditionsPending"


def has_conditions(claim: ResourceClaim) -> bool:
    return bool(conditional(claim))


def is_ready(claim: ResourceClaim) -> bool:
    """Every binding condition of the allocation is true."""
    return all(
        _has(claim, result, condition)
        for result in conditional(claim)
        for condition in result.binding_conditions
    )


def has_failed(claim: ResourceClaim) -> bool:
    """A failure condition of the allocation is true."""
    return any(
        _has(claim, result, condition)
        for result in conditional(claim)
        for condition in result.binding_failure_conditions
    )


def find_failure(claim: ResourceClaim) -> str:
    """What PreBind says about the first failure condition that is true; "" without one."""
    for result in conditional(claim):
        for each in _conditions(claim, result):
            if each.type in result.binding_failure_conditions and each.status == "True":
                return (
                    f"claim {claim.metadata.name} binding failed: "
                    f'reason={each.reason}, message="{each.message}"'
                )
    return ""


def is_timed_out(claim: ResourceClaim, now: float, timeout: float) -> bool:
    """The conditions have been waited for too long; never without a timestamp."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocation_timestamp is None:
        return False
    since = datetime.fromisoformat(allocation.allocation_timestamp).timestamp()
    return now - since > timeout


def is_unusable(claim: ResourceClaim, now: float, timeout: float) -> bool:
    """The allocation cannot be used although it is there."""
    if not has_conditions(claim):
        return False
    return has_failed(claim) or (not is_ready(claim) and is_timed_out(claim, now, timeout))


def conditional(claim: ResourceClaim) -> list[DeviceRequestAllocationResult]:
    """The allocated devices with binding conditions."""
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation is not None else ()
    return [result for result in results if result.binding_conditions]


def _has(claim: ResourceClaim, result: DeviceRequestAllocationResult, condition: str) -> bool:
    return any(
        each.type == condition and each.status == "True" for each in _conditions(claim, result)
    )


def _conditions(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> Iterator[Condition]:
    """What the driver has reported about the device."""
    for status in claim.status.devices:
        device = (status.driver, status.pool, status.device)
        if (
            device == (result.driver, result.pool, result.device)
            and status.share_id == result.share_id
        ):
            yield from status.conditions
