"""The score of a node: which alternatives its claims got."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from apps.scheduler.objects import AllocationResult, ResourceClaim
from apps.scheduler.plugins.dynamicresources.state import ClaimState

#: the most alternatives that a request may have
MOST_ALTERNATIVES: Final = 8


def score_of(state: ClaimState, node_name: str) -> int:
    """For each request with alternatives, 8 less the position of the selected one."""
    return sum(
        MOST_ALTERNATIVES - position
        for claim, allocation in _allocations(state, node_name)
        for position in _selected(claim, allocation)
    )


def _allocations(
    state: ClaimState, node_name: str
) -> Iterator[tuple[ResourceClaim, AllocationResult]]:
    for claim in state.claims:
        if claim.status.allocation is not None:
            yield claim, claim.status.allocation
    found = state.allocation_on(node_name)
    if found is not None:
        yield from found.pairs()


def _selected(claim: ResourceClaim, allocation: AllocationResult) -> Iterator[int]:
    names = {result.request for result in allocation.devices.results}
    for request in claim.spec.devices.requests:
        for position, alternative in enumerate(request.first_available):
            if f"{request.name}/{alternative.name}" in names:
                yield position
                break
