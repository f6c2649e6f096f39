"""The owners of a StatefulSet's claims, with which they are deleted.

`persistentVolumeClaimRetentionPolicy` decides: the StatefulSet itself (`whenDeleted: Delete`), or
the pod of an ordinal that is given up (`whenScaled: Delete`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.writes import Update
from apps.controllers.cache import ControllerCache, owner_reference
from apps.controllers.writes import update_object
from apps.scheduler.objects import Pod

Body = dict[str, Any]
_CLAIM: Final = kinds.by_name("PersistentVolumeClaim")


def of_new_claim(stateful: Body) -> list[Body]:
    """The owners of a claim whose pod is about to be created."""
    return [owner_reference(stateful)] if _deletes(stateful, "whenDeleted") else []


def update(cache: ControllerCache, stateful: Body, pods: Mapping[int, Pod]) -> Iterator[Update]:
    """Set the owners of the claims of these pods, by ordinal; other owners stay."""
    metadata, spec = stateful["metadata"], stateful["spec"]
    first = (spec.get("ordinals") or {}).get("start", 0)
    wanted = range(first, first + spec.get("replicas", 1))
    for ordinal, pod in pods.items():
        given_up = ordinal not in wanted and _deletes(stateful, "whenScaled")
        owners = [_pod_reference(pod)] if given_up else of_new_claim(stateful)
        change = partial(_set_owners, owners, {metadata["uid"], pod.metadata.uid})
        for template in spec.get("volumeClaimTemplates") or ():
            name = f"{template['metadata']['name']}-{pod.metadata.name}"
            ref = _CLAIM.name, metadata["namespace"], name
            claim = cache.body(ref)
            if claim is not None and change(claim) != claim:
                yield update_object(ref, claim["metadata"]["uid"], change)


def _deletes(stateful: Body, when: str) -> bool:
    policy = stateful["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    return bool(policy.get(when) == "Delete")


def _pod_reference(pod: Pod) -> Body:
    metadata = {"name": pod.metadata.name, "uid": pod.metadata.uid}
    return owner_reference({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})


def _set_owners(owners: list[Body], own: set[str], claim: Body) -> Body:
    metadata = dict(claim["metadata"])
    kept = [each for each in metadata.pop("ownerReferences", []) if each["uid"] not in own]
    if kept or owners:
        metadata["ownerReferences"] = [*kept, *owners]
    return {**claim, "metadata": metadata}
