"""The claims half of the PV controller: finds or provisions a volume and binds it.

As upstream, binding takes two steps: first the volume refers to the claim (the scheduler may have
done this already), then both are marked as bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.errors import Conflict
from apps.cluster.writes import Create
from apps.controllers.cache import ControllerCache, Ref, ref_of
from apps.controllers.controller import Controller, ReportedWrite, Step
from apps.controllers.events.writer import PendingEvent
from apps.controllers.volumes.provisioning import new_volume
from apps.controllers.writes import set_status, update_object
from apps.scheduler.labels import SelectorError
from apps.scheduler.objects import PersistentVolume as Volume
from apps.scheduler.objects import PersistentVolumeClaim as Claim
from apps.scheduler.objects import Pod, StorageClass
from apps.scheduler.plugins.helper.storage import (
    WAIT_FOR_FIRST_CONSUMER,
    class_of_claim,
    class_of_volume,
)
from apps.scheduler.plugins.volumebinding.matching import Demand, demand_of
from apps.scheduler.plugins.volumebinding.pod_volume_claims import (
    BIND_COMPLETED,
    is_bound,
    selected_node,
)
from apps.scheduler.plugins.volumebinding.volumes import is_meant_for, traits_of

Body = dict[str, Any]

#: The reporting component in events.
USER: Final = "persistentvolume-controller"
CLAIM: Final = "PersistentVolumeClaim"
VOLUME: Final = "PersistentVolume"
BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROTECTION: Final = "kubernetes.io/pvc-protection"
_IS_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


def refs_for_claim(_: ControllerCache, old: Claim | None, new: Claim | None) -> Iterable[Ref]:
    return () if new is None else [ref_of(CLAIM, new)]


def refs_for_volume(
    cache: ControllerCache, old: Volume | None, new: Volume | None
) -> Iterable[Ref]:
    """The claim it refers to, and unbound claims of its class."""
    versions = [volume for volume in (old, new) if volume is not None]
    refs = [
        (CLAIM, reference.namespace, reference.name)
        for volume in versions
        if (reference := volume.spec.claim_ref) is not None
    ]
    if any(volume.spec.claim_ref is None for volume in versions):
        refs += _unbound_claims(cache, {class_of_volume(volume) for volume in versions})
    return refs


def refs_for_class(
    cache: ControllerCache, old: StorageClass | None, new: StorageClass | None
) -> Iterable[Ref]:
    """Unbound claims of the class, and those without one if it is the default."""
    if new is None:
        return ()
    return _unbound_claims(cache, {new.metadata.name, *([""] if _is_default(new) else [])})


def refs_for_pod(_: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    """A deleted claim may wait for the end of its last pod."""
    pod = new or old
    assert pod is not None
    return [
        (CLAIM, pod.metadata.namespace, volume.persistent_volume_claim.claim_name)
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    ]


def _unbound_claims(cache: ControllerCache, classes: set[str]) -> list[Ref]:
    return [
        ref_of(CLAIM, claim)
        for claim in cache.list_all(CLAIM, Claim)
        if not is_bound(claim) and class_of_claim(claim) in classes
    ]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    claim = cache.get(ref, Claim)
    if claim is None:
        return
    if claim.metadata.deletion_timestamp:
        yield from _unprotect(cache, ref, claim)
    elif is_bound(claim):
        if cache.get((VOLUME, "", claim.spec.volume_name), Volume) is None:
            lost = {"phase": "Lost", "accessModes": None, "capacity": None}
            yield set_status(ref, claim.metadata.uid, lost)
            note = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            yield _event(ref, claim, "ClaimLost", note, warning=True)
    else:
        yield from _bind(cache, ref, claim)


def _unprotect(cache: ControllerCache, ref: Ref, claim: Claim) -> Iterator[Step]:
    """Remove the finalizer of a deleted claim that no pod uses."""
    users = cache.users_of(ref[1], ref[2])
    used = any(p.spec.node_name and p.status.phase not in ("Succeeded", "Failed") for p in users)
    if PROTECTION in claim.metadata.finalizers and not used:
        yield update_object(ref, claim.metadata.uid, partial(remove_finalizer, PROTECTION))


def _bind(cache: ControllerCache, ref: Ref, claim: Claim) -> Iterator[Step]:
    """Bind the claim to the volume reserved for it, or find one."""
    try:
        demand = demand_of(claim)
    except SelectorError:
        return
    volume = _reserved_volume(cache, claim, demand)
    if volume is not None:
        yield from _complete_binding(ref, claim, volume)
    elif claim.spec.volume_name:
        yield from _reserve_named(cache, ref, claim, demand)
    else:
        yield from _find_volume(cache, ref, claim, demand)


def _reserve_named(
    cache: ControllerCache, ref: Ref, claim: Claim, demand: Demand
) -> Iterator[Step]:
    """Reserve the volume that the user has chosen, or say why it cannot be the claim's."""
    wanted = cache.get((VOLUME, "", claim.spec.volume_name), Volume)
    if wanted is None:
        return
    name = f'"{wanted.metadata.name}"'
    if wanted.spec.claim_ref is not None and not is_meant_for(wanted, claim):
        note = f"volume {name} already bound to a different claim."
        yield _event(ref, claim, "FailedBinding", note, warning=True)
    elif problem := _mismatch(claim, demand, wanted):
        note = f"Cannot bind to requested volume {name}: {problem}"
        yield _event(ref, claim, "VolumeMismatch", note, warning=True)
    elif wanted.spec.claim_ref is None:
        yield _reserve(wanted, claim, chosen=False)


