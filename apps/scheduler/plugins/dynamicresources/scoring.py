"""The score of a node: which alternatives its claims got."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from apps.scheduler.framework.explanation import Detail
from apps.scheduler.objects import AllocationResult, DeviceRequest, ResourceClaim
from apps.scheduler.plugins.dynamicresources.state import ClaimState
from apps.scheduler.plugins.helper.arithmetic import sum_text

#: the most alternatives that a request may have
MOST_ALTERNATIVES: Final = 8


class Selected(NamedTuple):
    """A request with alternatives, and which of them, from 0, a node gets."""

    claim: ResourceClaim
    request: DeviceRequest
    position: int

    @property
    def points(self) -> int:
        return MOST_ALTERNATIVES - self.position


def score_of(state: ClaimState, node_name: str) -> int:
    """For each request with alternatives, 8 less the position of the selected one."""
    return sum(each.points for each in _selected(state, node_name))


def describe_score(state: ClaimState, node_name: str) -> Iterator[Detail]:
    """The selected alternative of each request that has some, and the sum of their points."""
    points = []
    for each in _selected(state, node_name):
        points.append(each.points)
        name = each.request.first_available[each.position].name
        yield Detail(
            f"claim {each.claim.key}, request {each.request.name}: the node provides the "
            f"alternative {name}, at position {each.position} of firstAvailable: "
            f"{MOST_ALTERNATIVES} − {each.position} = {each.points}",
            {
                "claim": each.claim.key,
                "request": each.request.name,
                "alternative": name,
                "position": each.position,
                "alternatives": len(each.request.first_available),
                "points": each.points,
            },
        )
    total = sum(points)
    terms = f"{sum_text([str(each) for each in points])} = " if len(points) > 1 else ""
    text = f"sum of the points of requests with alternatives: {terms}{total}"
    yield Detail(text if points else "no request has alternatives: 0", {"score": total})


def _selected(state: ClaimState, node_name: str) -> Iterator[Selected]:
    for claim, allocation in _allocations(state, node_name):
        names = {result.request for result in allocation.devices.results}
        for request in claim.spec.devices.requests:
            for position, alternative in enumerate(request.first_available):
                if f"{request.name}/{alternative.name}" in names:
                    yield Selected(claim, request, position)
                    break


def _allocations(
    state: ClaimState, node_name: str
) -> Iterator[tuple[ResourceClaim, AllocationResult]]:
    """Empty if nothing is allocated in this cycle; else with what was allocated before, too."""
    allocation = state.allocation_on(node_name)
    if allocation is None:
        return
    for claim in state.claims:
        if claim.status.allocation is not None:
            yield claim, claim.status.allocation
    yield from allocation.pairs()
