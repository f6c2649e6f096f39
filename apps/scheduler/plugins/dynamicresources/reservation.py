"""Reserve, Unreserve and PreBind for the claims of one pod."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from apps.scheduler.cache.device_claims import DeviceClaims
from apps.scheduler.framework.claim_allocations import ClaimAllocation
from apps.scheduler.framework.intents import Deletion, Intent
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import AllocationResult, ResourceClaim
from apps.scheduler.plugins.dynamicresources import binding, extended, writes
from apps.scheduler.plugins.dynamicresources.pod_resource_claims import (
    EXTENDED_CLAIM,
    consumer,
    is_reserved_for,
)
from apps.scheduler.plugins.dynamicresources.state import ClaimState, NodeAllocation


class Reservation:
    """``add`` requests a write, to be committed with the decision."""

    def __init__(
        self, state: ClaimState, pod: PodInfo, claims: DeviceClaims, add: Callable[[Intent], None]
    ) -> None:
        self._state, self._pod, self._claims, self._add = state, pod, claims, add

    def reserve(self, node_name: str) -> None:
        """The allocations that Filter found for the node are in flight from now on."""
        allocated = self._state.allocation_on(node_name)
        if allocated is not None:
            # From now on the devices are in use: the same search would find others.
            self._state.by_node[node_name] = allocated
        for claim, allocation in allocated.pairs() if allocated is not None else ():
            status = msgspec.structs.replace(claim.status, allocation=allocation)
            self._claims.reserve(msgspec.structs.replace(claim, status=status), self._pod.uid)

    def allocations(self, node_name: str) -> Iterator[ClaimAllocation]:
        """What each claim of the pod has or gets on the node, as PreBind has left it."""
        on_node = self._state.by_node.get(node_name)
        given = _by_uid(on_node)
        statuses = on_node.node_resources if on_node is not None else ()
        taken = {each.resource_claim_name: dict(each.resources) for each in statuses}
        for claim in self._claims_of(on_node):
            uid = claim.metadata.uid
            now = self._state.reserved.get(uid, claim)
            allocation = now.status.allocation or given.get(uid)
            if allocation is None:
                continue
            meta, devices = now.metadata, allocation.devices
            plain = msgspec.structs.replace(
                allocation, devices=msgspec.structs.replace(devices, config=())
            )
            yield ClaimAllocation(
                meta.namespace,
                meta.name,
                meta.uid,
                plain,
                is_known=uid not in given or uid in self._state.pending,
                is_written=uid in self._state.reserved,
                node_resources=taken.get(meta.name, {}),
            )

    def unreserve(self, node_name: str) -> None:
        """Allocations are no longer in flight; what PreBind has requested is undone."""
        state = self._state
        on_node = state.by_node.get(node_name)
        for claim in on_node.claims if on_node is not None else ():
            self._claims.release(claim.metadata.uid, self._pod.uid)
        for claim in state.assumed:
            self._claims.restore(claim)
            if state.failed or state.waiting_since is not None:
                self._undo(claim)
        if state.noted_resources:
            self._add(writes.note_node_resources(self._pod, ()))
        state.assumed.clear()
        state.failed, state.waiting_since, state.noted_resources = False, None, False

    def _undo(self, claim: ResourceClaim) -> None:
        """A claim of the user stays allocated; that for extended resources is deleted.

        A reservation for the group stays: other pods of it may need the claim.
        """
        if claim.metadata.annotations.get(EXTENDED_CLAIM) == "true":
            self.delete_left_over(claim)
        elif is_reserved_for(claim, self._pod):
            self._add(writes.remove_reservation(claim, self._pod))

    def bind(self, node_name: str, now: float, choose_name: Callable[[str], str]) -> bool:
        """Write what Reserve decided; False: conditions of devices have to come true first.

        Raises WriteRefused.
        """
        on_node = self._state.by_node.get(node_name)
        allocations = _by_uid(on_node)
        ready = True
        for claim in self._claims_of(on_node):
            allocation = allocations.get(claim.metadata.uid)
            if claim.metadata.uid in self._state.pending or self._written_by_group(claim):
                claim = self._claims.get(claim.metadata.name, claim.metadata.namespace) or claim
                allocation = None if claim.status.allocation is not None else allocation
            if is_reserved_for(claim, self._pod, of_groups=self._state.group is not None):
                self._claims.release(claim.metadata.uid, self._pod.uid)
                bound = claim
            else:
                bound = self._bind(claim, allocation, now, choose_name)
            self._state.reserved[claim.metadata.uid] = bound
            ready = ready and binding.is_ready(bound)
        if (
            on_node is not None
            and self._state.extended is not None
            and extended.is_in_memory(self._state.extended)
        ):
            created = self._state.reserved.get(self._state.extended.metadata.uid)
            if created is not None:
                self._add(writes.note_extended(self._pod, created, on_node.mappings))
        if on_node is not None and on_node.node_resources:
            self._add(writes.note_node_resources(self._pod, on_node.node_resources))
            self._state.noted_resources = True
        return ready

    def _written_by_group(self, claim: ResourceClaim) -> bool:
        """Another pod of the group may have written the allocation since this pod was tried."""
        return bool(self._pod.pod.group_name) and not extended.is_in_memory(claim)

    def look_again(self) -> tuple[str, bool]:
        """What is wrong with the claims that ``bind`` has written, and whether all are ready."""
        ready = True
        for bound in self._state.reserved.values():
            meta = bound.metadata
            claim = self._claims.get(meta.name, meta.namespace)
            if claim is None:
                return f'resourceclaim.resource.k8s.io "{meta.name}" not found', False
            failure = binding.find_failure(claim)
            if failure:
                return failure, False
            ready = ready and binding.is_ready(claim)
        return "", ready

    def _claims_of(self, allocated: NodeAllocation | None) -> list[ResourceClaim]:
        claims = list(self._state.claims)
        if allocated is not None:
            claims += [claim for claim in allocated.claims if extended.is_in_memory(claim)]
        return claims

    def _bind(
        self,
        claim: ResourceClaim,
        allocation: AllocationResult | None,
        now: float,
        choose_name: Callable[[str], str],
    ) -> ResourceClaim:
        uid = claim.metadata.uid
        if extended.is_in_memory(claim):
            name = choose_name(claim.metadata.generate_name)
            claim = writes.create(claim, name, self._add)
        user = consumer(self._pod, claim, self._state.group)
        bound = writes.bind(claim, allocation, user, now, self._add)
        self._claims.assume(bound)
        self._claims.release(uid, self._pod.uid)
        self._state.assumed.append(bound)
        return bound

    def delete_left_over(self, claim: ResourceClaim) -> None:
        """Delete the claim for extended resources of an earlier attempt."""
        self._add(writes.remove_finalizer(claim))
        self._add(Deletion(writes.KIND, claim.metadata.namespace, claim.metadata.name))


def _by_uid(allocated: NodeAllocation | None) -> dict[str, AllocationResult]:
    pairs = allocated.pairs() if allocated is not None else ()
    return {claim.metadata.uid: allocation for claim, allocation in pairs}
