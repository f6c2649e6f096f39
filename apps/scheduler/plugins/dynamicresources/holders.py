"""Which claims and pods have a device."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from apps.scheduler.cache.devices_in_use import DeviceId
from apps.scheduler.objects import ResourceClaim


@dataclass(frozen=True, slots=True)
class Holder:
    """A claim to which a device is allocated, and the pods that have reserved the claim."""

    namespace: str
    claim: str
    pods: tuple[str, ...] = ()

    def __str__(self) -> str:
        pods = f" (pod {', '.join(self.pods)})" if self.pods else ""
        return f"claim {self.namespace}/{self.claim}{pods}"


def find_holders(claims: Iterable[ResourceClaim]) -> dict[DeviceId, tuple[Holder, ...]]:
    """The holders of each device that is in use; access by an administrator is not."""
    found: dict[DeviceId, tuple[Holder, ...]] = {}
    for claim in claims:
        allocation = claim.status.allocation
        for result in allocation.devices.results if allocation is not None else ():
            if result.admin_access:
                continue
            device = (result.driver, result.pool, result.device)
            found[device] = (*found.get(device, ()), holder_of(claim))
    return found


def holder_of(claim: ResourceClaim) -> Holder:
    pods = tuple(each.name for each in claim.status.reserved_for if each.resource == "pods")
    return Holder(claim.metadata.namespace, claim.metadata.name, pods)
