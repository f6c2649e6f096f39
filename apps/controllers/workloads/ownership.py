"""Ownership of pods: by controller reference, or by selector without one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import msgspec

from apps.cluster.writes import Update
from apps.controllers.cache import ControllerCache, Ref, controller_refs, owner_reference, ref_of
from apps.controllers.controller import Concerns
from apps.controllers.writes import is_active, remove_owner, update_object
from apps.scheduler.labels import Selector, SelectorError, from_label_selector, from_set
from apps.scheduler.objects import KubeObject, LabelSelector, Pod

Body = dict[str, Any]


def map_object(kind: str) -> Concerns:
    """Map a change of a workload of this kind to the workload itself."""

    def refs_for_change(
        _: ControllerCache, old: KubeObject | None, new: KubeObject | None
    ) -> Iterable[Ref]:
        return () if new is None else [ref_of(kind, new)]

    return refs_for_change


def map_pods(*kinds: str) -> Concerns:
    """Map a change of a pod to its owners of these kinds, or those that may adopt it."""

    def refs_for_change(cache: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
        refs: list[Ref] = []
        if old is not None and old.metadata.owner_references:
            refs += controller_refs(old, kinds)
        if new is not None:
            if new.metadata.owner_references:
                refs += controller_refs(new, kinds)
            # most clusters have no workloads: then a pod costs next to nothing
            if cache.has_any(kinds) and new.metadata.controller is None and is_active(new):
                refs += adopters(cache, new, kinds)
        return refs

    return refs_for_change


def adopters(cache: ControllerCache, item: KubeObject, kinds: Iterable[str]) -> list[Ref]:
    """The workloads of these kinds that select the object."""
    return [
        ref_of(kind, workload)
        for kind in kinds
        for workload in cache.list_all(kind, KubeObject, item.metadata.namespace)
        if (body := cache.body(ref_of(kind, workload))) is not None
        and selector_of(body).matches(item.metadata.labels)
    ]


def selector_of(workload: Body) -> Selector:
    """The selector of a workload; a ReplicationController has a map of labels."""
    selector = workload["spec"].get("selector") or {}
    if workload["kind"] == "ReplicationController":
        return from_set(selector)
    try:
        return from_label_selector(msgspec.convert(selector, LabelSelector))
    except SelectorError:
        return from_label_selector(None)


def own_pods(cache: ControllerCache, workload: Body) -> list[Pod]:
    """The pods that the workload controls and that its selector matches."""
    selector = selector_of(workload)
    pods = cache.pods_of(workload["metadata"]["uid"])
    return [pod for pod in pods if selector.matches(pod.metadata.labels)]


def claim_pods(
    cache: ControllerCache, workload: Body, *, may_adopt: Callable[[Pod], bool] = lambda _: True
) -> Iterator[Update]:
    """Adopt active pods that match and have no controller, and release those that do not match."""
    selector = selector_of(workload)
    for pod in cache.pods_of(workload["metadata"]["uid"]):
        if not selector.matches(pod.metadata.labels):
            yield _release(ref_of("Pod", pod), pod, workload)
    for pod in cache.list_all("Pod", Pod, workload["metadata"]["namespace"]):
        is_free = pod.metadata.controller is None and is_active(pod)
        if is_free and selector.matches(pod.metadata.labels) and may_adopt(pod):
            yield _adopt(ref_of("Pod", pod), pod, workload)


def claim_objects(cache: ControllerCache, kind: str, workload: Body) -> Iterator[Update]:
    """The same for the objects of another kind, by their labels."""
    selector, uid = selector_of(workload), workload["metadata"]["uid"]
    for each in cache.list_all(kind, KubeObject, workload["metadata"]["namespace"]):
        matches, owner = selector.matches(each.metadata.labels), each.metadata.controller
        if owner is None and matches and not each.metadata.deletion_timestamp:
            yield _adopt(ref_of(kind, each), each, workload)
        elif owner is not None and owner.uid == uid and not matches:
            yield _release(ref_of(kind, each), each, workload)


def _adopt(ref: Ref, item: KubeObject, workload: Body) -> Update:
    return update_object(ref, item.metadata.uid, partial(_add_owner, owner_reference(workload)))


def _release(ref: Ref, item: KubeObject, workload: Body) -> Update:
    return update_object(
        ref, item.metadata.uid, partial(remove_owner, uid=workload["metadata"]["uid"])
    )


def _add_owner(reference: Body, body: Body) -> Body:
    metadata = dict(body["metadata"])
    owners = metadata.get("ownerReferences") or []
    if not any(each.get("controller") for each in owners):
        metadata["ownerReferences"] = [*owners, reference]
    return {**body, "metadata": metadata}
