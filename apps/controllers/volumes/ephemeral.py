"""Ephemeral volumes: claims that are created for a pod and deleted with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from apps.cluster import kinds
from apps.cluster.writes import Create
from apps.controllers.cache import ControllerCache, Ref, ref_of
from apps.controllers.controller import Controller, Step
from apps.controllers.events.writer import PendingEvent, pod_reference
from apps.controllers.volumes.claim_binding import CLAIM
from apps.controllers.writes import is_active
from apps.scheduler.objects import KubeObject, PersistentVolumeClaimSpec, Pod

_REPORTER: Final = "ephemeral_volume"


def refs_for_pod(_: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    if new is None or all(volume.ephemeral is None for volume in new.spec.volumes):
        return ()
    return [ref_of("Pod", new)]


def refs_for_claim(
    cache: ControllerCache, old: KubeObject | None, new: KubeObject | None
) -> Iterable[Ref]:
    """A deleted claim may have had the name that a pod needs."""
    if new is not None or old is None:
        return []
    users = cache.users_of(old.metadata.namespace, old.metadata.name)
    return [ref_of("Pod", pod) for pod in users]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    pod = cache.pod(ref)
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
        template = volume.ephemeral.volume_claim_template if volume.ephemeral else None
        name = f"{pod.metadata.name}-{volume.name}"
        if template is None:
            continue
        claim = cache.get((CLAIM, ref[1], name), KubeObject)
        if claim is not None and not _is_owned(claim, pod):
            claimed, by = f"{ref[1]}/{name}", f"{ref[1]}/{ref[2]}"
            note = f"PVC {claimed} was not created for pod {by} (pod is not owner)"
            yield PendingEvent(
                pod_reference(ref[1], ref[2], pod.metadata.uid, pod.metadata.resource_version),
                "FailedBinding",
                f"ephemeral volume {volume.name}: {note}",
                _REPORTER,
                warning=True,
                once=True,
            )
        elif claim is None:
            metadata = {
                "name": name,
                "labels": template.metadata.labels,
                "annotations": template.metadata.annotations,
                "ownerReferences": [owner],
            }
            body = {"metadata": metadata, "spec": _encode_spec(template.spec)}
            yield Create(kinds.by_name(CLAIM), body, ref[1])


def _is_owned(claim: KubeObject, pod: Pod) -> bool:
    return any(
        each.controller and each.uid == pod.metadata.uid for each in claim.metadata.owner_references
    )


def _encode_spec(spec: PersistentVolumeClaimSpec) -> dict[str, Any]:
    """The spec in the form that clients send."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(spec))
    return plain


CONTROLLER = Controller(
    name="ephemeral volumes",
    user="ephemeral-volume-controller",
    concerns={"Pod": refs_for_pod, CLAIM: refs_for_claim},
    reconcile=reconcile,
)
