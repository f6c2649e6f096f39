"""What Filter does for one node."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from apps import quantity
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.status import Status, error, unresolvable
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.objects import Node, ResourceClaim
from apps.scheduler.plugins.dynamicresources import extended, node_resources
from apps.scheduler.plugins.dynamicresources.device_search import AllocationError, Search, Solution
from apps.scheduler.plugins.dynamicresources.extended import Mappings
from apps.scheduler.plugins.dynamicresources.features import DeviceFeatures
from apps.scheduler.plugins.dynamicresources.known_searches import Results
from apps.scheduler.plugins.dynamicresources.node_matching import matches_node
from apps.scheduler.plugins.dynamicresources.node_states import ALONE
from apps.scheduler.plugins.dynamicresources.pools import Pool
from apps.scheduler.plugins.dynamicresources.results import allocation_results
from apps.scheduler.plugins.dynamicresources.state import ClaimState, NodeAllocation
from apps.scheduler.plugins.helper.device_classes import ClassResolver
from apps.scheduler.plugins.helper.device_rows import shared_rows

REASON_UNAVAILABLE: Final = "resourceclaim not available on the node"
REASON_NOT_ALLOCATABLE: Final = "cannot allocate all claims"
REASON_INVALID_POOLS: Final = "invalid resource pools were encountered"
REASON_LEFT_OVER: Final = "cannot schedule extended resource claim"
REASON_NO_RESOURCE: Final = "cannot fit resource"

_FEASIBLE, _REFUSED, _ONE_BY_ONE = range(3)

#: whether an allocated claim cannot be used any more
IsUnusable = Callable[[ResourceClaim], bool]


class NodeFilter:
    """Filters nodes for one pod, and notes in ``state`` what it found for each."""

    def __init__(
        self,
        state: ClaimState,
        pod: PodInfo,
        classes: ClassResolver,
        is_unusable: IsUnusable,
        features: DeviceFeatures,
    ) -> None:
        self._state, self._pod, self._classes = state, pod, classes
        self._is_unusable, self._features = is_unusable, features

    def filter_alike(
        self, numbers: Int64Array, nodes: NodeColumns, rows: Int64Array, known: Results
    ) -> tuple[Int64Array, Int64Array]:
        """Filter ``rows`` by the numbers of their nodes, one search for each that is not ``known``.

        Returns the rows that are refused with ``REASON_NOT_ALLOCATABLE``, and those that have to
        be filtered one by one.
        """
        claims = self._state.to_allocate()
        distinct, firsts, places = np.unique(numbers, return_index=True, return_inverse=True)
        verdicts = np.empty(len(distinct), dtype=np.int8)
        for index, number in enumerate(distinct.tolist()):
            if number != ALONE and number not in known:
                node = nodes.info(int(rows[firsts[index]])).node
                assert node is not None
                with contextlib.suppress(AllocationError):
                    known[number] = self._search(node, claims)[1]
            if number == ALONE or number not in known:
                verdicts[index] = _ONE_BY_ONE
            else:
                verdicts[index] = _FEASIBLE if known[number] is not None else _REFUSED
        of_rows = verdicts[places]
        return rows[of_rows == _REFUSED], rows[of_rows == _ONE_BY_ONE]

    def filter(self, info: NodeInfo) -> Status | None:
        node = info.node
        assert node is not None
        unavailable = self.unavailable(node)
        needed, refusal = self.needed_resources(node)
        if refusal is not None:
            return refusal
        refusal = self._check_sharing(info)
        if refusal is not None:
            return refusal
        claims, mappings = self.claims_to_allocate(needed)
        if claims or self._state.pending:
            refusal = self._allocate(info, claims, mappings)
            if refusal is not None:
                return refusal
        if unavailable:
            self._state.unavailable |= unavailable
            self._state.by_node.pop(node.metadata.name, None)
            return unresolvable(REASON_UNAVAILABLE)
        return None

    def _check_sharing(self, info: NodeInfo) -> Status | None:
        if not self._features.node_resources:
            return None
        for claim in self._state.claims:
            if claim.status.allocation is not None:
                refusal = node_resources.check_sharing(self._pod, claim, info)
                if refusal is not None:
                    return refusal
        return None

    def unavailable(self, node: Node) -> set[int]:
        """The allocated claims whose devices the node cannot use."""
        unavailable = set()
        for index, claim in enumerate(self._state.claims):
            pending = self._state.pending.get(claim.metadata.uid)
            allocation = claim.status.allocation or pending
            if allocation is None:
                continue
            selector = allocation.node_selector
            reachable = selector is None or matches_node(selector, node)
            if not reachable or (pending is None and self._is_unusable(claim)):
                unavailable.add(index)
        return unavailable

    def needed_resources(self, node: Node) -> tuple[list[str], Status | None]:
        """The extended resources that the node has to provide as devices."""
        if self._state.extended is None:
            return [], None
        if self._state.extended.spec.devices.requests:
            return [], unresolvable(REASON_LEFT_OVER)
        needed = []
        for name in self._state.resources:
            listed = node.status.allocatable.get(name)
            if self._classes.backing(name) is not None and _is_zero(listed):
                needed.append(name)
            elif listed is None:
                return [], unresolvable(REASON_NO_RESOURCE)
        return needed, None

    def claims_to_allocate(self, needed: list[str]) -> tuple[list[ResourceClaim], Mappings]:
        """The claims without devices, with that for the extended resources that are needed."""
        claims = self._state.to_allocate()
        claim = self._state.extended
        if claim is None or (not needed and not self._state.claims):
            return claims, ()
        requests, mappings = extended.requests_and_mappings(self._pod, needed, self._classes)
        return [*claims, extended.with_requests(claim, requests)], mappings

    def _allocate(
        self, info: NodeInfo, claims: list[ResourceClaim], mappings: Mappings
    ) -> Status | None:
        node = info.node
        assert node is not None
        try:
            pools, solution = self._search(node, claims)
            taken = self._node_resources(claims, solution)
        except AllocationError as wrong:
            return error(str(wrong))
        if solution is None:
            invalid = any(pool.invalid for pool in pools)
            return unresolvable(REASON_INVALID_POOLS if invalid else REASON_NOT_ALLOCATABLE)
        if taken is not None:
            refusal = node_resources.check_room(self._pod, info, taken)
            if refusal is not None:
                return refusal
        name = node.metadata.name
        pending = self._state.pending_pairs()
        self._state.by_node[name] = NodeAllocation(
            (*claims, *(claim for claim, _ in pending)),
            (*allocation_results(solution, claims, name), *(each for _, each in pending)),
            mappings,
            taken or (),
        )
        return None

    def taken_by_devices(self, node: Node) -> node_resources.ClaimStatuses:
        """What the devices that a search finds for the node take of it; raises AllocationError."""
        claims, _ = self.claims_to_allocate(self.needed_resources(node)[0])
        return self._node_resources(claims, self._search(node, claims)[1]) or ()

    def _node_resources(
        self, claims: Sequence[ResourceClaim], solution: Solution | None
    ) -> node_resources.ClaimStatuses | None:
        """What the devices take of the node; None if none of them does."""
        if not self._features.node_resources or solution is None:
            return None
        if not node_resources.has_mapped_devices(solution):
            return None
        return node_resources.claim_statuses(self._pod, self._state.claims, claims, solution)

    def _search(
        self, node: Node, claims: Sequence[ResourceClaim]
    ) -> tuple[list[Pool], Solution | None]:
        """The pools of the node, and how the claims can be allocated; raises AllocationError."""
        state = self._state
        pools = state.slices.gather(node)
        rows = shared_rows(lists=self._features.lists)
        search = Search(
            node, pools, claims, state.allocated, self._classes.get, rows, self._features
        )
        return pools, search.run()


def _is_zero(listed: str | int | float | None) -> bool:
    return listed is None or quantity.value(listed) == 0
