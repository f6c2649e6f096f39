"""The claims of a pod, and what keeps it from using them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from apps.scheduler.cache.device_claims import DeviceClaims
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import (
    DeviceRequest,
    Pod,
    PodGroup,
    PodGroupResourceClaim,
    PodResourceClaim,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from apps.scheduler.plugins.helper.device_classes import ClassResolver

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
GROUP_API: Final = "scheduling.k8s.io"
GROUP_KIND: Final = "PodGroup"
GROUP_RESOURCE: Final = "podgroups"
EXTENDED_CLAIM: Final = "resource.kubernetes.io/extended-resource-claim"


class ClaimProblem(Exception):
    """A claim of the pod cannot be used; the message is the reason."""


def claim_name(pod: PodInfo, reference: PodResourceClaim) -> tuple[str, bool] | None:
    """(name, whether it is generated for the pod); None if no claim is needed.

    Raises ClaimProblem.
    """
    if reference.resource_claim_name is not None:
        return reference.resource_claim_name, False
    for status in pod.pod.status.resource_claim_statuses:
        if status.name == reference.name:
            name = status.resource_claim_name
            return None if name is None else (name, True)
    raise ClaimProblem(f'pod "{pod.key}": ResourceClaim not created yet')


def known_claim_names(pod: PodInfo) -> Iterator[str]:
    """The names of the pod's claims, without those that were not created yet."""
    for reference in pod.pod.spec.resource_claims:
        try:
            named = claim_name(pod, reference)
        except ClaimProblem:
            continue
        if named is not None:
            yield named[0]


def pod_claims(
    pod: PodInfo, claims: DeviceClaims, *, of_groups: bool = False
) -> list[ResourceClaim]:
    """The claims of ``spec.resourceClaims``; raises ClaimProblem.

    ``of_groups``: a generated claim may belong to the PodGroup (DRAWorkloadResourceClaims).
    """
    return list(_claims(pod, claims, of_groups))


def _claims(pod: PodInfo, claims: DeviceClaims, of_groups: bool) -> Iterator[ResourceClaim]:
    for reference in pod.pod.spec.resource_claims:
        named = claim_name(pod, reference)
        if named is None:
            continue
        name, generated = named
        claim = claims.get(name, pod.namespace)
        if claim is None:
            raise ClaimProblem(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimProblem(f'resourceclaim "{name}" is being deleted')
        if generated and not is_owned(claim, pod):
            _check_group_owner(claim, pod, of_groups)
        yield claim


def _check_group_owner(claim: ResourceClaim, pod: PodInfo, of_groups: bool) -> None:
    """ClaimProblem for a generated claim of another owner than the group of the pod."""
    why = "Pod is not owner"
    group = pod.pod.group_name
    if of_groups and group:
        if is_owned_by_group(claim, group):
            return
        why = f"neither Pod nor PodGroup {group} is the owner"
    raise ClaimProblem(f"ResourceClaim {claim.key} was not created for Pod {pod.key} ({why})")


def is_owned(claim: ResourceClaim, pod: PodInfo) -> bool:
    return any(
        owner.controller and owner.uid == pod.uid for owner in claim.metadata.owner_references
    )


def is_owned_by_group(claim: ResourceClaim, group: str) -> bool:
    """Whether the claim was generated for the PodGroup of that name."""
    return any(
        owner.controller
        and owner.kind == GROUP_KIND
        and owner.api_version.partition("/")[0] == GROUP_API
        and owner.name == group
        for owner in claim.metadata.owner_references
    )


def references_to(claim: ResourceClaim, pod: Pod) -> list[PodResourceClaim]:
    """The entries of ``spec.resourceClaims`` that mean this claim."""
    generated = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
    return [
        each
        for each in pod.spec.resource_claims
        if (each.resource_claim_name or generated.get(each.name)) == claim.metadata.name
    ]


def consumer(
    pod: PodInfo, claim: ResourceClaim, group: PodGroup | None = None
) -> ResourceClaimConsumerReference:
    """What the pod reserves the claim for: its group if that has an equal entry, else itself.

    ``group``: the PodGroup of the pod, with the gate DRAWorkloadResourceClaims.
    """
    if group is not None:
        shared = {_source(each) for each in group.spec.resource_claims}
        if any(_source(each) in shared for each in references_to(claim, pod.pod)):
            meta = group.metadata
            return ResourceClaimConsumerReference(
                api_group=GROUP_API, resource=GROUP_RESOURCE, name=meta.name, uid=meta.uid
            )
    return ResourceClaimConsumerReference(resource="pods", name=pod.name, uid=pod.uid)


def _source(reference: PodResourceClaim | PodGroupResourceClaim) -> tuple[str | None, ...]:
    return (
        reference.name,
        reference.resource_claim_name,
        reference.resource_claim_template_name,
    )


def is_reserved_for(claim: ResourceClaim, pod: PodInfo, *, of_groups: bool = False) -> bool:
    """``of_groups``: a reservation for the PodGroup is one for each of its pods."""
    group = pod.pod.group_name if of_groups else ""
    return any(
        each.uid == pod.uid or (bool(group) and is_reservation_of(each, group))
        for each in claim.status.reserved_for
    )


def is_reservation_of(reference: ResourceClaimConsumerReference, group: str) -> bool:
    """Whether the reservation is for the PodGroup of that name."""
    is_group = (reference.api_group, reference.resource) == (GROUP_API, GROUP_RESOURCE)
    return is_group and reference.name == group


def is_free_for(claim: ResourceClaim, pod: PodInfo, group: PodGroup | None = None) -> bool:
    """Nothing but the pod has reserved the claim, or ``group``, no pod of which has a node."""
    reserved = claim.status.reserved_for
    if group is not None and [each.uid for each in reserved] == [group.metadata.uid]:
        return True
    return all(each.uid == pod.uid for each in reserved)


def missing_class(claim: ResourceClaim, classes: ClassResolver) -> str:
    """Which class of a request does not exist; "" if all do."""
    for request in claim.spec.devices.requests:
        for name, device_class in _classes_of(request):
            if classes.get(device_class) is None:
                return f"request {name}: device class {device_class} does not exist"
    return ""


def _classes_of(request: DeviceRequest) -> Sequence[tuple[str, str]]:
    if request.exactly is not None:
        return [(request.name, request.exactly.device_class_name)]
    return [
        (f"{request.name}/{each.name}", each.device_class_name) for each in request.first_available
    ]
