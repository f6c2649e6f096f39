"""What devices take of the resources of their node: gate DRANodeAllocatableResources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from apps import quantity
from apps.scheduler.framework import resources
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from apps.scheduler.framework.status import Code, Status, unresolvable
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.objects import (
    NodeAllocatableResourceClaimStatus,
    NodeAllocatableResourceMapping,
    Pod,
    ResourceClaim,
)
from apps.scheduler.plugins.dynamicresources.device_search import AllocationError, Pick, Solution
from apps.scheduler.plugins.dynamicresources.pod_resource_claims import references_to
from apps.scheduler.plugins.helper.resource_text import amount

_INSUFFICIENT: Final = "Insufficient "
REASON_CLAIM: Final = "node allocatable resource claim "
_NANO: Final = 10**9
#: an exact amount in 10⁻⁹ units, and the notation in which it is written
_Amount = tuple[int, quantity.Format]

ClaimStatuses = tuple[NodeAllocatableResourceClaimStatus, ...]


def has_mapped_devices(solution: Solution) -> bool:
    """Whether any allocated device takes resources of its node."""
    return any(
        pick.candidate.device.node_allocatable_resource_mappings
        for picks in solution.picks
        for pick in picks
    )


def claim_statuses(
    pod: PodInfo,
    referenced: Sequence[ResourceClaim],
    allocated: Sequence[ResourceClaim],
    solution: Solution,
) -> ClaimStatuses:
    """What each claim takes of the node, by the names of claims; raises AllocationError.

    ``referenced``: the claims of ``spec.resourceClaims``; ``allocated``: those of the solution.
    """
    uids = {claim.metadata.uid for claim in referenced}
    statuses = []
    for claim, picks in zip(allocated, solution.picks, strict=True):
        amounts = _amounts(claim, picks)
        if amounts:
            names = _containers(pod, claim) if claim.metadata.uid in uids else ()
            written: dict[str, quantity.Quantity] = {
                name: quantity.format_nanos(*amounts[name]) for name in sorted(amounts)
            }
            statuses.append(
                NodeAllocatableResourceClaimStatus(claim.metadata.name, tuple(names), written)
            )
    return tuple(sorted(statuses, key=lambda status: status.resource_claim_name))


def _amounts(claim: ResourceClaim, picks: Iterable[Pick]) -> dict[str, _Amount]:
    """What the devices take, by resource. A sum is written as its first part is."""
    total: dict[str, _Amount] = {}
    for pick in picks:
        mappings = pick.candidate.device.node_allocatable_resource_mappings
        for name, mapping in sorted(mappings.items()):
            taken = _taken(claim, pick, name, mapping)
            if taken is None:
                continue
            known, notation = total.get(name, (0, taken[1]))
            total[name] = known + taken[0], notation if known else taken[1]
    return total


def _taken(
    claim: ResourceClaim, pick: Pick, resource: str, mapping: NodeAllocatableResourceMapping
) -> _Amount | None:
    """What one device takes of the resource; None if it has no such capacity."""
    key, multiplier = mapping.capacity_key, mapping.allocation_multiplier
    if not key:
        return _parse(multiplier) if multiplier is not None else (0, "DecimalSI")
    device = pick.candidate.device
    if not device.allow_multiple_allocations:
        raise AllocationError(
            f"claim {claim.key}, device {device.name}: ConsumedCapacity is nil, but Capacity key "
            f"'{key}' is set in NodeAllocatableResourceMappings for resource {resource}"
        )
    if key not in pick.consumed:
        return None
    consumed, notation = _parse(pick.consumed[key])
    if multiplier is None:
        return consumed, notation
    product = consumed * _parse(multiplier)[0]
    return -(-product // _NANO), notation


def _parse(amount: quantity.Quantity) -> _Amount:
    parsed = quantity.parse(amount)
    return parsed.nanos, parsed.format


def _containers(pod: PodInfo, claim: ResourceClaim) -> Iterator[str]:
    """The containers that refer to the claim, init containers first."""
    names = {each.name for each in references_to(claim, pod.pod)}
    for container in (*pod.pod.spec.init_containers, *pod.pod.spec.containers):
        for reference in container.resources.claims:
            if reference.name in names:
                yield container.name


def _names_of(pod: Pod, claim: ResourceClaim) -> set[str]:
    """The names that the claim has in the pod."""
    generated = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
    return {
        each.name
        for each in pod.spec.resource_claims
        if (each.resource_claim_name or generated.get(each.name)) == claim.metadata.name
    }


def with_statuses(pod: Pod, statuses: ClaimStatuses) -> Pod:
    """The pod as its status will be."""
    status = msgspec.structs.replace(pod.status, node_allocatable_resource_claim_statuses=statuses)
    return msgspec.structs.replace(pod, status=status)


def check_room(pod: PodInfo, node: NodeInfo, statuses: ClaimStatuses) -> Status | None:
    """Whether the node has room for the pod together with its devices."""
    for each in statuses:
        if not each.containers:
            return unresolvable(
                f"claim {each.resource_claim_name}: node-allocatable resource claim not "
                "referenced by any container within the pod"
            )
    counted = with_statuses(pod.pod, statuses)
    demand = resources.requests_with_devices(counted)
    return _exceeds_pod_level(counted, demand) or _fits(demand, node)


def _exceeds_pod_level(pod: Pod, demand: Mapping[str, int]) -> Status | None:
    if pod.spec.resources is None or not pod.spec.resources.requests:
        return None
    parts = resources.requests_with_devices(pod, pod_level=False)
    for name in sorted(demand):
        if parts.get(name, 0) > demand[name]:
            return unresolvable(
                f"pod level request for {name} is insufficient to cover the aggregated container "
                "and node-allocatable DRA requests"
            )
    return None


def _fits(demand: Mapping[str, int], node: NodeInfo) -> Status | None:
    short = [name for name in _counted(demand) if demand[name] > _free(node, name)]
    if not short:
        return None
    helpless = any(demand[name] > node.allocatable.get(name, 0) for name in short)
    code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if helpless else Code.UNSCHEDULABLE
    return Status(code, tuple(_INSUFFICIENT + name for name in short))


def _counted(demand: Mapping[str, int]) -> Iterator[str]:
    for name in (CPU, MEMORY, EPHEMERAL_STORAGE):
        if demand.get(name, 0) > 0:
            yield name
    yield from sorted(name for name in demand if name.startswith("hugepages-"))


def _free(node: NodeInfo, name: str) -> int:
    return node.allocatable.get(name, 0) - node.requested.get(name, 0)


def check_sharing(pod: PodInfo, claim: ResourceClaim, node: NodeInfo) -> Status | None:
    """A claim that takes resources of the node can be used by one pod there."""
    users = users_of(claim, node)
    name = claim.metadata.name
    if len(users) > 1:
        return unresolvable(f"{REASON_CLAIM}{name} shared by multiple pods")
    if users and users[0].uid != pod.uid:
        return unresolvable(f"{REASON_CLAIM}{name} is already used by another pod")
    return None


def users_of(claim: ResourceClaim, node: NodeInfo) -> list[PodInfo]:
    """The pods on the node for which devices of the claim take resources of it."""
    meta = claim.metadata
    return [
        each
        for each in node.pods.values()
        if each.namespace == meta.namespace
        and any(
            status.resource_claim_name == meta.name
            for status in each.pod.status.node_allocatable_resource_claim_statuses
        )
    ]


def is_about_room(reason: str) -> bool:
    return reason.startswith(_INSUFFICIENT)


def describe_room(
    pod: PodInfo, node: NodeInfo, status: Status, statuses: ClaimStatuses
) -> Iterator[Detail]:
    """ "needs cpu 6 (devices take 4 of it), free 5 of 8"."""
    counted = with_statuses(pod.pod, statuses)
    demand = resources.requests_with_devices(counted)
    for reason in status.reasons:
        name = reason.removeprefix(_INSUFFICIENT)
        needed, has = demand.get(name, 0), node.allocatable.get(name, 0)
        taken = {
            each.resource_claim_name: each.resources[name]
            for each in statuses
            if name in each.resources
        }
        devices = ", ".join(f"claim {claim} takes {given}" for claim, given in taken.items())
        figures = {
            "resource": name,
            "needed": amount(name, needed),
            "claims": taken,
            "free": amount(name, _free(node, name)),
            "allocatable": amount(name, has),
            "requested": amount(name, node.requested.get(name, 0)),
        }
        text = f"needs {name} {amount(name, needed)}"
        text += f", of which {devices}" if devices else ""
        text += f"; free {amount(name, _free(node, name))} of {amount(name, has)}"
        yield Detail(text, figures)


def describe_users(claim: ResourceClaim, node: NodeInfo) -> Detail:
    """Who uses an allocated claim on the node."""
    pods = sorted(each.key for each in users_of(claim, node))
    text = (
        f"claim {claim.key} takes resources of the node, so that one pod can use it; it is used "
        f"by {', '.join(pods)}"
    )
    return Detail(text, {"claim": claim.key, "pods": pods})
