"""The claims of a pod, and what keeps it from using them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from apps.scheduler.cache.device_claims import DeviceClaims
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import (
    DeviceRequest,
    PodResourceClaim,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from apps.scheduler.plugins.helper.device_classes import ClassResolver

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
EXTENDED_CLAIM: Final = "resource.kubernetes.io/extended-resource-claim"


class ClaimProblem(Exception):
    """A claim of the pod cannot be used; the message is the reason."""


def claim_name(pod: PodInfo, reference: PodResourceClaim) -> tuple[str, bool] | None:
    """(name, whether it is generated for the pod); None if no claim is needed. ClaimProblem."""
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
            found = claim_name(pod, reference)
        except ClaimProblem:
            continue
        if found is not None:
            yield found[0]


def pod_claims(pod: PodInfo, claims: DeviceClaims) -> list[ResourceClaim]:
    """The claims of ``spec.resourceClaims``; ClaimProblem."""
    return list(_claims(pod, claims))


def _claims(pod: PodInfo, claims: DeviceClaims) -> Iterator[ResourceClaim]:
    for reference in pod.pod.spec.resource_claims:
        found = claim_name(pod, reference)
        if found is None:
            continue
        name, generated = found
        claim = claims.get(name, pod.namespace)
        if claim is None:
            raise ClaimProblem(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimProblem(f'resourceclaim "{name}" is being deleted')
        if generated and not is_owned(claim, pod):
            raise ClaimProblem(
                f"ResourceClaim {claim.key} was not created for Pod {pod.key} (Pod is not owner)"
            )
        yield claim


def is_owned(claim: ResourceClaim, pod: PodInfo) -> bool:
    return any(
        owner.controller and owner.uid == pod.uid for owner in claim.metadata.owner_references
    )


def consumer(pod: PodInfo) -> ResourceClaimConsumerReference:
    return ResourceClaimConsumerReference(resource="pods", name=pod.name, uid=pod.uid)


def is_reserved_for(claim: ResourceClaim, pod: PodInfo) -> bool:
    return any(each.uid == pod.uid for each in claim.status.reserved_for)


def is_free_for(claim: ResourceClaim, pod: PodInfo) -> bool:
    """Nothing but the pod has reserved the claim."""
    return all(each.uid == pod.uid for each in claim.status.reserved_for)


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
