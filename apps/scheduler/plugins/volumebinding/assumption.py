"""The changes to volumes and claims that Reserve assumes and PreBind requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from apps.scheduler.cache.lister import Lister
from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.intents import MergePatch
from apps.scheduler.objects import KubeObject, ObjectReference
from apps.scheduler.objects import PersistentVolume as Volume
from apps.scheduler.objects import PersistentVolumeClaim as Claim
from apps.scheduler.plugins.volumebinding.binder import PodVolumes
from apps.scheduler.plugins.volumebinding.matching import NO_VOLUME
from apps.scheduler.plugins.volumebinding.pod_volume_claims import SELECTED_NODE, selected_node
from apps.scheduler.plugins.volumebinding.volumes import is_meant_for

T = TypeVar("T", bound=KubeObject)

#: set on a volume that the scheduler, not its owner, bound to a claim
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"


@dataclass(frozen=True, slots=True)
class Assumption:
    """New versions of volumes and claims, without those that are already in the cluster."""

    volumes: tuple[Volume, ...] = ()
    claims: tuple[Claim, ...] = ()
    #: versions that are assumed for another pod already, and may not be written yet
    shared_volumes: tuple[Volume, ...] = ()
    shared_claims: tuple[Claim, ...] = ()

    def clone(self) -> Assumption:
        return self

    def patches(self) -> Iterator[MergePatch]:
        """The writes of the assumption: volumes name their claims, claims their node.

        A write fails if the object has changed since it was read, except for shared ones, which
        may be written by any of the pods.
        """
        for volume in self.volumes:
            yield _volume_patch(volume, locked=True)
        for claim in self.claims:
            yield _patch(claim, SELECTED_NODE, {}, locked=True)
        for volume in self.shared_volumes:
            yield _volume_patch(volume, locked=False)
        for claim in self.shared_claims:
            yield _patch(claim, SELECTED_NODE, {}, locked=False)


def assume(pod_volumes: PodVolumes, node_name: str, listers: Listers) -> Assumption:
    """The assumption for ``found``, the outcome for a table whose only row is the node."""
    volumes, claims = [], []
    for pick in pod_volumes.picks:
        slot = int(pick.slots[0])
        if slot != NO_VOLUME:
            volumes.append((pick.volumes.at(slot), bind(pick.volumes.at(slot), pick.claim)))
    for provision in pod_volumes.provisions:
        if provision.where[0]:
            claims.append((provision.claim, select(provision.claim, node_name)))
    known_volumes, known_claims = listers.persistent_volumes, listers.persistent_volume_claims
    return Assumption(
        volumes=tuple(new for old, new in volumes if new is not old),
        claims=tuple(new for old, new in claims if new is not old),
        shared_volumes=_find_unwritten(known_volumes, [new for old, new in volumes if new is old]),
        shared_claims=_find_unwritten(known_claims, [new for old, new in claims if new is old]),
    )


def select(claim: Claim, node_name: str) -> Claim:
    """The claim with this node; the claim itself if it names the node already."""
    if selected_node(claim) == node_name:
        return claim
    return _annotate(claim, SELECTED_NODE, node_name)


def _find_unwritten(known: Lister[T], items: Sequence[T]) -> tuple[T, ...]:
    """The items whose version is not in the cluster yet."""
    return tuple(
        each for each in items if known.get(each.metadata.name, each.metadata.namespace) is not each
    )


def bind(volume: Volume, claim: Claim) -> Volume:
    """The volume naming the claim; the volume itself if it does so already."""
    meta, reference = claim.metadata, volume.spec.claim_ref
    if not is_meant_for(volume, claim):
        volume = _annotate(volume, BOUND_BY_CONTROLLER, "yes")
    elif reference is not None and reference.uid == meta.uid:
        return volume
    reference = ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )
    spec = msgspec.structs.replace(volume.spec, claim_ref=reference)
    return msgspec.structs.replace(volume, spec=spec)


def _annotate(item: T, key: str, value: str) -> T:
    annotations = {**item.metadata.annotations, key: value}
    meta = msgspec.structs.replace(item.metadata, annotations=annotations)
    return msgspec.structs.replace(item, metadata=meta)


def _volume_patch(volume: Volume, *, locked: bool) -> MergePatch:
    reference = volume.spec.claim_ref
    assert reference is not None
    written = {field: value for field, value in msgspec.to_builtins(reference).items() if value}
    return _patch(volume, BOUND_BY_CONTROLLER, {"spec": {"claimRef": written}}, locked=locked)


def _patch(item: KubeObject, annotation: str, patch: dict[str, Any], *, locked: bool) -> MergePatch:
    """``patch`` and the annotation; ``locked``: only for this version of the object."""
    meta = item.metadata
    written: dict[str, Any] = {}
    if annotation in meta.annotations:
        written["annotations"] = {annotation: meta.annotations[annotation]}
    if locked and meta.resource_version:
        written["resourceVersion"] = meta.resource_version
    kind = type(item).__name__
    return MergePatch(kind, meta.namespace, meta.name, {"metadata": written, **patch})
