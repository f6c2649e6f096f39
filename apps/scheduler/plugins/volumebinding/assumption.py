"""What Reserve assumes of volumes and claims, and what PreBind asks to be written for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from apps.scheduler.framework.intents import MergePatch
from apps.scheduler.objects import KubeObject, ObjectReference
from apps.scheduler.objects import PersistentVolume as Volume
from apps.scheduler.objects import PersistentVolumeClaim as Claim
from apps.scheduler.plugins.volumebinding.binder import PodVolumes
from apps.scheduler.plugins.volumebinding.claims import SELECTED_NODE, selected_node
from apps.scheduler.plugins.volumebinding.matching import NO_VOLUME
from apps.scheduler.plugins.volumebinding.volumes import is_meant_for

T = TypeVar("T", bound=KubeObject)

#: set on a volume whose claim was not named by its owner
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"


@dataclass(frozen=True, slots=True)
class Assumption:
    """New versions of volumes and claims; what needs no change is not among them."""

    volumes: tuple[Volume, ...] = ()
    claims: tuple[Claim, ...] = ()

    def clone(self) -> Assumption:
        return self

    def patches(self) -> Iterator[MergePatch]:
        """The writes that make it true: volumes name their claims, claims their node.

        Each is about the version that was looked at: if the object has changed, the write fails.
        """
        for volume in self.volumes:
            reference = volume.spec.claim_ref
            assert reference is not None
            written = {k: v for k, v in msgspec.to_builtins(reference).items() if v}
            patch: dict[str, Any] = {"spec": {"claimRef": written}}
            yield _patch(volume, patch, BOUND_BY_CONTROLLER)
        for claim in self.claims:
            yield _patch(claim, {}, SELECTED_NODE)


def assume(found: PodVolumes, node_name: str) -> Assumption:
    """For ``found`` of a table whose only line is the node."""
    volumes, claims = [], []
    for pick in found.picks:
        slot = int(pick.slots[0])
        if slot != NO_VOLUME:
            volume = pick.volumes.at(slot)
            bound = bind(volume, pick.claim)
            if bound is not volume:
                volumes.append(bound)
    for claim, where in found.provisions:
        if where[0] and selected_node(claim) != node_name:
            claims.append(_annotated(claim, SELECTED_NODE, node_name))
    return Assumption(tuple(volumes), tuple(claims))


def bind(volume: Volume, claim: Claim) -> Volume:
    """The volume naming the claim; the volume itself if it does so already."""
    meta, reference = claim.metadata, volume.spec.claim_ref
    if not is_meant_for(volume, claim):
        volume = _annotated(volume, BOUND_BY_CONTROLLER, "yes")
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


def _annotated(item: T, key: str, value: str) -> T:
    annotations = {**item.metadata.annotations, key: value}
    meta = msgspec.structs.replace(item.metadata, annotations=annotations)
    return msgspec.structs.replace(item, metadata=meta)


def _patch(item: KubeObject, patch: dict[str, Any], annotation: str) -> MergePatch:
    meta = item.metadata
    written: dict[str, Any] = {}
    if annotation in meta.annotations:
        written["annotations"] = {annotation: meta.annotations[annotation]}
    if meta.resource_version:
        written["resourceVersion"] = meta.resource_version
    kind = type(item).__name__
    return MergePatch(kind, meta.namespace, meta.name, {"metadata": written, **patch})
