"""Ephemeral volumes: a pod's own claims, made for it and gone with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from apps.cluster import kinds
from apps.cluster.writes import Create
from apps.controlplane.controllers.controller import Controller, Step
from apps.controlplane.controllers.volumes.claims import CLAIM
from apps.controlplane.controllers.world import Ref, World, ref_of
from apps.controlplane.controllers.writes import is_active
from apps.scheduler.objects import KubeObject, PersistentVolumeClaimSpec, Pod


def of_pod(_: World, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    if new is None or all(volume.ephemeral is None for volume in new.spec.volumes):
        return ()
    return [ref_of("Pod", new)]


def of_claim(world: World, old: KubeObject | None, new: KubeObject | None) -> Iterable[Ref]:
    """One of this name was in the way, perhaps."""
    if new is not None or old is None:
        return []
    users = world.users_of(old.metadata.namespace, old.metadata.name)
    return [ref_of("Pod", pod) for pod in users]


def reconcile(world: World, ref: Ref, now: datetime) -> Iterator[Step]:
    pod = world.pod(ref)
    if pod is None or not is_active(pod):
        return
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod.metadata.name,
        "uid": pod.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    for volume in pod.spec.volumes:
        template = volume.ephemeral and volume.ephemeral.volume_claim_template
        name = f"{pod.metadata.name}-{volume.name}"
        if template and world.body((CLAIM, ref[1], name)) is None:
            metadata = {
                "name": name,
                "labels": template.metadata.labels,
                "annotations": template.metadata.annotations,
                "ownerReferences": [owner],
            }
            body = {"metadata": metadata, "spec": _plain(template.spec)}
            yield Create(kinds.by_name(CLAIM), body, ref[1])


def _plain(spec: PersistentVolumeClaimSpec) -> dict[str, Any]:
    """The spec as a client would send it."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(spec))
    return plain


CONTROLLER = Controller(
    name="ephemeral volumes",
    user="ephemeral-volume-controller",
    concerns={"Pod": of_pod, CLAIM: of_claim},
    reconcile=reconcile,
)
