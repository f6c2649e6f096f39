"""Whose pods are whose: by controller reference, and by selector where there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import msgspec

from apps.cluster.writes import Update
from apps.controlplane.controllers.controller import Concerns
from apps.controlplane.controllers.world import (
    Ref,
    World,
    controller_of,
    owner_reference,
    ref_of,
)
from apps.controlplane.controllers.writes import change_of, is_active
from apps.scheduler.labels import Selector, SelectorError, from_label_selector, from_set
from apps.scheduler.objects import KubeObject, LabelSelector, Pod

Body = dict[str, Any]


def of_object(kind: str) -> Concerns:
    """A workload of this kind is concerned by its own changes."""

    def concerned(_: World, old: KubeObject | None, new: KubeObject | None) -> Iterable[Ref]:
        return () if new is None else [ref_of(kind, new)]

    return concerned


def of_pods(*kinds: str) -> Concerns:
    """Workloads of these kinds are concerned by their pods, and by pods they might adopt."""

    def concerned(world: World, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
        refs = [ref for pod in (old, new) if pod is not None for ref in _owner(pod, kinds)]
        if new is not None and not controller_of(new) and is_active(new):
            refs += _adopters(world, new, kinds)
        return refs

    return concerned


def _owner(pod: Pod, kinds: Iterable[str]) -> Iterator[Ref]:
    for owner in pod.metadata.owner_references:
        if owner.controller and owner.kind in kinds:
            yield owner.kind, pod.metadata.namespace, owner.name


def _adopters(world: World, pod: Pod, kinds: Iterable[str]) -> list[Ref]:
    return [
        ref_of(kind, workload)
        for kind in kinds
        for workload in world.every(kind, KubeObject, pod.metadata.namespace)
        if (body := world.body(ref_of(kind, workload))) is not None
        and selector_of(body).matches(pod.metadata.labels)
    ]


def selector_of(workload: Body) -> Selector:
    """What a workload selects; of a ReplicationController a plain set of labels."""
    selector = workload["spec"].get("selector") or {}
    if workload["kind"] == "ReplicationController":
        return from_set(selector)
    try:
        return from_label_selector(msgspec.convert(selector, LabelSelector))
    except SelectorError:
        return from_label_selector(None)


def own_pods(world: World, workload: Body) -> list[Pod]:
    """The pods whose controller the workload is, and which its selector matches."""
    selector = selector_of(workload)
    pods = world.pods_of(workload["metadata"]["uid"])
    return [pod for pod in pods if selector.matches(pod.metadata.labels)]


def adoptions(world: World, workload: Body) -> Iterator[Update]:
    """Take in the active pods that match and have no controller."""
    selector, reference = selector_of(workload), owner_reference(workload)
    for pod in world.every("Pod", Pod, workload["metadata"]["namespace"]):
        if not controller_of(pod) and is_active(pod) and selector.matches(pod.metadata.labels):
            change = partial(_owned, reference)
            yield change_of(ref_of("Pod", pod), pod.metadata.uid, change)


def _owned(reference: Body, pod: Body) -> Body:
    metadata = dict(pod["metadata"])
    owners = metadata.get("ownerReferences") or []
    if not any(each.get("controller") for each in owners):
        metadata["ownerReferences"] = [*owners, reference]
    return {**pod, "metadata": metadata}
