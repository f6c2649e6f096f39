"""ResourceClaims: created from templates, released by pods that end, deallocated and deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from apps.cluster import kinds
from apps.cluster.writes import Create, Delete
from apps.controlplane.controllers.cache import ControllerCache, Ref, ref_of
from apps.controlplane.controllers.controller import Controller, Step
from apps.controlplane.controllers.devices.eviction import claims_of
from apps.controlplane.controllers.writes import (
    is_active,
    reference_to,
    set_status,
    update_object,
)
from apps.controlplane.events.writer import PendingEvent
from apps.scheduler.objects import (
    Pod,
    PodResourceClaim,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimTemplate,
)

Body = dict[str, Any]

CLAIM: Final = "ResourceClaim"
TEMPLATE: Final = "ResourceClaimTemplate"
USER: Final = "resource-claim-controller"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
#: the longest base of a generated name, without its last dash
_LONGEST_BASE: Final = 57


def refs_for_pod(_: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    """The pod, if it needs claims, and the claims it uses."""
    pod = new or old
    assert pod is not None
    if not pod.spec.resource_claims and pod.status.extended_resource_claim_status is None:
        return ()
    claims = [(CLAIM, pod.metadata.namespace, name) for name in claims_of(pod)]
    return claims if new is None else [ref_of("Pod", new), *claims]


def refs_for_claim(
    cache: ControllerCache, old: ResourceClaim | None, new: ResourceClaim | None
) -> Iterable[Ref]:
    """The claim, and the pod for which it was created."""
    claim = new or old
    assert claim is not None
    owners = [
        ("Pod", claim.metadata.namespace, owner.name)
        for owner in claim.metadata.owner_references
        if owner.controller and owner.kind == "Pod"
    ]
    return owners if new is None else [ref_of(CLAIM, new), *owners]


def refs_for_template(
    cache: ControllerCache, old: ResourceClaimTemplate | None, new: ResourceClaimTemplate | None
) -> Iterable[Ref]:
    if new is None:
        return []
    return [
        ref_of("Pod", pod)
        for pod in cache.list_all("Pod", Pod, new.metadata.namespace)
        if any(
            reference.resource_claim_template_name == new.metadata.name
            for reference in pod.spec.resource_claims
        )
    ]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    if ref[0] == "Pod":
        pod = cache.pod(ref)
        if pod is not None and is_active(pod):
            yield from _provide(cache, ref, pod)
    else:
        claim = cache.get(ref, ResourceClaim)
        if claim is not None:
            yield from _release(cache, ref, claim)


def _provide(cache: ControllerCache, ref: Ref, pod: Pod) -> Iterator[Step]:
    """Create the claims that the pod's templates ask for, and name them in its status."""
    named = {each.name for each in pod.status.resource_claim_statuses}
    found = {}
    for reference in pod.spec.resource_claims:
        if reference.resource_claim_template_name is None or reference.name in named:
            continue
        claim = _created_for(cache, pod, reference)
        if claim is None:
            yield _create(cache, pod, reference)
        else:
            found[reference.name] = claim.metadata.name
    if found:
        known = _plain(pod.status.resource_claim_statuses)
        added = [{"name": name, "resourceClaimName": claim} for name, claim in found.items()]
        yield set_status(ref, pod.metadata.uid, {"resourceClaimStatuses": [*known, *added]})


def _created_for(
    cache: ControllerCache, pod: Pod, reference: PodResourceClaim
) -> ResourceClaim | None:
    for ref in cache.owned_by(pod.metadata.uid):
        claim = cache.get(ref, ResourceClaim) if ref[0] == CLAIM else None
        if claim is None or claim.metadata.annotations.get(POD_CLAIM_NAME) != reference.name:
            continue
        if _is_owned(claim, pod) and not claim.metadata.deletion_timestamp:
            return claim
    return None


def _is_owned(claim: ResourceClaim, pod: Pod) -> bool:
    return any(
        owner.controller and owner.uid == pod.metadata.uid
        for owner in claim.metadata.owner_references
    )


