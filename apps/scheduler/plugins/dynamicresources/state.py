"""What a cycle knows about the claims of its pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from apps.scheduler.cache.devices_in_use import Allocated
from apps.scheduler.framework.intents import MergePatch
from apps.scheduler.objects import (
    AllocationResult,
    NodeAllocatableResourceClaimStatus,
    PodGroup,
    ResourceClaim,
)
from apps.scheduler.plugins.dynamicresources.device_search import Solution
from apps.scheduler.plugins.dynamicresources.extended import Mappings
from apps.scheduler.plugins.dynamicresources.pools import Slices


@dataclass(frozen=True, slots=True)
class NodeAllocation:
    """What Filter found for a node: one allocation for each of ``claims``."""

    claims: tuple[ResourceClaim, ...]
    allocations: tuple[AllocationResult, ...]
    #: for the claim for extended resources, if it is among them
    mappings: Mappings = ()
    #: what the devices take of the node
    node_resources: tuple[NodeAllocatableResourceClaimStatus, ...] = ()

    def pairs(self) -> Iterator[tuple[ResourceClaim, AllocationResult]]:
        return zip(self.claims, self.allocations, strict=True)


class AllocationFinder(Protocol):
    """Finds allocations by what is known for nodes of the same state; see known_searches."""

    results: dict[int, Solution | None]

    def find(self, node_name: str) -> NodeAllocation | None: ...


@dataclass(slots=True)
class ClaimState:
    #: of ``spec.resourceClaims``
    claims: list[ResourceClaim] = field(default_factory=list)
    #: uid of a claim -> its allocation in flight, which another pod of the group has reserved
    pending: dict[str, AllocationResult] = field(default_factory=dict)
    #: the PodGroup of the pod, with the gate DRAWorkloadResourceClaims
    group: PodGroup | None = None
    #: the claim for extended resources
    extended: ResourceClaim | None = None
    #: extended resource -> how many the pod requests
    resources: Mapping[str, int] = field(default_factory=dict)
    allocated: Allocated = field(default_factory=Allocated)
    slices: Slices = field(default_factory=lambda: Slices(()))
    #: of the nodes that were searched one by one, and of the node of Reserve
    by_node: dict[str, NodeAllocation] = field(default_factory=dict)
    #: of the others
    shared: AllocationFinder | None = None
    #: indices of claims whose allocation some node cannot use
    unavailable: set[int] = field(default_factory=set)
    #: what Reserve and PreBind did: uid of the claim -> its new version
    reserved: dict[str, ResourceClaim] = field(default_factory=dict)
    #: the claims that PreBind requested to write
    assumed: list[ResourceClaim] = field(default_factory=list)
    #: PreBind failed after that: its writes have to be undone
    failed: bool = False
    #: the write that was refused
    refused: MergePatch | None = None
    #: since when PreBind waits for conditions, by the scheduler's clock: its writes are done
    waiting_since: float | None = None
    #: PreBind has written to the status of the pod what the devices take of the node
    noted_resources: bool = False

    def clone(self) -> ClaimState:
        """Filter adds to it; what it adds for a node depends on the node alone."""
        return self

    @property
    def is_empty(self) -> bool:
        return not self.claims and self.extended is None

    def allocation_on(self, node_name: str) -> NodeAllocation | None:
        """What Filter found for the node, if it has passed."""
        on_node = self.by_node.get(node_name)
        if on_node is None and self.shared is not None:
            on_node = self.shared.find(node_name)
        return on_node

    def node_resources(self, node_name: str) -> tuple[NodeAllocatableResourceClaimStatus, ...]:
        """What the devices found for the node take of its resources."""
        on_node = self.by_node.get(node_name)
        return on_node.node_resources if on_node is not None else ()

    def to_allocate(self) -> list[ResourceClaim]:
        return [
            claim
            for claim in self.claims
            if claim.status.allocation is None and claim.metadata.uid not in self.pending
        ]

    def pending_pairs(self) -> list[tuple[ResourceClaim, AllocationResult]]:
        """The claims whose allocation another pod of the group has reserved."""
        return [
            (claim, self.pending[claim.metadata.uid])
            for claim in self.claims
            if claim.metadata.uid in self.pending
        ]
