"""Which claims and pods have a device."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from apps.scheduler.cache.devices_in_use import DeviceId
from apps.scheduler.objects import ResourceClaim
from apps.scheduler.plugins.dynamicresources.pod_resource_claims import is_reservation_of


@dataclass(frozen=True, slots=True)
class Holder:
    """A claim to which a device is allocated, and the pods that have reserved the claim."""

    namespace: str
    claim: str
    pods: tuple[str, ...] = ()
    #: the PodGroups that have
    groups: tuple[str, ...] = ()

    ANSWER: ClassVar = ("namespace", "claim", "pods")

    def __str__(self) -> str:
        users = [f"pod {', '.join(self.pods)}"] if self.pods else []
        users += [f"pod group {', '.join(self.groups)}"] if self.groups else []
        named = f" ({'; '.join(users)})" if users else ""
        return f"claim {self.namespace}/{self.claim}{named}"


def find_holders(claims: Iterable[ResourceClaim]) -> dict[DeviceId, tuple[Holder, ...]]:
    """The holders of each device that is in use; access by an administrator is not."""
    holders: dict[DeviceId, tuple[Holder, ...]] = {}
    for claim in claims:
        allocation = claim.status.allocation
        for result in allocation.devices.results if allocation is not None else ():
            if result.admin_access:
                continue
            device = (result.driver, result.pool, result.device)
            holders[device] = (*holders.get(device, ()), holder_of(claim))
    return holders


def holder_of(claim: ResourceClaim) -> Holder:
    reserved = claim.status.reserved_for
    pods = tuple(each.name for each in reserved if each.resource == "pods")
    groups = tuple(each.name for each in reserved if is_reservation_of(each, each.name))
    return Holder(claim.metadata.namespace, claim.metadata.name, pods, groups)
