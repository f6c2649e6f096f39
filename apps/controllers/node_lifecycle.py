"""Node lifecycle: derives taints from the conditions and `spec.unschedulable` of a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.writes import Update
from apps.cluster.writing.metadata import timestamp
from apps.controllers.cache import ControllerCache, Ref
from apps.controllers.controller import Controller, Step
from apps.controllers.events.writer import PendingEvent
from apps.controllers.kubelet.node_kubelet import KUBELET, UNINITIALIZED
from apps.scheduler.objects import Node

Body = dict[str, Any]
Wanted = frozenset[tuple[str, str]]

USER: Final = "node-controller"

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"

#: status of the condition Ready ("" = no condition yet) -> taints
_BY_READINESS: Final[dict[str, Wanted]] = {
    "": frozenset({(NOT_READY, "NoSchedule")}),
    "True": frozenset(),
    "False": frozenset({(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")}),
    "Unknown": frozenset({(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")}),
}
#: condition -> taint while the condition is True
_BY_CONDITION: Final = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
#: The taints that this controller manages; it ignores all others.
_OWN: Final[Wanted] = frozenset(
    {
        *_BY_READINESS["False"],
        *_BY_READINESS["Unknown"],
        *((key, "NoSchedule") for key in _BY_CONDITION.values()),
        (UNSCHEDULABLE, "NoSchedule"),
    }
)


def refs_for_node(_: ControllerCache, old: Node | None, new: Node | None) -> Iterable[Ref]:
    return () if new is None else [("Node", "", new.metadata.name)]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    node = cache.node(ref[2])
    if node is None:
        return
    present = {(taint.key, taint.effect) for taint in node.spec.taints}
    yield from _taint_events(node, present)
    undated = any(t.effect == "NoExecute" and not t.time_added for t in node.spec.taints)
    initialized = UNINITIALIZED in {key for key, _ in present} and node.spec.provider_id
    if present & _OWN != wanted_taints(node) or undated or initialized:
        yield Update(
            kinds.NODE,
            "",
            node.metadata.name,
            lambda body: _set_taints(body, wanted_taints(node), now),
            trusted=True,
            uid=node.metadata.uid,
        )


def _taint_events(node: Node, present: set[tuple[str, str]]) -> Iterator[Step]:
    """The events about the taints that will be added and removed."""
    wanted = wanted_taints(node)
    lost = {(NOT_READY, "NoExecute"), (UNREACHABLE, "NoExecute")}
    kept_off = {*lost, (NOT_READY, "NoSchedule")}
    cordoned = (UNSCHEDULABLE, "NoSchedule")
    changes = (
        (USER, "NodeNotReady", bool(wanted & lost) and not present & lost),
        (KUBELET, "NodeReady", bool(present & kept_off) and not wanted & kept_off),
        (KUBELET, "NodeNotSchedulable", cordoned in wanted and cordoned not in present),
        (KUBELET, "NodeSchedulable", cordoned in present and cordoned not in wanted),
    )
    name, uid = node.metadata.name, node.metadata.uid
    subject = {"kind": "Node", "apiVersion": "v1", "name": name, "uid": uid}
    for reporter, reason, happened in changes:
        if happened:
            yield PendingEvent(subject, reason, f"Node {name} status is now: {reason}", reporter)


def wanted_taints(node: Node) -> Wanted:
    """The taints that follow from the node's conditions and `unschedulable`."""
    conditions = {each.type: each.status for each in node.status.conditions}
    wanted = set(_BY_READINESS.get(conditions.get("Ready", ""), _BY_READINESS["Unknown"]))
    wanted |= {
        (taint, "NoSchedule")
        for condition, taint in _BY_CONDITION.items()
        if conditions.get(condition) == "True"
    }
    if node.spec.unschedulable:
        wanted.add((UNSCHEDULABLE, "NoSchedule"))
    return frozenset(wanted)


def _set_taints(node: Body, wanted: Wanted, now: datetime) -> Body:
    """The node with the wanted taints; all get `timeAdded`, from which evictions count."""
    spec = dict(node.get("spec") or {})
    kept = [
        taint
        for taint in spec.get("taints") or []
        if _key(taint) not in _OWN - wanted
        and not (taint["key"] == UNINITIALIZED and spec.get("providerID"))
    ]
    missing = sorted(wanted - {_key(taint) for taint in kept})
    kept = [
        {**taint, "timeAdded": taint.get("timeAdded") or timestamp(now)}
        if taint.get("effect") == "NoExecute"
        else taint
        for taint in kept
    ]
    kept += [{"key": key, "effect": effect, "timeAdded": timestamp(now)} for key, effect in missing]
    spec.pop("taints", None)
    if kept:
        spec["taints"] = kept
    return {**node, "spec": spec}


def _key(taint: Body) -> tuple[str, str]:
    return taint["key"], taint.get("effect", "")


CONTROLLER = Controller(
    name="node lifecycle",
    user=USER,
    concerns={"Node": refs_for_node},
    reconcile=reconcile,
)
