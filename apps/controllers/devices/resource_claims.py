"""ResourceClaims: created from templates, released by pods that end, deallocated and deleted.

A PodGroup may have claims of its own, which its pods share (DRAWorkloadResourceClaims).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

from apps.cluster import kinds
from apps.cluster.writes import Create, Delete
from apps.controllers.cache import ControllerCache, Ref, ref_of
from apps.controllers.controller import Controller, Step
from apps.controllers.devices.eviction import claims_of
from apps.controllers.events.writer import PendingEvent
from apps.controllers.writes import is_active, set_status, update_object
from apps.scheduler.objects import (
    Pod,
    PodGroup,
    PodGroupResourceClaim,
    PodResourceClaim,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimTemplate,
)
from apps.scheduler.objects.decoding import as_json
from apps.scheduler.plugins.dynamicresources.pod_resource_claims import (
    GROUP_API,
    GROUP_RESOURCE,
    is_reservation_of,
)

Body = dict[str, Any]

CLAIM: Final = "ResourceClaim"
TEMPLATE: Final = "ResourceClaimTemplate"
USER: Final = "resource-claim-controller"
_REPORTER: Final = "resource_claim"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
GROUP: Final = "PodGroup"
GROUP_CLAIM_NAME: Final = "resource.kubernetes.io/podgroup-claim-name"
_GENERIC: Final = "GenericWorkload"
_WORKLOAD_CLAIMS: Final = "DRAWorkloadResourceClaims"
#: the longest base of a generated name, without its last dash
_LONGEST_BASE: Final = 57


class _Owner(NamedTuple):
    """What claims from templates are created for."""

    name: str
    api_version: str
    #: names the entry for which a claim was created
    annotation: str


_OF_POD: Final = _Owner("Pod", "v1", POD_CLAIM_NAME)
_OF_GROUP: Final = _Owner(GROUP, "scheduling.k8s.io/v1alpha2", GROUP_CLAIM_NAME)


def refs_for_pod(_: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    """The pod, if it needs claims, and the claims it uses."""
    pod = new or old
    assert pod is not None
    if not pod.spec.resource_claims and pod.status.extended_resource_claim_status is None:
        return ()
    claims = [(CLAIM, pod.metadata.namespace, name) for name in claims_of(pod)]
    return claims if new is None else [ref_of("Pod", new), *claims]


def refs_for_group(
    cache: ControllerCache, old: PodGroup | None, new: PodGroup | None
) -> Iterable[Ref]:
    """The group, its pods that wait for claims, and the claims that are reserved for it."""
    group = new or old
    assert group is not None
    if new is None:
        claims = cache.list_all(CLAIM, ResourceClaim, group.metadata.namespace)
        name = group.metadata.name
        return [
            ref_of(CLAIM, claim)
            for claim in claims
            if any(is_reservation_of(each, name) for each in claim.status.reserved_for)
        ]
    own = [ref_of(GROUP, new)] if new.spec.resource_claims else []
    return [*own, *_waiting_pods(cache, new)]


def _waiting_pods(cache: ControllerCache, group: PodGroup) -> Iterator[Ref]:
    for pod in cache.list_all("Pod", Pod, group.metadata.namespace):
        if pod.group_name == group.metadata.name and pod.spec.resource_claims:
            yield ref_of("Pod", pod)


def refs_for_claim(
    cache: ControllerCache, old: ResourceClaim | None, new: ResourceClaim | None
) -> Iterable[Ref]:
    """The claim, and the pod or the group for which it was created."""
    claim = new or old
    assert claim is not None
    owners = [
        (owner.kind, claim.metadata.namespace, owner.name)
        for owner in claim.metadata.owner_references
        if owner.controller and owner.kind in ("Pod", GROUP)
    ]
    return owners if new is None else [ref_of(CLAIM, new), *owners]


def refs_for_template(
    cache: ControllerCache, old: ResourceClaimTemplate | None, new: ResourceClaimTemplate | None
) -> Iterable[Ref]:
    if new is None:
        return []
    namespace, name = new.metadata.namespace, new.metadata.name
    pods = [
        ref_of("Pod", pod)
        for pod in cache.list_all("Pod", Pod, namespace)
        if any(each.resource_claim_template_name == name for each in pod.spec.resource_claims)
    ]
    groups = [
        ref_of(GROUP, group)
        for group in cache.list_all(GROUP, PodGroup, namespace)
        if any(each.resource_claim_template_name == name for each in group.spec.resource_claims)
    ]
    return [*pods, *groups]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    if ref[0] == "Pod":
        pod = cache.pod(ref)
        if pod is not None and is_active(pod):
            yield from _provide(cache, ref, pod)
    elif ref[0] == GROUP:
        group = cache.get(ref, PodGroup)
        if group is not None and not group.metadata.deletion_timestamp and _shares_claims(cache):
            yield from _provide_group(cache, ref, group)
    else:
        claim = cache.get(ref, ResourceClaim)
        if claim is not None:
            yield from _release(cache, ref, claim)


def _shares_claims(cache: ControllerCache) -> bool:
    """Whether the pods of a group may share claims."""
    gates = cache.gates()
    return gates.enabled(_GENERIC) and gates.enabled(_WORKLOAD_CLAIMS)


def _provide(cache: ControllerCache, ref: Ref, pod: Pod) -> Iterator[Step]:
    """Create the claims that the pod's templates ask for, and name them in its status.

    One that its group asks for, too, is created for the group.
    """
    named = {each.name for each in pod.status.resource_claim_statuses}
    wanted = [
        each
        for each in pod.spec.resource_claims
        if each.resource_claim_template_name is not None and each.name not in named
    ]
    if not wanted:
        return
    group = None
    if pod.group_name and cache.gates().enabled(_GENERIC):
        group = cache.get((GROUP, ref[1], pod.group_name), PodGroup)
        if group is None:
            return
    names = {}
    for reference in wanted:
        if group is not None and _shares_claims(cache) and _has_equal(group, reference):
            claim = _created_for(cache, group, reference.name, GROUP_CLAIM_NAME)
        else:
            claim = _created_for(cache, pod, reference.name, POD_CLAIM_NAME)
            if claim is None:
                yield _create(cache, pod, reference, _OF_POD)
        if claim is not None:
            names[reference.name] = claim.metadata.name
    if names:
        yield _name_claims(ref, pod, pod.status.resource_claim_statuses, names)


def _has_equal(group: PodGroup, reference: PodResourceClaim) -> bool:
    return any(
        (each.name, each.resource_claim_template_name)
        == (reference.name, reference.resource_claim_template_name)
        for each in group.spec.resource_claims
    )


def _provide_group(cache: ControllerCache, ref: Ref, group: PodGroup) -> Iterator[Step]:
    """Create the claims that the templates of a group ask for, and name them in its status."""
    named = {each.name for each in group.status.resource_claim_statuses}
    names = {}
    for reference in group.spec.resource_claims:
        if reference.resource_claim_template_name is None or reference.name in named:
            continue
        claim = _created_for(cache, group, reference.name, GROUP_CLAIM_NAME)
        if claim is None:
            yield _create(cache, group, reference, _OF_GROUP)
        else:
            names[reference.name] = claim.metadata.name
    if names:
        yield _name_claims(ref, group, group.status.resource_claim_statuses, names)


def _name_claims(ref: Ref, owner: Pod | PodGroup, known: object, claims: dict[str, str]) -> Step:
    added = [{"name": name, "resourceClaimName": claim} for name, claim in claims.items()]
    return set_status(ref, owner.metadata.uid, {"resourceClaimStatuses": [*as_json(known), *added]})


def _created_for(
    cache: ControllerCache, owner: Pod | PodGroup, name: str, annotation: str
) -> ResourceClaim | None:
    for ref in cache.owned_by(owner.metadata.uid):
        claim = cache.get(ref, ResourceClaim) if ref[0] == CLAIM else None
        if claim is None or claim.metadata.annotations.get(annotation) != name:
            continue
        if _is_owned(claim, owner) and not claim.metadata.deletion_timestamp:
            return claim
    return None


def _is_owned(claim: ResourceClaim, owner: Pod | PodGroup) -> bool:
    return any(
        each.controller and each.uid == owner.metadata.uid
        for each in claim.metadata.owner_references
    )


def _create(
    cache: ControllerCache,
    owner: Pod | PodGroup,
    reference: PodResourceClaim | PodGroupResourceClaim,
    kind: _Owner,
) -> Step:
    name, namespace = reference.resource_claim_template_name, owner.metadata.namespace
    template = cache.get((TEMPLATE, namespace, name or ""), ResourceClaimTemplate)
    if template is None:
        missing = (
            f'resource claim template "{name}": '
            f'resourceclaimtemplate.resource.k8s.io "{name}" not found'
        )
        return _failure(owner, kind, reference.name, missing)
    owned_by = {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
    }
    given = template.spec.metadata
    metadata = {
        "generateName": _base(owner.metadata.name, reference.name),
        "labels": given.get("labels") or {},
        "annotations": {**(given.get("annotations") or {}), kind.annotation: reference.name},
        "ownerReferences": [owned_by],
    }
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": CLAIM,
        "metadata": metadata,
        "spec": template.spec.spec,
    }
    return Create(kinds.by_name(CLAIM), body, namespace)


def _failure(owner: Pod | PodGroup, kind: _Owner, claim: str, problem: str) -> PendingEvent:
    note = f"{kind.name}ResourceClaim {claim}: {problem}"
    return PendingEvent(
        {
            "kind": kind.name,
            "apiVersion": kind.api_version,
            "namespace": owner.metadata.namespace,
            "name": owner.metadata.name,
            "uid": owner.metadata.uid,
            "resourceVersion": owner.metadata.resource_version,
        },
        "FailedResourceClaimCreation",
        note,
        _REPORTER,
        warning=True,
        once=True,
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
        changes["reservedFor"] = as_json(kept) or None
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
    """Whether the consumer may still use the devices; others than pods and groups are left alone.

    A group uses its claims until it is deleted, which its pods delay.
    """
    if (consumer.api_group, consumer.resource) == (GROUP_API, GROUP_RESOURCE):
        group = cache.get((GROUP, namespace, consumer.name), PodGroup)
        return group is not None and group.metadata.uid == consumer.uid
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


CONTROLLER = Controller(
    name="resource claims",
    user=USER,
    concerns={
        "Pod": refs_for_pod,
        GROUP: refs_for_group,
        CLAIM: refs_for_claim,
        TEMPLATE: refs_for_template,
    },
    reconcile=reconcile,
)
