"""The PV controller's half about volumes: available, bound, released, and gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.writes import Delete
from apps.controlplane.controllers.controller import Controller, Step
from apps.controlplane.controllers.volumes.claims import CLAIM, VOLUME, without_finalizer
from apps.controlplane.controllers.world import Ref, World, ref_of
from apps.controlplane.controllers.writes import change_of, set_status
from apps.scheduler.objects import PersistentVolume, PersistentVolumeClaim

Body = dict[str, Any]
PROTECTION: Final = "kubernetes.io/pv-protection"


def of_volume(
    _: World, old: PersistentVolume | None, new: PersistentVolume | None
) -> Iterable[Ref]:
    return () if new is None else [ref_of(VOLUME, new)]


def of_claim(
    world: World, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None
) -> Iterable[Ref]:
    """A claim that goes leaves its volumes behind."""
    if new is not None and old is not None:
        return []
    claim = new or old
    assert claim is not None
    volumes = world.volumes_for(claim.metadata.namespace, claim.metadata.name)
    return [ref_of(VOLUME, volume) for volume in volumes]


def reconcile(world: World, ref: Ref, now: datetime) -> Iterator[Step]:
    volume = world.get(ref, PersistentVolume)
    if volume is None:
        return
    reference, uid = volume.spec.claim_ref, volume.metadata.uid
    claim = None
    if reference is not None:
        found = (CLAIM, reference.namespace, reference.name)
        claim = world.get(found, PersistentVolumeClaim)
        if claim is not None and reference.uid not in ("", claim.metadata.uid):
            claim = None
    if volume.metadata.deletion_timestamp:
        if claim is None and PROTECTION in volume.metadata.finalizers:
            yield change_of(ref, uid, partial(without_finalizer, PROTECTION))
    elif reference is None or (claim is None and not reference.uid):
        # nobody's, or promised to a claim that is yet to come
        yield set_status(ref, uid, {"phase": "Available"})
    elif claim is None:
        yield from _release(ref, volume)


def _release(ref: Ref, volume: PersistentVolume) -> Iterator[Step]:
    """Its claim is gone: do as the reclaim policy says."""
    uid, policy = volume.metadata.uid, volume.spec.persistent_volume_reclaim_policy
    if policy == "Delete":
        yield Delete(kinds.by_name(VOLUME), *ref[1:], {"preconditions": {"uid": uid}})
    elif policy == "Recycle":
        yield change_of(ref, uid, _recycled)
    else:
        yield set_status(ref, uid, {"phase": "Released"})


def _recycled(volume: Body) -> Body:
    spec = {name: value for name, value in volume["spec"].items() if name != "claimRef"}
    return {**volume, "spec": spec, "status": {"phase": "Available"}}


CONTROLLER = Controller(
    name="volumes",
    user="persistent-volume-binder",
    concerns={VOLUME: of_volume, CLAIM: of_claim},
    reconcile=reconcile,
)