def _mismatch(claim: Claim, demand: Demand, volume: Volume) -> str:
    """Why a volume does not satisfy a claim that names it; "" if it does."""
    traits = traits_of(volume)
    if traits.nanos < demand.nanos:
        return "requested PV is too small"
    if class_of_volume(volume) != class_of_claim(claim):
        return "storageClassName does not match"
    if traits.attributes_class != demand.attributes_class:
        return "VolumeAttributesClassName does not match"
    if traits.mode != demand.mode:
        return "incompatible volumeMode"
    return "" if demand.access_modes <= traits.access_modes else "incompatible accessMode"


def _find_volume(cache: ControllerCache, ref: Ref, claim: Claim, demand: Demand) -> Iterator[Step]:
    """Reserve the best volume there is, or provision one; or wait until a pod is scheduled."""
    storage_class = cache.get(("StorageClass", "", class_of_claim(claim)), StorageClass)
    if storage_class and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        if selected_node(claim):
            yield from _provision(cache, ref, claim, storage_class)
        else:
            note = "waiting for first consumer to be created before binding"
            yield _event(ref, claim, "WaitForFirstConsumer", note)
        return
    best = _smallest_available(cache, claim, demand)
    if best is not None:
        yield _reserve(best, claim, chosen=True)
    elif storage_class is not None:
        yield from _provision(cache, ref, claim, storage_class)
    else:
        yield from _go_without_class(cache, ref, claim)


def _provision(
    cache: ControllerCache, ref: Ref, claim: Claim, storage_class: StorageClass
) -> Iterator[Step]:
    """Create a volume for the claim, if the class has a provisioner."""
    if storage_class.provisioner == NO_PROVISIONER:
        return
    node = selected_node(claim)
    body = new_volume(claim, storage_class, cache.node(node) if node else None)
    name = body["metadata"]["name"]
    if cache.body((VOLUME, "", name)) is None:
        note = f"Successfully provisioned volume {name}"
        event = _event(ref, claim, "ProvisioningSucceeded", note)
        yield ReportedWrite(Create(kinds.by_name(VOLUME), body), lambda _: event)


def _go_without_class(cache: ControllerCache, ref: Ref, claim: Claim) -> Iterator[Step]:
    """Say that the claim's class does not exist; a claim without one gets the default class."""
    class_name = class_of_claim(claim)
    if class_name:
        note = f'storageclass.storage.k8s.io "{class_name}" not found'
        yield _event(ref, claim, "ProvisioningFailed", note, warning=True)
    elif default := _default_class(cache, claim):
        yield update_object(ref, claim.metadata.uid, partial(_assign_class, default))
    else:
        note = "no persistent volumes available for this claim and no storage class is set"
        yield _event(ref, claim, "FailedBinding", note)


def _is_default(storage_class: StorageClass) -> bool:
    return storage_class.metadata.annotations.get(_IS_DEFAULT) == "true"


def _default_class(cache: ControllerCache, claim: Claim) -> str:
    """The default class that has appeared after a claim that leaves the choice; "" for none."""
    if claim.spec.storage_class_name is not None:
        return ""
    defaults = filter(_is_default, cache.list_all("StorageClass", StorageClass))
    # the newest, and of several the first by name
    ordered = sorted(defaults, key=lambda each: each.metadata.name)
    newest = max(ordered, key=lambda each: each.metadata.creation_timestamp or "", default=None)
    return newest.metadata.name if newest is not None else ""


