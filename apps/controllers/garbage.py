"""The garbage collector: deletes objects whose owners were deleted, unless they were orphaned.

An owner counts as deleted only if it has existed in this cluster. Objects that were imported
without their owners, from a real cluster for example, are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from apps.cluster import kinds
from apps.cluster.writes import Delete
from apps.cluster.writing.deletion import FOREGROUND, ORPHAN
from apps.controllers.cache import UNWATCHED, ControllerCache, Ref, is_watched, ref_of
from apps.controllers.controller import Concerns, Controller, Step
from apps.controllers.writes import remove_owner, update_object
from apps.scheduler.objects import KubeObject, OwnerReference

Body = dict[str, Any]
#: Finalizers of objects that are deleted after their dependants, or after these were orphaned.
_WAITING: Final = frozenset({FOREGROUND, ORPHAN})


def map_kind(kind: str) -> Concerns:
    def refs_for_object(
        cache: ControllerCache, old: KubeObject | None, new: KubeObject | None
    ) -> Iterable[Ref]:
        if new is None:
            assert old is not None
            owners = [_owner_ref(cache, each, old) for each in old.metadata.owner_references]
            return [*cache.owned_by(old.metadata.uid), *owners]
        metadata = new.metadata
        waits = metadata.deletion_timestamp and not _WAITING.isdisjoint(metadata.finalizers)
        if metadata.owner_references or waits:
            return [ref_of(kind, new)]
        return ()

    return refs_for_object


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    item = cache.get(ref, KubeObject)
    if item is None:
        return
    metadata = item.metadata
    if metadata.deletion_timestamp:
        if ORPHAN in metadata.finalizers:
            yield from _orphan(cache, ref, item)
        elif FOREGROUND in metadata.finalizers:
            yield from _delete_in_foreground(cache, ref, item)
        return
    owners = metadata.owner_references
    if owners and all(_is_absent(cache, each, item) for each in owners):
        options = {"preconditions": {"uid": metadata.uid}, "propagationPolicy": "Background"}
        yield Delete(kinds.by_key(ref[0]), *ref[1:], options)


def _orphan(cache: ControllerCache, ref: Ref, owner: KubeObject) -> Iterator[Step]:
    """Remove the owner reference from its dependants, then the finalizer from the owner."""
    uid = owner.metadata.uid
    for dependant in cache.owned_by(uid):
        item = cache.get(dependant, KubeObject)
        if item is not None:
            yield update_object(dependant, item.metadata.uid, lambda body: remove_owner(body, uid))
    yield update_object(ref, uid, lambda body: _remove_finalizer(body, ORPHAN))


def _delete_in_foreground(cache: ControllerCache, ref: Ref, owner: KubeObject) -> Iterator[Step]:
    """Delete the dependants first; blocking ones hold the owner."""
    uid, blocked = owner.metadata.uid, False
    for dependant in cache.owned_by(uid):
        item = cache.get(dependant, KubeObject)
        if item is None:
            continue
        blocked |= any(
            each.uid == uid and each.block_owner_deletion for each in item.metadata.owner_references
        )
        if not item.metadata.deletion_timestamp:
            options = {
                "preconditions": {"uid": item.metadata.uid},
                "propagationPolicy": "Foreground",
            }
            yield Delete(kinds.by_key(dependant[0]), *dependant[1:], options)
    if not blocked:
        yield update_object(ref, uid, lambda body: _remove_finalizer(body, FOREGROUND))


def _is_absent(cache: ControllerCache, owner: OwnerReference, item: KubeObject) -> bool:
    if not is_uuid(owner.uid):
        return False
    if not is_watched(owner.api_version, owner.kind):
        return cache.has_existed(owner.uid, deleted=True)
    cached = cache.get(_owner_ref(cache, owner, item), KubeObject)
    if cached is not None and cached.metadata.uid == owner.uid:
        return False
    return cache.has_existed(owner.uid)


def _owner_ref(cache: ControllerCache, owner: OwnerReference, item: KubeObject) -> Ref:
    """The object that a reference names; a custom resource only if it has finalizers."""
    other = cache.other(owner.uid)
    if other is not None:
        return other
    try:
        namespaced = kinds.by_name(owner.kind).namespaced
    except KeyError:
        namespaced = True
    return owner.kind, item.metadata.namespace if namespaced else "", owner.name


def is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _remove_finalizer(body: Body, finalizer: str) -> Body:
    metadata = dict(body["metadata"])
    held = metadata.pop("finalizers", None) or []
    kept = [each for each in held if each != finalizer]
    return {**body, "metadata": metadata | ({"finalizers": kept} if kept else {})}


CONTROLLER = Controller(
    name="garbage",
    user="generic-garbage-collector",
    concerns={kind.name: map_kind(kind.name) for kind in kinds.ALL if kind.name not in UNWATCHED},
    reconcile=reconcile,
    others=map_kind,
)
