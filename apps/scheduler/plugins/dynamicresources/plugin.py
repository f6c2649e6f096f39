"""The extension points of DynamicResources."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np

from apps.scheduler.framework import claim_allocations, intents
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import Diagnosis
from apps.scheduler.framework.events import ClusterEventWithHint, Resource
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import (
    AwaitedObject,
    PostFilterResult,
    PreFilterResult,
    Verdicts,
)
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns, Reads, constant
from apps.scheduler.framework.status import SKIP, Code, Status, error, unresolvable, unschedulable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import AllocationResult, Node, PodGroup, ResourceClaim
from apps.scheduler.plugins.dynamicresources import (
    binding,
    extended,
    hints,
    node_resources,
    refusal_details,
    writes,
)
from apps.scheduler.plugins.dynamicresources.args import DynamicResourcesArgs, check_args
from apps.scheduler.plugins.dynamicresources.features import DeviceFeatures
from apps.scheduler.plugins.dynamicresources.filtering import (
    REASON_INVALID_POOLS,
    REASON_NOT_ALLOCATABLE,
    REASON_UNAVAILABLE,
    NodeFilter,
)
from apps.scheduler.plugins.dynamicresources.holders import find_holders
from apps.scheduler.plugins.dynamicresources.known_searches import KnownSearches, SharedAllocations
from apps.scheduler.plugins.dynamicresources.matrix import (
    MatrixInputs,
    NodeDevices,
    compare_devices,
)
from apps.scheduler.plugins.dynamicresources.node_states import NodeStates
from apps.scheduler.plugins.dynamicresources.pod_resource_claims import (
    ClaimProblem,
    is_free_for,
    known_claim_names,
    missing_class,
    pod_claims,
)
from apps.scheduler.plugins.dynamicresources.pools import Slices
from apps.scheduler.plugins.dynamicresources.reservation import Reservation
from apps.scheduler.plugins.dynamicresources.scoring import describe_score, score_of
from apps.scheduler.plugins.dynamicresources.state import ClaimState
from apps.scheduler.plugins.helper.device_classes import ClassResolver
from apps.scheduler.plugins.helper.device_rows import shared_rows
from apps.scheduler.plugins.helper.normalize import (
    default_normalize_score,
    explain_default_normalization,
)

NAME: Final = "DynamicResources"
REASON_NO_CLAIMS: Final = "no new claims to deallocate"
REASON_DEALLOCATED: Final = "deallocation of ResourceClaim completed"
REASON_DELETED: Final = "deletion of ResourceClaim completed"
REASON_NO_HELP: Final = "still not schedulable"
#: upstream's message, a bug, when the PreFilter of an earlier plugin has ended the cycle
REASON_NOT_REACHED: Final = "not found"


class DynamicResources:
    """Allocates devices to the claims of a pod."""

    name = NAME
    is_idle_when_skipped = True
    sign_reads: Reads = "nodes"
    normalizes_by_extremes = True
    args_type = DynamicResourcesArgs
    check_args = staticmethod(check_args)
    default_weight = 2

    def __init__(self, args: DynamicResourcesArgs | None, handle: Handle) -> None:
        self._args = args or DynamicResourcesArgs()
        self._handle = handle
        self._claims = handle.listers.device_claims
        self._features = DeviceFeatures.of(handle.gates)
        self._classes = ClassResolver(handle.listers, handle.gates)
        self._slices: tuple[int, Slices] = (-1, Slices(()))
        self._states = NodeStates(self._claims.pools_log)
        self._searches = KnownSearches()
        self._hints = hints.Hints(self._claims, self._features)
        #: chooses the name of a claim that is created
        self.choose_name = writes.generate_name

    def sign(self, pod: PodInfo) -> Hashable | None:
        if pod.pod.spec.resource_claims:
            return None
        if any(self._classes.backing(name) is not None for name in pod.spec_requests):
            return None
        return (self._classes.version,)

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        return None if pod.pod.spec.resource_claims else ()

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        try:
            pod_claims(pod, self._claims, of_groups=self._features.of_groups)
        except ClaimProblem as problem:
            return unresolvable(str(problem))
        return None

    def awaited(self, pod: PodInfo) -> frozenset[AwaitedObject]:
        """The claims of the pod whose names are known; the others follow with its status."""
        return frozenset(
            (Resource.RESOURCE_CLAIM, pod.namespace, name) for name in known_claim_names(pod)
        )

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[PreFilterResult | None, Status | None]:
        claim_state = ClaimState()
        state.write(NAME, claim_state)
        try:
            claims = pod_claims(pod, self._claims, of_groups=self._features.of_groups)
        except ClaimProblem as problem:
            return None, unresolvable(str(problem))
        group, reason = self._group_of(pod)
        if reason:
            return None, unresolvable(reason)
        resources = extended.backed_resources(pod, self._classes)
        if not claims and not resources:
            return None, SKIP
        reason = self._why_not(claims)
        if reason:
            return None, unresolvable(reason)
        claim_state.claims, claim_state.resources, claim_state.group = claims, resources, group
        claim_state.pending = self._pending(claims)
        if resources:
            left_over = extended.find_claim(pod, self._claims)
            claim_state.extended = left_over or extended.new_claim(pod)
        claim_state.allocated = self._features.view_of_allocated(self._claims.allocated())
        claim_state.slices = self._current_slices()
        counts_resources = self._features.node_resources and claim_state.slices.have_mapped_devices
        if self._features.node_resources:
            claim_allocations.write_resources(state, claim_state)
        if (
            not claim_state.extended
            and len(claim_state.to_allocate()) == len(claims)
            and not counts_resources
        ):
            self._share_searches(claim_state)
        return None, None

    def _group_of(self, pod: PodInfo) -> tuple[PodGroup | None, str]:
        """The group for which the pod reserves common claims, and why it cannot be tried."""
        name = pod.pod.group_name
        if not self._features.of_groups or not name:
            return None, ""
        group = self._handle.listers.pod_groups.get(name, pod.namespace)
        missing = f'podgroup.scheduling.k8s.io "{name}" not found'
        return group, "" if group is not None else missing

    def _pending(self, claims: Sequence[ResourceClaim]) -> dict[str, AllocationResult]:
        """The allocations in flight that the pod shares with others of its group."""
        return {
            claim.metadata.uid: allocation
            for claim in claims
            if claim.status.allocation is None
            and (allocation := self._claims.shared_allocation(claim.metadata.uid)) is not None
        }

    def _share_searches(self, claim_state: ClaimState) -> None:
        """One search serves all nodes with equal devices, of which the same ones are in use."""
        self._states.update(self._handle.snapshot, claim_state.slices, claim_state.allocated)
        results = self._searches.of(claim_state.claims, self._classes.version, self._states.epoch)
        claim_state.shared = SharedAllocations(claim_state.claims, self._states, results)

    def _why_not(self, claims: Sequence[ResourceClaim]) -> str:
        for claim in claims:
            if claim.status.allocation is not None:
                continue
            if self._claims.shared_allocation(claim.metadata.uid) is not None:
                continue
            if self._claims.is_in_flight(claim.metadata.uid):
                return f"resource claim {claim.key} is in the process of being allocated"
            refused = self._features.refused_request(claim)
            if refused:
                return refused
            missing = missing_class(claim, self._classes)
            if missing:
                return missing
        return ""

    def _current_slices(self) -> Slices:
        lister = self._handle.listers.resource_slices
        if self._slices[0] != lister.version:
            self._slices = lister.version, Slices(self._features.view_of_slices(lister))
        return self._slices[1]

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        return self.filter_rows(state, pod, nodes, np.flatnonzero(nodes.alive))

    def filter_rows(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Verdicts:
        """Errors come first among the statuses, by text: the least ends the attempt."""
        claim_state = state.read(NAME, ClaimState)
        node_filter = NodeFilter(claim_state, pod, self._classes, self._is_unusable, self._features)
        answers: dict[int, Status | None] = {}
        if claim_state.shared is not None:
            states = self._states.at(nodes.snapshot_rows[rows])
            refused, rows = node_filter.filter_alike(
                states, nodes, rows, claim_state.shared.results
            )
            answers = dict.fromkeys(refused.tolist(), unresolvable(REASON_NOT_ALLOCATABLE))
        answers |= {int(row): node_filter.filter(nodes.info(int(row))) for row in rows}
        distinct = sorted(
            {answer for answer in answers.values() if answer is not None},
            key=lambda status: (status.code is not Code.ERROR, status.message),
        )
        numbers = {status: number for number, status in enumerate(distinct, 1)}
        ids = np.zeros(len(nodes), dtype=np.uint16)
        for row, answer in answers.items():
            if answer is not None:
                ids[row] = numbers[answer]
        return Verdicts(ids, [None, *distinct])

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        """The devices of the node, and what says no to them."""
        claim_state, node = state.read(NAME, ClaimState), nodes.info(0).node
        assert node is not None
        reason = status.reasons[0] if status.reasons else ""
        if reason == REASON_UNAVAILABLE:
            node_filter = NodeFilter(
                claim_state, pod, self._classes, self._is_unusable, self._features
            )
            for index in sorted(node_filter.unavailable(node)):
                claim = claim_state.claims[index]
                unusable = self._is_unusable(claim)
                yield refusal_details.describe_unavailable(claim, node, is_unusable=unusable)
        elif reason == REASON_INVALID_POOLS:
            yield from refusal_details.describe_pools(claim_state.slices.gather(node))
        elif node_resources.is_about_room(reason):
            node_filter = NodeFilter(
                claim_state, pod, self._classes, self._is_unusable, self._features
            )
            taken = node_filter.taken_by_devices(node)
            yield from node_resources.describe_room(pod, nodes.info(0), status, taken)
        elif reason.startswith(node_resources.REASON_CLAIM):
            for claim in claim_state.claims:
                if node_resources.check_sharing(pod, claim, nodes.info(0)) is not None:
                    yield node_resources.describe_users(claim, nodes.info(0))
        elif reason == REASON_NOT_ALLOCATABLE:
            yield from refusal_details.describe_matrix(self.compare_devices(state, pod, node))

    def compare_devices(self, state: CycleState, pod: PodInfo, node: Node) -> NodeDevices:
        """The devices of a node with the requests of the pod's claims that are not allocated."""
        claim_state = state.find(NAME, ClaimState)
        if claim_state is None or claim_state.is_empty:
            return NodeDevices(node.metadata.name)
        node_filter = NodeFilter(claim_state, pod, self._classes, self._is_unusable, self._features)
        needed, _ = node_filter.needed_resources(node)
        claims, _ = node_filter.claims_to_allocate(needed)
        holders = find_holders(self._claims)
        inputs = MatrixInputs(
            claim_state.allocated,
            self._classes.get,
            shared_rows(lists=self._features.lists),
            holders,
            self._features,
        )
        return compare_devices(node, claim_state.slices.gather(node), claims, inputs)

    def _is_unusable(self, claim: ResourceClaim) -> bool:
        if not self._features.binding_conditions:
            return False
        return binding.is_unusable(claim, self._handle.clock.now(), self._args.binding_timeout)

    def post_filter(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        claim_state = state.find(NAME, ClaimState)
        if claim_state is None:
            return None, error(REASON_NOT_REACHED)
        if claim_state.is_empty:
            return None, unschedulable(REASON_NO_CLAIMS)
        candidates = deallocation_candidates(claim_state, pod, self._idle_group(claim_state, pod))
        if candidates:
            chosen = candidates[self._handle.draw(len(candidates))]
            # The allocation of a pod of the same group may be in flight: that one stays.
            if chosen.status.allocation is not None:
                intents.add(state, writes.deallocate(chosen))
            return None, unschedulable(REASON_DEALLOCATED)
        if claim_state.extended is not None and not extended.is_in_memory(claim_state.extended):
            self._reservation(claim_state, pod, state).delete_left_over(claim_state.extended)
            return None, unschedulable(REASON_DELETED)
        return None, unschedulable(REASON_NO_HELP)

    def _idle_group(self, claim_state: ClaimState, pod: PodInfo) -> PodGroup | None:
        """The group of the pod if no pod of it has a node: its claims are not in use."""
        placed = self._handle.pod_groups.of(pod.pod).placed
        return None if placed else claim_state.group

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        """The better alternatives of firstAvailable, summed."""
        claim_state = state.find(NAME, ClaimState)
        if claim_state is None or not claim_state.claims or not self._features.alternatives:
            return constant(len(rows), 0)
        if not any(
            each.first_available for c in claim_state.claims for each in c.spec.devices.requests
        ):
            return constant(len(rows), 0)
        names = [nodes.info(int(row)).name for row in rows]
        return np.array([score_of(claim_state, name) for name in names], dtype=np.int64)

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        """The alternative that each request gets on the node."""
        claim_state = state.find(NAME, ClaimState) or ClaimState()
        return describe_score(claim_state, nodes.info(0).name)

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Int64Array) -> Int64Array:
        return default_normalize_score(scores)

    def explain_normalization(
        self, state: CycleState, pod: PodInfo, scores: Int64Array, place: int
    ) -> Iterator[Detail]:
        return explain_default_normalization(scores, place)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        claim_state = state.find(NAME, ClaimState)
        if claim_state is not None and not claim_state.is_empty:
            claim_state.reserved.clear()
            claim_state.waiting_since = None
            reservation = self._reservation(claim_state, pod, state)
            reservation.reserve(node_name)
            claim_allocations.write(state, reservation.allocations(node_name))
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        claim_state = state.find(NAME, ClaimState)
        if claim_state is not None:
            self._reservation(claim_state, pod, state).unreserve(node_name)

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        claim_state = state.find(NAME, ClaimState)
        if claim_state is None or claim_state.is_empty:
            return None
        reservation = self._reservation(claim_state, pod, state)
        note = f"waiting for binding conditions for device on node {node_name}"
        if claim_state.waiting_since is not None:
            return self._ask_again(claim_state, reservation, note)
        claim_state.failed = False
        try:
            ready = reservation.bind(node_name, self._handle.clock.now(), self.choose_name)
        except writes.WriteRefused as refused:
            claim_state.failed, claim_state.refused = True, refused.write
            return error(str(refused))
        claim_allocations.write(state, reservation.allocations(node_name))
        if not self._features.binding_conditions:
            return None
        if any(map(binding.has_conditions, claim_state.reserved.values())):
            event = intents.PodEvent(
                pod.namespace,
                pod.name,
                pod.uid,
                binding.REASON_PENDING,
                note,
                "Scheduling",
                reporter=pod.pod.spec.scheduler_name,
                version=pod.pod.metadata.resource_version,
            )
            intents.add(state, event)
        if ready:
            return None
        claim_state.waiting_since = self._handle.clock.now()
        return Status(Code.PENDING, (note,))

    def _ask_again(
        self, claim_state: ClaimState, reservation: Reservation, note: str
    ) -> Status | None:
        """Whether the conditions have come true since PreBind has written the claims."""
        assert claim_state.waiting_since is not None
        problem, ready = reservation.look_again()
        if ready:
            return None
        if not problem:
            over = (
                self._handle.clock.now() - claim_state.waiting_since >= self._args.binding_timeout
            )
            problem = "device binding timeout" if over else ""
        return error(problem) if problem else Status(Code.PENDING, (note,))

    def _reservation(self, claim_state: ClaimState, pod: PodInfo, state: CycleState) -> Reservation:
        return Reservation(claim_state, pod, self._claims, partial(intents.add, state))

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return self._hints.events()


def deallocation_candidates(
    claim_state: ClaimState, pod: PodInfo, idle_group: PodGroup | None = None
) -> list[ResourceClaim]:
    """The claims that PostFilter may deallocate: some node cannot use them, no other pod does.

    ``idle_group``: a reservation for it does not count, as no pod of it has a node.
    """
    return [
        claim_state.claims[index]
        for index in sorted(claim_state.unavailable)
        if is_free_for(claim_state.claims[index], pod, idle_group)
    ]
