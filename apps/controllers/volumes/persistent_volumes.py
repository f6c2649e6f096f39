"""The volumes half of the PV controller: available, bound, released, deleted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.writes import Delete
from apps.controllers.cache import ControllerCache, Ref, ref_of
from apps.controllers.controller import Controller, Step
from apps.controllers.volumes.claim_binding import CLAIM, VOLUME, remove_finalizer
from apps.controllers.writes import set_status, update_object
from apps.scheduler.objects import PersistentVolume, PersistentVolumeClaim

Body = dict[str, Any]
PROTECTION: Final = "kubernetes.io/pv-protection"


def refs_for_volume(
    _: ControllerCache, old: PersistentVolume | None, new: PersistentVolume | None
) -> Iterable[Ref]:
    return () if new is None else [ref_of(VOLUME, new)]


def refs_for_claim(
    cache: ControllerCache, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None
) -> Iterable[Ref]:
    """A deleted claim releases its volumes."""
    if new is not None and old is not None:
        return []
    claim = new or old
    assert claim is not None
    volumes = cache.volumes_for(claim.metadata.namespace, claim.metadata.name)
    return [ref_of(VOLUME, volume) for volume in volumes]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    volume = cache.get(ref, PersistentVolume)
    if volume is None:
        return
    reference, uid = volume.spec.claim_ref, volume.metadata.uid
    claim = None
    if reference is not None:
        claim_ref = (CLAIM, reference.namespace, reference.name)
        claim = cache.get(claim_ref, PersistentVolumeClaim)
        if claim is not None and reference.uid not in ("", claim.metadata.uid):
            claim = None
    if volume.metadata.deletion_timestamp:
        if claim is None and PROTECTION in volume.metadata.finalizers:
            yield update_object(ref, uid, partial(remove_finalizer, PROTECTION))
    elif reference is None or not reference.uid:
        yield update_object(ref, uid, _make_available)
    elif claim is None:
        yield from _release(ref, volume)


def _release(ref: Ref, volume: PersistentVolume) -> Iterator[Step]:
    """The claim was deleted: apply the reclaim policy."""
    uid, policy = volume.metadata.uid, volume.spec.persistent_volume_reclaim_policy
    if policy == "Delete":
        yield Delete(kinds.by_name(VOLUME), *ref[1:], {"preconditions": {"uid": uid}})
    elif policy == "Recycle":
        yield update_object(ref, uid, _clear_claim)
    else:
        yield set_status(ref, uid, {"phase": "Released"})


def _make_available(volume: Body) -> Body:
    """The volume as Available, unless a claim has been bound to it in the meantime.

    It may be reserved for a claim, also for one that it does not fit.
    """
    if (volume["spec"].get("claimRef") or {}).get("uid"):
        return volume
    return {**volume, "status": {**(volume.get("status") or {}), "phase": "Available"}}


def _clear_claim(volume: Body) -> Body:
    spec = {name: value for name, value in volume["spec"].items() if name != "claimRef"}
    return {**volume, "spec": spec, "status": {"phase": "Available"}}


CONTROLLER = Controller(
    name="volumes",
    user="persistent-volume-binder",
    concerns={VOLUME: refs_for_volume, CLAIM: refs_for_claim},
    reconcile=reconcile,
)
