"""The results of searches, stored by what the claims request and by the state of the node."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from apps.scheduler.objects import ResourceClaim
from apps.scheduler.plugins.dynamicresources.device_search import Solution
from apps.scheduler.plugins.dynamicresources.node_states import NodeStates
from apps.scheduler.plugins.dynamicresources.results import allocation_results
from apps.scheduler.plugins.dynamicresources.state import NodeAllocation

#: requests for which results are stored; the least recently used go first
_MOST_REQUESTS: Final = 256

#: number of a node's state -> what a search finds there
Results = dict[int, Solution | None]


class KnownSearches:
    """Results by request, valid while classes and the numbers of states keep their meaning."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Results] = OrderedDict()
        self._valid_for = (-1, -1)

    def of(self, claims: Iterable[ResourceClaim], classes_version: int, epoch: int) -> Results:
        """The results for claims that request this; the caller adds to them."""
        if self._valid_for != (classes_version, epoch):
            self._valid_for = (classes_version, epoch)
            self._known.clear()
        wanted = [(each.spec.devices.requests, each.spec.devices.constraints) for each in claims]
        key = msgspec.msgpack.encode(wanted, order="sorted")
        results = self._known.setdefault(key, {})
        self._known.move_to_end(key)
        if len(self._known) > _MOST_REQUESTS:
            self._known.popitem(last=False)
        return results


class SharedAllocations:
    """The allocations on nodes with known results, each built when it is asked for."""

    def __init__(
        self, claims: Sequence[ResourceClaim], states: NodeStates, results: Results
    ) -> None:
        self._claims, self._states, self.results = tuple(claims), states, results

    def find(self, node_name: str) -> NodeAllocation | None:
        """None if nothing is known for the node now, or nothing was found."""
        solution = self.results.get(self._states.number_of(node_name))
        if solution is None:
            return None
        here = solution.on(self._states.pools(node_name))
        return NodeAllocation(self._claims, allocation_results(here, self._claims, node_name))