def _create(cache: ControllerCache, pod: Pod, reference: PodResourceClaim) -> Step:
    name, namespace = reference.resource_claim_template_name, pod.metadata.namespace
    template = cache.get((TEMPLATE, namespace, name or ""), ResourceClaimTemplate)
    if template is None:
        missing = f'resourceclaimtemplate.resource.k8s.io "{name}" not found'
        return _failure(pod, reference, missing)
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod.metadata.name,
        "uid": pod.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    given = template.spec.metadata
    metadata = {
        "generateName": _base(pod.metadata.name, reference.name),
        "labels": given.get("labels") or {},
        "annotations": {**(given.get("annotations") or {}), POD_CLAIM_NAME: reference.name},
        "ownerReferences": [owner],
    }
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": CLAIM,
        "metadata": metadata,
        "spec": template.spec.spec,
    }
    return Create(kinds.by_name(CLAIM), body, namespace)


def _failure(pod: Pod, reference: PodResourceClaim, problem: str) -> PendingEvent:
    note = f"PodResourceClaim {reference.name}: {problem}"
    return PendingEvent(
        reference_to(pod), "FailedResourceClaimCreation", note, USER, warning=True, once=True
    )


def _base(pod: str, claim: str) -> str:
    """``<pod>-<claim>-``, both cut in proportion if they are too long together."""
    most = _LONGEST_BASE - 1
    total = len(pod) + len(claim)
    if total > most:
        pod_length = len(pod) * most // total
        pod, claim = pod[:pod_length], claim[: most - pod_length]
    return f"{pod}-{claim}-"


def _release(cache: ControllerCache, ref: Ref, claim: ResourceClaim) -> Iterator[Step]:
    """Remove pods that have ended; without consumers, the claim is free and may be deleted."""
    status, meta = claim.status, claim.metadata
    kept = [each for each in status.reserved_for if _is_in_use(cache, ref[1], each)]
    released = len(kept) < len(status.reserved_for)
    changes: Body = {}
    if released:
        changes["reservedFor"] = _plain(kept) or None
    is_free = not kept and (released or bool(meta.deletion_timestamp))
    if is_free and status.allocation is not None:
        changes |= {"allocation": None, "devices": None}
    if changes:
        yield set_status(ref, meta.uid, changes)
    if FINALIZER in meta.finalizers and not kept and (is_free or status.allocation is None):
        yield update_object(ref, meta.uid, _without_finalizer)
    if _has_outlived_its_pod(cache, claim) and not meta.deletion_timestamp:
        yield Delete(kinds.by_name(CLAIM), *ref[1:], {"preconditions": {"uid": meta.uid}})


def _is_in_use(
    cache: ControllerCache, namespace: str, consumer: ResourceClaimConsumerReference
) -> bool:
    """Whether the consumer may still use the devices; others than pods are left alone."""
    if consumer.resource != "pods" or consumer.api_group:
        return True
    pod = cache.pod(("Pod", namespace, consumer.name))
    if pod is None or pod.metadata.uid != consumer.uid:
        return False
    is_done = pod.status.phase in ("Succeeded", "Failed")
    never_ran = bool(pod.metadata.deletion_timestamp) and not pod.spec.node_name
    return not is_done and not never_ran


def _has_outlived_its_pod(cache: ControllerCache, claim: ResourceClaim) -> bool:
    """A generated claim whose pod has ended."""
    for owner in claim.metadata.owner_references:
        if owner.controller and owner.kind == "Pod":
            pod = cache.pod(("Pod", claim.metadata.namespace, owner.name))
            return pod is None or pod.metadata.uid != owner.uid or not _may_run(pod)
    return False


def _may_run(pod: Pod) -> bool:
    return pod.status.phase not in ("Succeeded", "Failed")


def _without_finalizer(body: Body) -> Body:
    metadata = dict(body["metadata"])
    others = [each for each in metadata.get("finalizers") or () if each != FINALIZER]
    metadata.pop("finalizers", None)
    return {**body, "metadata": {**metadata, **({"finalizers": others} if others else {})}}


def _plain(value: object) -> Any:
    """With the types of JSON alone."""
    return msgspec.json.decode(msgspec.json.encode(value))


CONTROLLER = Controller(
    name="resource claims",
    user=USER,
    concerns={"Pod": refs_for_pod, CLAIM: refs_for_claim, TEMPLATE: refs_for_template},
    reconcile=reconcile,
)
