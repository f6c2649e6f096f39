"""The devices that a scheduling cycle gives to the claims of its pod, for the decision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import msgspec

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.objects import AllocationResult, NodeAllocatableResourceClaimStatus, Quantity

_KEY = "ClaimAllocations"
_RESOURCES_KEY = "ClaimResources"


class AllocatedDevice(NamedTuple):
    """A device that a request of a claim has got."""

    #: `request`, or `request/alternative`
    request: str
    driver: str
    pool: str
    device: str


class ClaimAllocation(msgspec.Struct, frozen=True, array_like=True):
    """A claim of a pod with its devices; opaque parameters of drivers are left out."""

    namespace: str
    #: of a claim for extended resources: "<extended-resources>" until it is created
    name: str
    uid: str
    allocation: AllocationResult
    #: it had these devices before the decision
    is_known: bool = False
    #: PreBind has requested the write; until then the allocation is in flight
    is_written: bool = False
    #: what its devices take of the resources of the node
    node_resources: dict[str, Quantity] = {}

    ANSWER: ClassVar = ("namespace", "name", "is_known", "devices")

    @property
    def devices(self) -> list[AllocatedDevice]:
        results = self.allocation.devices.results
        return [AllocatedDevice(x.request, x.driver, x.pool, x.device) for x in results]


@dataclass(slots=True)
class _Allocations:
    items: tuple[ClaimAllocation, ...]

    def clone(self) -> _Allocations:
        return _Allocations(self.items)


def write(state: CycleState, allocations: Iterable[ClaimAllocation]) -> None:
    """Replace what is known about the pod's claims."""
    state.write(_KEY, _Allocations(tuple(allocations)))


def of(state: CycleState) -> tuple[ClaimAllocation, ...]:
    """The claims of the pod with their devices, in the pod's order."""
    allocations = state.find(_KEY, _Allocations)
    return allocations.items if allocations is not None else ()


class TakenResources(Protocol):
    """What Filter found that devices take of the resources of each node."""

    def node_resources(self, node_name: str) -> tuple[NodeAllocatableResourceClaimStatus, ...]: ...


@dataclass(slots=True)
class _Resources:
    resources: TakenResources

    def clone(self) -> _Resources:
        return self


def write_resources(state: CycleState, resources: TakenResources) -> None:
    """Count what the devices take of the node where the pod will be."""
    state.write(_RESOURCES_KEY, _Resources(resources))


def resources_on(
    state: CycleState, node_name: str
) -> tuple[NodeAllocatableResourceClaimStatus, ...]:
    """What the devices of the pod take of the node."""
    written = state.find(_RESOURCES_KEY, _Resources)
    return written.resources.node_resources(node_name) if written is not None else ()
