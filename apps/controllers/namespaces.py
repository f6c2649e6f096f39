"""Namespace deletion: deletes the contents of a Terminating namespace, then the namespace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster, DataObject
from apps.cluster.writes import Delete, Update
from apps.cluster.writing.binding import set_condition
from apps.controllers.cache import UNWATCHED, ControllerCache, Ref
from apps.controllers.controller import Controller, Requeue, Step, parse_time
from apps.controllers.writes import is_unfinished, set_status
from apps.scheduler.objects import KubeObject, Namespace, Pod

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
    pods = cache.list_all("Pod", Pod, ref[2])
    if pods:
        # all else waits for them: it may protect them, as a NetworkPolicy does
        for pod in pods:
            if not pod.metadata.deletion_timestamp:
                yield Delete(kinds.POD, ref[2], pod.metadata.name)
        running = [pod for pod in pods if is_unfinished(pod)]
        grace = max((pod.spec.termination_grace_period_seconds for pod in running), default=0)
        end = parse_time(namespace.metadata.deletion_timestamp) + timedelta(seconds=grace)
        is_late = now >= end and not any(pod.metadata.finalizers for pod in pods)
        yield from _report(cache, ref, Counter(), Counter(), now, is_late=is_late)
        if now < end:
            yield Requeue(end)
        return
    left: Counter[str] = Counter()
    held: Counter[str] = Counter()
    is_ending = True
    for kind in _CONTENT:
        for item in cache.list_all(kind.name, KubeObject, ref[2]):
            left[f"{kind.plural}.{kind.group}"] += 1
            held.update(item.metadata.finalizers)
            if not item.metadata.deletion_timestamp:
                is_ending = False
                yield Delete(kind, ref[2], item.metadata.name, {"propagationPolicy": "Background"})
    for kind, name, finalizers in _uncached(cache.cluster, ref[2]):
        if finalizers:
            left[f"{kind.plural}.{kind.group}"] += 1
            held.update(finalizers)
        yield Delete(kind, ref[2], name)
    if left:
        yield Requeue(now + _RETRY)
        if is_ending:
            yield from _report(cache, ref, left, held, now)
    else:
        uid = namespace.metadata.uid
        yield Update(
            kinds.NAMESPACE, *ref[1:], _remove_finalizer, "finalize", trusted=True, uid=uid
        )


def _report(
    cache: ControllerCache,
    ref: Ref,
    left: Counter[str],
    held: Counter[str],
    now: datetime,
    *,
    is_late: bool = False,
) -> Iterator[Step]:
    """Write what is left in the namespace as its conditions, if that has changed.

    ``is_late``: pods are left whose time to end is over.
    """
    namespace = cache.find_stored(kinds.NAMESPACE, "", ref[2])
    if namespace is None:
        return
    before = (namespace.get("status") or {}).get("conditions") or []
    conditions = before
    left_over = f"{_UNEXPECTED} {ref[2]} for gvr: /v1, Resource=pods"
    content = (_SUCCEEDED[2][0], "ContentDeletionFailed", left_over) if is_late else _SUCCEEDED[2]
    for type_, reason, message in (
        *_SUCCEEDED[:2],
        content,
        _remaining(left),
        _finalizers(held),
    ):
        status = "False" if (type_, reason, message) in _FINE else "True"
        condition = {"type": type_, "status": status, "reason": reason, "message": message}
        conditions = set_condition(conditions, condition, now, probed=False)
    if conditions != before:
        yield set_status(ref, namespace["metadata"]["uid"], {"conditions": conditions})


def _remaining(left: Counter[str]) -> tuple[str, str, str]:
    if not left:
        return _NOTHING_LEFT
    counts = ", ".join(f"{name} has {left[name]} resource instances" for name in sorted(left))
    return "NamespaceContentRemaining", "SomeResourcesRemain", f"{_REMAINING}{counts}"


def _finalizers(held: Counter[str]) -> tuple[str, str, str]:
    if not held:
        return _NOT_HELD
    counts = ", ".join(f"{name} in {held[name]} resource instances" for name in sorted(held))
    return "NamespaceFinalizersRemaining", "SomeFinalizersRemain", f"{_HELD}{counts}"


_REMAINING: Final = "Some resources are remaining: "
_UNEXPECTED: Final = (
    "Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace:"
)
_HELD: Final = "Some content in the namespace has finalizers remaining: "
_NOT_HELD: Final = (
    "NamespaceFinalizersRemaining",
    "ContentHasNoFinalizers",
    "All content-preserving finalizers finished",
)
_NOTHING_LEFT: Final = (
    "NamespaceContentRemaining",
    "ContentRemoved",
    "All content successfully removed",
)
#: What cannot fail here: type, reason and message.
_SUCCEEDED: Final = (
    (
        "NamespaceDeletionDiscoveryFailure",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
)


_FINE: Final = (*_SUCCEEDED, _NOT_HELD, _NOTHING_LEFT)


def _uncached(cluster: Cluster, namespace: str) -> Iterator[tuple[Kind, str, list[str]]]:
    """The objects of the namespace that are not cached, with their finalizers."""
    for kind in _UNCACHED:
        rows = kind.objects(cluster).filter(namespace=namespace)
        for name, held in rows.values_list("name", "body__metadata__finalizers"):
            yield kind, name, held or []
    data = DataObject.objects.filter(cluster=cluster, namespace=namespace)
    data = data.exclude(kind__in=[kind.key for kind in _CONTENT if kind.is_data])
    for key, name, held in data.values_list("kind", "name", "body__metadata__finalizers"):
        yield kinds.by_key(key), name, held or []


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
