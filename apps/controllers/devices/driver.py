"""The mock driver: publishes the devices of nodes, and reports allocated devices as attached.

An annotation of a node names the templates of its devices. Their ResourceSlices belong to the node,
with which they are deleted. Classes are created with the first slice that needs them, and stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.writes import Create, Delete
from apps.cluster.writing.metadata import timestamp
from apps.controllers.cache import ControllerCache, Ref, ref_of
from apps.controllers.controller import Controller, Requeue, Step, parse_time
from apps.controllers.devices.templates import (
    ANNOTATION,
    ATTACH_SECONDS,
    DRIVERS,
    TEMPLATES,
    DeviceTemplate,
    names_in,
)
from apps.controllers.writes import set_status
from apps.scheduler.objects import (
    DeviceClass,
    DeviceRequestAllocationResult,
    Node,
    ResourceClaim,
    ResourceSlice,
)

Body = dict[str, Any]
USER: Final = "mock-device-driver"
CLAIM: Final = "ResourceClaim"
CLASS: Final = "DeviceClass"
SLICE: Final = "ResourceSlice"
_API: Final = "resource.k8s.io/v1"


def refs_for_node(_: ControllerCache, old: Node | None, new: Node | None) -> Iterable[Ref]:
    if new is None:
        return ()
    before = old.metadata.annotations.get(ANNOTATION) if old is not None else None
    after = new.metadata.annotations.get(ANNOTATION)
    return [ref_of("Node", new)] if before != after else ()


def refs_for_slice(
    cache: ControllerCache, old: ResourceSlice | None, new: ResourceSlice | None
) -> Iterable[Ref]:
    """The node of a slice that was deleted: it is published again."""
    if new is not None or old is None or old.spec.driver not in DRIVERS or not old.spec.node_name:
        return ()
    return [("Node", "", old.spec.node_name)]


def refs_for_claim(
    _: ControllerCache, old: ResourceClaim | None, new: ResourceClaim | None
) -> Iterable[Ref]:
    return [ref_of(CLAIM, new)] if new is not None and any(_attachable(new)) else ()


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    if ref[0] == "Node":
        node = cache.node(ref[2])
        if node is not None and not node.metadata.deletion_timestamp:
            yield from _publish(cache, node)
    else:
        claim = cache.get(ref, ResourceClaim)
        if claim is not None:
            yield from _attach(ref, claim, now)


def _publish(cache: ControllerCache, node: Node) -> Iterator[Step]:
    """Create the slices that are missing, and delete those of templates that are not named."""
    wanted: dict[str, Body] = {}
    for name in names_in(node.metadata.annotations.get(ANNOTATION, "")):
        template = TEMPLATES[name]
        yield from _create_classes(cache, template)
        wanted |= {body["metadata"]["name"]: body for body in _slices(node, template)}
    for ref in cache.owned_by(node.metadata.uid):
        known = cache.get(ref, ResourceSlice) if ref[0] == SLICE else None
        if known is None or known.spec.driver not in DRIVERS:
            continue
        if wanted.pop(known.metadata.name, None) is None:
            options = {"preconditions": {"uid": known.metadata.uid}}
            yield Delete(kinds.by_name(SLICE), "", known.metadata.name, options)
    for body in wanted.values():
        yield Create(kinds.by_name(SLICE), body, "")


def _create_classes(cache: ControllerCache, template: DeviceTemplate) -> Iterator[Step]:
    for name, expression in template.classes.items():
        if cache.get((CLASS, "", name), DeviceClass) is None:
            body = {
                "apiVersion": _API,
                "kind": CLASS,
                "metadata": {"name": name},
                "spec": {"selectors": [{"cel": {"expression": expression}}]},
            }
            yield Create(kinds.by_name(CLASS), body, "")


def _slices(node: Node, template: DeviceTemplate) -> Iterator[Body]:
    name = node.metadata.name
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node.metadata.uid}
    contents = template.slices()
    pool = {"name": name, "generation": 1, "resourceSliceCount": len(contents)}
    for each in contents:
        yield {
            "apiVersion": _API,
            "kind": SLICE,
            "metadata": {
                "name": f"{name}-{each.suffix}",
                "ownerReferences": [{**owner, "controller": True}],
            },
            "spec": {"driver": template.driver, "nodeName": name, "pool": pool, **each.part},
        }


def _attachable(claim: ResourceClaim) -> Iterator[DeviceRequestAllocationResult]:
    """The devices of this driver that have to be attached before the pod is bound."""
    allocation = claim.status.allocation
    for result in allocation.devices.results if allocation is not None else ():
        if result.driver in ATTACH_SECONDS and result.binding_conditions:
            yield result


def _attach(ref: Ref, claim: ResourceClaim, now: datetime) -> Iterator[Step]:
    """Set the binding conditions of the devices whose delay is over."""
    allocation = claim.status.allocation
    known = {(each.driver, each.pool, each.device) for each in claim.status.devices}
    missing = [
        each for each in _attachable(claim) if (each.driver, each.pool, each.device) not in known
    ]
    if allocation is None or not missing:
        return
    since = parse_time(allocation.allocation_timestamp) if allocation.allocation_timestamp else now
    delay = max(ATTACH_SECONDS[each.driver] for each in missing)
    end = since + timedelta(seconds=delay)
    if now < end:
        yield Requeue(end)
        return

    devices = [_attached(each, now) for each in missing]
    yield set_status(ref, claim.metadata.uid, {"devices": devices})


def _attached(result: DeviceRequestAllocationResult, now: datetime) -> Body:
    return {
        "driver": result.driver,
        "pool": result.pool,
        "device": result.device,
        "conditions": [
            {
                "type": condition,
                "status": "True",
                "reason": "Attached",
                "message": "",
                "lastTransitionTime": timestamp(now),
            }
            for condition in result.binding_conditions
        ],
    }


CONTROLLER = Controller(
    name="mock device driver",
    user=USER,
    concerns={"Node": refs_for_node, SLICE: refs_for_slice, CLAIM: refs_for_claim},
    reconcile=reconcile,
)
