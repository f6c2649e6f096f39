"""The devices that a scheduling cycle gives to the claims of its pod, for the decision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.objects import AllocationResult

_KEY = "ClaimAllocations"


class ClaimAllocation(msgspec.Struct, frozen=True, array_like=True):
    """One claim that the pod uses, with its devices; opaque parameters of drivers are left out."""

    namespace: str
    #: of a claim for extended resources: "<extended-resources>" until it is created
    name: str
    uid: str
    allocation: AllocationResult
    #: the claim had this allocation before
    is_known: bool = False
    #: PreBind has requested the write; until then the allocation is in flight
    is_written: bool = False


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
    found = state.find(_KEY, _Allocations)
    return found.items if found is not None else ()
