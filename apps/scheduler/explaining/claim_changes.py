"""Changes of claims that may make a pod fit: a device is freed, a taint tolerated, less asked for.

Each is tried on the claims as the scheduler knows them, and undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apps.scheduler.cache.device_claims import DeviceClaims
from apps.scheduler.explaining import effort
from apps.scheduler.explaining.devices import DeviceMatrix, compare_devices
from apps.scheduler.explaining.evaluation import Evaluation
from apps.scheduler.objects import (
    DeviceRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimStatus,
)
from apps.scheduler.plugins.dynamicresources.holders import Holder

#: the most claims that are tried to be released
_MOST_HOLDERS: Final = 6

Change = Callable[[ExactDeviceRequest], ExactDeviceRequest]


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """A changed claim, in the words of a suggestion."""

    claim: ResourceClaim
    kind: str
    sentence: str
    change: Mapping[str, Any]
    effort: float


def find_claim_changes(evaluation: Evaluation, claims: DeviceClaims) -> Iterator[ClaimChange]:
    """Candidates by what says no to devices; they still have to be tried with :func:`changed`."""
    matrix = compare_devices(evaluation)
    if not matrix.requests:
        return
    yield from _releases(matrix, claims, evaluation)
    for row in matrix.requests:
        namespace, _, name = row.claim.partition("/")
        claim = claims.get(name, namespace)
        if claim is None:
            continue
        taints = "taint" in row.obstacles
        if taints:
            text = f"Tolerate the taints of devices in request {row.request} of claim {row.claim}"
            yield _change(claim, row.request, "tolerate-device", text, _tolerate, effort.TOLERATE)
        if "selector" in row.obstacles and _has_selectors(claim, row.request):
            text = f"Remove the selectors of request {row.request} of claim {row.claim}"
            change = _without_selectors
            yield _change(claim, row.request, "drop-selector", text, change, effort.RELAX_CLAIM)
        if row.count is not None and row.count > 1:
            text = f"Request 1 device instead of {row.count} in {row.request} of claim {row.claim}"
            yield _change(claim, row.request, "fewer-devices", text, _one, effort.RELAX_CLAIM)
    for constrained in {row.claim for row in matrix.requests}:
        namespace, _, name = constrained.partition("/")
        claim = claims.get(name, namespace)
        if claim is not None and claim.spec.devices.constraints:
            devices = msgspec.structs.replace(claim.spec.devices, constraints=())
            spec = msgspec.structs.replace(claim.spec, devices=devices)
            text = f"Remove the constraints of claim {constrained}"
            yield ClaimChange(
                msgspec.structs.replace(claim, spec=spec),
                "drop-constraints",
                text,
                {"claim": constrained},
                effort.RELAX_CLAIM,
            )


@contextmanager
def changed(claims: DeviceClaims, claim: ResourceClaim) -> Iterator[None]:
    """The claim as it would be, within the block."""
    claims.assume(claim)
    try:
        yield
    finally:
        claims.restore(claim)


def _releases(
    matrix: DeviceMatrix, claims: DeviceClaims, evaluation: Evaluation
) -> Iterator[ClaimChange]:
    """Claims of other pods whose devices the pod could use."""
    holders: dict[Holder, str] = {}
    for cell in matrix.cells:
        if cell.obstacles and all(each.holders for each in cell.obstacles):
            for each in cell.obstacles:
                for holder in each.holders:
                    holders.setdefault(holder, f"{cell.device} of {cell.pool}")
    for holder, device in list(holders.items())[:_MOST_HOLDERS]:
        claim = claims.get(holder.claim, holder.namespace)
        if claim is None or evaluation.pod.uid in {each.uid for each in claim.status.reserved_for}:
            continue
        pods = [f"{holder.namespace}/{name}" for name in holder.pods]
        which = f"Delete pod {', '.join(pods)}" if pods else "Deallocate"
        text = f"{which}, which releases {device} (claim {holder.namespace}/{holder.claim})"
        if not pods:
            text = f"Deallocate claim {holder.namespace}/{holder.claim}, which has {device}"
        yield ClaimChange(
            msgspec.structs.replace(claim, status=ResourceClaimStatus()),
            "release-device",
            text,
            {"claim": f"{holder.namespace}/{holder.claim}", "pods": pods, "device": device},
            effort.RELEASE_DEVICE * max(1, len(pods)),
        )


def _change(
    claim: ResourceClaim, request: str, kind: str, text: str, change: Change, cost: float
) -> ClaimChange:
    name, _, alternative = request.partition("/")
    requests = tuple(
        _replace(each, alternative, change) if each.name == name else each
        for each in claim.spec.devices.requests
    )
    devices = msgspec.structs.replace(claim.spec.devices, requests=requests)
    spec = msgspec.structs.replace(claim.spec, devices=devices)
    what = {"claim": claim.key, "request": request}
    return ClaimChange(msgspec.structs.replace(claim, spec=spec), kind, text, what, cost)


def _replace(request: DeviceRequest, alternative: str, change: Change) -> DeviceRequest:
    if request.exactly is not None:
        return msgspec.structs.replace(request, exactly=change(request.exactly))
    return msgspec.structs.replace(
        request,
        first_available=tuple(
            change(each) if each.name == alternative else each for each in request.first_available
        ),
    )


def _has_selectors(claim: ResourceClaim, request: str) -> bool:
    name, _, alternative = request.partition("/")
    for each in claim.spec.devices.requests:
        if each.name == name:
            asked = (
                [each.exactly]
                if each.exactly is not None
                else [other for other in each.first_available if other.name == alternative]
            )
            return any(other.selectors for other in asked)
    return False


def _tolerate(request: ExactDeviceRequest) -> ExactDeviceRequest:
    every = DeviceToleration(operator="Exists")
    return msgspec.structs.replace(request, tolerations=(*request.tolerations, every))


def _without_selectors(request: ExactDeviceRequest) -> ExactDeviceRequest:
    return msgspec.structs.replace(request, selectors=())


def _one(request: ExactDeviceRequest) -> ExactDeviceRequest:
    return msgspec.structs.replace(request, count=1)
