"""Namespace deletion: deletes the contents of a Terminating namespace, then the namespace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster, DataObject
from apps.cluster.writes import Delete, Update
from apps.controllers.cache import UNWATCHED, ControllerCache, Ref
from apps.controllers.controller import Controller, Requeue, Step
from apps.scheduler.objects import KubeObject, Namespace

Body = dict[str, Any]


def refs_for_namespace(
    _: ControllerCache, old: Namespace | None, new: Namespace | None
) -> Iterable[Ref]:
    if new is not None and new.metadata.deletion_timestamp:
        return [("Namespace", "", new.metadata.name)]
    return ()


def refs_for_content(
    cache: ControllerCache, old: KubeObject | None, new: KubeObject | None
) -> Iterable[Ref]:
    """An object of the namespace was created or deleted."""
    if old is not None and new is not None:
        return ()
    item = new or old
    assert item is not None
    ref = ("Namespace", "", item.metadata.namespace)
    namespace = cache.get(ref, Namespace)
    return [ref] if namespace is not None and namespace.metadata.deletion_timestamp else ()


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    namespace = cache.get(ref, Namespace)
    if namespace is None or not namespace.metadata.deletion_timestamp:
        return
    left = False
    for kind in _CONTENT:
        for item in cache.list_all(kind.name, KubeObject, ref[2]):
            left = True
            if not item.metadata.deletion_timestamp:
                yield Delete(kind, ref[2], item.metadata.name, {"propagationPolicy": "Background"})
    for kind, name, held in _uncached(cache.cluster, ref[2]):
        left |= held
        yield Delete(kind, ref[2], name)
    if left:
        yield Requeue(now + _RETRY)
    else:
        uid = namespace.metadata.uid
        yield Update(
            kinds.NAMESPACE, *ref[1:], _remove_finalizer, "finalize", trusted=True, uid=uid
        )


def _uncached(cluster: Cluster, namespace: str) -> Iterator[tuple[Kind, str, bool]]:
    """The objects of the namespace that are not cached, and whether finalizers hold them."""
    for kind in _UNCACHED:
        rows = kind.objects(cluster).filter(namespace=namespace)
        for name, held in rows.values_list("name", "body__metadata__finalizers"):
            yield kind, name, bool(held)
    data = DataObject.objects.filter(cluster=cluster, namespace=namespace)
    data = data.exclude(kind__in=[kind.key for kind in _CONTENT if kind.is_data])
    for key, name, held in data.values_list("kind", "name", "body__metadata__finalizers"):
        yield kinds.by_key(key), name, bool(held)


def _remove_finalizer(namespace: Body) -> Body:
    spec = dict(namespace.get("spec") or {})
    spec["finalizers"] = [name for name in spec.get("finalizers") or [] if name != "kubernetes"]
    return {**namespace, "spec": spec}


#: How long to wait for those who remove finalizers of objects that are not cached.
_RETRY = timedelta(seconds=5)
_UNCACHED = [
    kind for kind in kinds.ALL if kind.namespaced and kind.name in UNWATCHED and not kind.is_data
]
_CONTENT = [kind for kind in kinds.ALL if kind.namespaced and kind.name not in UNWATCHED]

CONTROLLER = Controller(
    name="namespaces",
    user="namespace-controller",
    concerns={"Namespace": refs_for_namespace} | {kind.name: refs_for_content for kind in _CONTENT},
    reconcile=reconcile,
)
