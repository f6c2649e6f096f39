"""The writes that PreBind, Unreserve and PostFilter request for claims."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Callable
from typing import Any, Final

import msgspec

from apps.scheduler.framework.intents import Creation, Intent, MergePatch
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import (
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from apps.scheduler.objects.decoding import as_json
from apps.scheduler.plugins.dynamicresources import extended
from apps.scheduler.plugins.dynamicresources.extended import Mappings
from apps.scheduler.plugins.dynamicresources.node_resources import ClaimStatuses
from apps.scheduler.plugins.dynamicresources.pod_resource_claims import FINALIZER

KIND: Final = "ResourceClaim"
MOST_CONSUMERS: Final = 256
#: the letters of generated names in Kubernetes
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_BASE: Final = 58

Add = Callable[[Intent], None]


class WriteRefused(Exception):
    """The API server would reject a write; none is requested."""

    def __init__(self, message: str, write: MergePatch | None = None) -> None:
        super().__init__(message)
        self.write = write


def generate_name(base: str) -> str:
    """A name for an object with ``generateName``."""
    return base[:_LONGEST_BASE] + "".join(secrets.choice(_LETTERS) for _ in range(5))


def create(claim: ResourceClaim, name: str, add: Add) -> ResourceClaim:
    """Create the claim for extended resources under this name."""
    meta = msgspec.structs.replace(
        claim.metadata, name=name, uid=f"{claim.metadata.namespace}/{name}"
    )
    created = msgspec.structs.replace(claim, metadata=meta, status=ResourceClaimStatus())
    body = as_json(created)
    del body["metadata"]["uid"]
    body.pop("status", None)
    api = {"apiVersion": "resource.k8s.io/v1", "kind": KIND}
    add(Creation(KIND, meta.namespace, name, {**api, **body}))
    return created


def bind(
    claim: ResourceClaim,
    allocation: AllocationResult | None,
    user: ResourceClaimConsumerReference,
    now: float,
    add: Add,
) -> ResourceClaim:
    """Write the finalizer, the allocation and the reservation for ``user``; raises WriteRefused."""
    if allocation is not None and FINALIZER not in claim.metadata.finalizers:
        finalizers = (*claim.metadata.finalizers, FINALIZER)
        claim = _with_finalizers(claim, finalizers)
        add(_patch(claim, {"metadata": {"finalizers": list(finalizers)}}))
    status = claim.status
    known = status.allocation
    written = allocation or known
    assert written is not None
    if written.allocation_timestamp is None:
        written = msgspec.structs.replace(written, allocation_timestamp=_timestamp(now))
    reserved = (*status.reserved_for, user)
    bound = msgspec.structs.replace(
        claim, status=msgspec.structs.replace(status, allocation=written, reserved_for=reserved)
    )
    body: dict[str, Any] = {"reservedFor": as_json(reserved)}
    if allocation is not None or written is not known:
        body["allocation"] = allocation_body(written)
    patch = _patch(claim, {"status": body}, "status")
    problem = _problem(known, written, len(reserved))
    if problem:
        what = "allocation and reservation" if allocation is not None else "reservation"
        invalid = f'ResourceClaim.resource.k8s.io "{claim.metadata.name}" is invalid: {problem}'
        raise WriteRefused(f"add {what} to claim {claim.key}: {invalid}", patch)
    add(patch)
    return bound


def allocation_body(allocation: AllocationResult) -> dict[str, Any]:
    body: dict[str, Any] = as_json(allocation)
    return {"devices": {}, **body}


def _problem(known: AllocationResult | None, written: AllocationResult, consumers: int) -> str:
    """What validation refuses."""
    if known is not None and written is not known:
        value = msgspec.json.encode(allocation_body(known)).decode()
        return f"status.allocation: Invalid value: {value}: field is immutable"
    if consumers > MOST_CONSUMERS:
        limit = f"Too many: {consumers}: must have at most {MOST_CONSUMERS} items"
        return f"status.reservedFor: {limit}"
    return ""


def note_extended(pod: PodInfo, claim: ResourceClaim, mappings: Mappings) -> MergePatch:
    """The pod's status names the claim; WriteRefused without anything to map."""
    if not mappings:
        raise WriteRefused(
            f"nil or empty request mappings, no update of pod {pod.key} ExtendedResourceClaimStatus"
        )
    status = {
        "requestMappings": as_json(mappings),
        "resourceClaimName": claim.metadata.name,
    }
    patch = {"status": {"extendedResourceClaimStatus": status}}
    return MergePatch("Pod", pod.namespace, pod.name, patch, "status")


def note_node_resources(pod: PodInfo, statuses: ClaimStatuses) -> MergePatch:
    """The pod's status says what its claims take of the node; () removes it."""
    patch = {"status": {"nodeAllocatableResourceClaimStatuses": as_json(statuses) or None}}
    return MergePatch("Pod", pod.namespace, pod.name, patch, "status")


def deallocate(claim: ResourceClaim) -> MergePatch:
    """What drivers have reported about the devices goes with the allocation."""
    status = {"allocation": None, "reservedFor": None, "devices": None}
    return _patch(claim, {"status": status}, "status")


def remove_reservation(claim: ResourceClaim, pod: PodInfo) -> MergePatch:
    others = [each for each in claim.status.reserved_for if each.uid != pod.uid]
    status = {"reservedFor": as_json(others) or None}
    return _patch(claim, {"status": status}, "status")


def remove_finalizer(claim: ResourceClaim) -> MergePatch:
    others = [each for each in claim.metadata.finalizers if each != FINALIZER]
    return _patch(claim, {"metadata": {"finalizers": others or None}})


def _with_finalizers(claim: ResourceClaim, finalizers: tuple[str, ...]) -> ResourceClaim:
    meta = msgspec.structs.replace(claim.metadata, finalizers=finalizers)
    return msgspec.structs.replace(claim, metadata=meta)


def _patch(claim: ResourceClaim, patch: dict[str, Any], subresource: str = "") -> MergePatch:
    assert not extended.is_in_memory(claim)
    return MergePatch(KIND, claim.metadata.namespace, claim.metadata.name, patch, subresource)


def _timestamp(now: float) -> str:
    return datetime.datetime.fromtimestamp(now, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