def _assign_class(name: str, body: Body) -> Body:
    spec = body["spec"]
    return (
        body if "storageClassName" in spec else {**body, "spec": {**spec, "storageClassName": name}}
    )


def _event(
    ref: Ref, claim: Claim, reason: str, note: str, *, warning: bool = False
) -> PendingEvent:
    """An event about a claim, which is not repeated."""
    subject = {"kind": CLAIM, "apiVersion": "v1", "namespace": ref[1], "name": ref[2]}
    subject |= {"uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version}
    return PendingEvent(subject, reason, note, USER, warning=warning, once=True)


def _reserved_volume(cache: ControllerCache, claim: Claim, demand: Demand) -> Volume | None:
    """The volume that refers to the claim, or the free volume that the claim names."""
    named = cache.volumes_for(claim.metadata.namespace, claim.metadata.name)
    for volume in named:
        wanted = not claim.spec.volume_name or claim.spec.volume_name == volume.metadata.name
        if (
            wanted
            and is_meant_for(volume, claim)
            and not volume.metadata.deletion_timestamp
            and demand.takes_promised(traits_of(volume))
        ):
            return volume
    return None


def _smallest_available(cache: ControllerCache, claim: Claim, demand: Demand) -> Volume | None:
    available = [
        volume
        for volume in cache.list_all(VOLUME, Volume)
        if volume.spec.claim_ref is None
        and not volume.metadata.deletion_timestamp
        and class_of_volume(volume) == class_of_claim(claim)
        and demand.takes(traits_of(volume))
    ]
    return min(available, key=lambda v: (traits_of(v).nanos, v.metadata.name), default=None)


def _reserve(volume: Volume, claim: Claim, *, chosen: bool) -> Step:
    """Set the volume's claimRef, unless it refers to another claim in the meantime."""
    reference = _reference(claim)

    def change(body: Body) -> Body:
        if body["spec"].get("claimRef"):
            name = body["metadata"]["name"]
            raise Conflict("persistentvolumes", name, "the volume is reserved for another claim")
        metadata = body["metadata"]
        annotations = {**(metadata.get("annotations") or {}), BY_CONTROLLER: "yes"}
        return {
            **body,
            "metadata": {**metadata, "annotations": annotations} if chosen else metadata,
            "spec": {**body["spec"], "claimRef": reference},
        }

    return update_object(ref_of(VOLUME, volume), volume.metadata.uid, change)


def _complete_binding(ref: Ref, claim: Claim, volume: Volume) -> Iterator[Step]:
    """Mark both sides as bound."""
    reference = _reference(claim)

    def bind_volume(body: Body) -> Body:
        spec, status = body["spec"], {**(body.get("status") or {}), "phase": "Bound"}
        return {
            **body,
            "spec": {**spec, "claimRef": {**reference, **(spec.get("claimRef") or {})}},
            "status": status,
        }

    yield update_object(ref_of(VOLUME, volume), volume.metadata.uid, bind_volume)

    def bind_claim(body: Body) -> Body:
        metadata, spec = body["metadata"], body["spec"]
        annotations = {**(metadata.get("annotations") or {}), BIND_COMPLETED: "yes"}
        if not spec.get("volumeName"):
            annotations[BY_CONTROLLER] = "yes"
        status = {
            **(body.get("status") or {}),
            "phase": "Bound",
            "accessModes": list(volume.spec.access_modes),
            "capacity": dict(volume.spec.capacity),
        }
        return {
            **body,
            "metadata": {**metadata, "annotations": annotations},
            "spec": {**spec, "volumeName": volume.metadata.name},
            "status": status,
        }

    yield update_object(ref, claim.metadata.uid, bind_claim)


def _reference(claim: Claim) -> Body:
    return {
        "apiVersion": "v1",
        "kind": CLAIM,
        "namespace": claim.metadata.namespace,
        "name": claim.metadata.name,
        "uid": claim.metadata.uid,
        "resourceVersion": claim.metadata.resource_version,
    }


def remove_finalizer(finalizer: str, body: Body) -> Body:
    metadata = dict(body["metadata"])
    held = metadata.get("finalizers") or []
    metadata["finalizers"] = [each for each in held if each != finalizer]
    return {**body, "metadata": metadata}


CONTROLLER = Controller(
    name="claims",
    user="persistent-volume-binder",
    concerns={
        CLAIM: refs_for_claim,
        VOLUME: refs_for_volume,
        "StorageClass": refs_for_class,
        "Pod": refs_for_pod,
    },
    reconcile=reconcile,
)
