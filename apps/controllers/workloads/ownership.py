"""Ownership of pods: by controller reference, or by selector without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import msgspec

from apps.cluster.writes import Update
from apps.controllers.cache import ControllerCache, Ref, controller_refs, owner_reference, ref_of
from apps.controllers.controller import Concerns
from apps.controllers.writes import is_active, update_object
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
                refs += _adopters(cache, new, kinds)
        return refs

    return refs_for_change


def _adopters(cache: ControllerCache, pod: Pod, kinds: Iterable[str]) -> list[Ref]:
    return [
        ref_of(kind, workload)
        for kind in kinds
        for workload in cache.list_all(kind, KubeObject, pod.metadata.namespace)
        if (body := cache.body(ref_of(kind, workload))) is not None
        and selector_of(body).matches(pod.metadata.labels)
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


def adoptions(cache: ControllerCache, workload: Body) -> Iterator[Update]:
    """Adopt the active pods that match and have no controller."""
    selector, reference = selector_of(workload), owner_reference(workload)
    for pod in cache.list_all("Pod", Pod, workload["metadata"]["namespace"]):
        if pod.metadata.controller is not None or not is_active(pod):
            continue
        if selector.matches(pod.metadata.labels):
            change = partial(_add_owner, reference)
            yield update_object(ref_of("Pod", pod), pod.metadata.uid, change)


def _add_owner(reference: Body, pod: Body) -> Body:
    metadata = dict(pod["metadata"])
    owners = metadata.get("ownerReferences") or []
    if not any(each.get("controller") for each in owners):
        metadata["ownerReferences"] = [*owners, reference]
    return {**pod, "metadata": metadata}
