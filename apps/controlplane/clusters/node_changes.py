"""What people do to nodes: cordon, taint, label, break and mend them; one or many at once.

Each change is a function from the node to the new node; `change_nodes` writes any of them through
the store, and so do the pages and the API. Taints and labels are spelled as for kubectl:
`key=value:Effect`, `key=value`, and with a `-` behind it what is to go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.cluster import kinds
from apps.cluster.errors import ApiError, BadRequest, Cause, Invalid
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Delete, Update, Write
from apps.cluster.writing import store
from apps.cluster.writing.binding import set_condition

Body = dict[str, Any]
Change = Callable[[Mapping[str, Any]], Body]

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

#: condition -> (healthy status, reason when healthy, reason when not)
CONDITIONS: Mapping[str, tuple[str, str, str]] = {
    "Ready": ("True", "KubeletReady", "KubeletNotReady"),
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "KubeletHasInsufficientMemory"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "KubeletHasDiskPressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "KubeletHasInsufficientPID"),
    "NetworkUnavailable": ("False", "RouteCreated", "NoRouteCreated"),
}
STATUSES = ("True", "False", "Unknown")


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of many changes at once."""

    done: int
    refusals: Sequence[str]


def change_nodes(
    cluster: Cluster, names: Sequence[str], change: Change, *, actor: Actor, subresource: str = ""
) -> Changed:
    """Change these nodes in one transaction; those that refuse stay as they are."""
    writes = [Update(kinds.NODE, "", name, change, subresource) for name in dict.fromkeys(names)]
    return _carried_out(cluster, writes, actor)


def delete_nodes(cluster: Cluster, names: Sequence[str], *, actor: Actor) -> Changed:
    """Delete these nodes."""
    writes = [Delete(kinds.NODE, "", name) for name in dict.fromkeys(names)]
    return _carried_out(cluster, writes, actor)


def cordoned(wanted: bool) -> Change:
    """Set whether new pods may land on the node."""

    def change(node: Mapping[str, Any]) -> Body:
        return {**node, "spec": {**(node.get("spec") or {}), "unschedulable": wanted}}

    return change


def tainted(text: str) -> Change:
    """Add the taint `key=value:Effect`, in the place of one of the same key and effect, or take
    away `key:Effect-`, or every taint of `key-`; BadRequest for what is neither."""
    removing = text.strip().endswith("-")
    rest, colon, effect = text.strip().removesuffix("-").rpartition(":")
    if not colon:
        rest, effect = text.strip().removesuffix("-"), ""
    key, _, value = rest.partition("=")
    if not key or (effect or not removing) and effect not in EFFECTS:
        raise BadRequest(
            f"{text!r} is neither key=value:Effect nor key:Effect- nor key-; effects are "
            f"{', '.join(EFFECTS)}"
        )
    taint = {"key": key, "effect": effect, **({"value": value} if value else {})}

    def change(node: Mapping[str, Any]) -> Body:
        spec = dict(node.get("spec") or {})
        others = [each for each in spec.get("taints") or () if not _same(each, key, effect)]
        spec["taints"] = others if removing else [*others, taint]
        return {**node, "spec": spec}

    return change


def labelled(text: str) -> Change:
    """Set the label `key=value`, or take away `key-`; BadRequest for what is neither."""
    key, equals, value = (part.strip() for part in text.partition("="))
    removing = not equals and key.endswith("-")
    key = key.removesuffix("-") if removing else key
    if not key or not (equals or removing):
        raise BadRequest(f"{text!r} is neither key=value nor key-")

    def change(node: Mapping[str, Any]) -> Body:
        metadata = node["metadata"]
        labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k != key}
        if not removing:
            labels[key] = value
        return {**node, "metadata": {**metadata, "labels": labels}}

    return change


def with_status(condition: str, status: str, now: datetime) -> Change:
    """Set a condition, for a write of the node's status."""
    causes = []
    if condition not in CONDITIONS:
        causes.append(Cause("FieldValueNotSupported", f"none of {', '.join(CONDITIONS)}", "type"))
    if status not in STATUSES:
        causes.append(Cause("FieldValueNotSupported", f"none of {', '.join(STATUSES)}", "status"))
    if causes:
        raise Invalid("Node", "", causes)
    healthy, reason, failing = CONDITIONS[condition]
    if status == "Unknown":
        reason, message = "NodeStatusUnknown", "Kubelet stopped posting node status."
    else:
        message = "" if status == healthy else "set by hand"
        reason = reason if status == healthy else failing

    def change(node: Mapping[str, Any]) -> Body:
        written = dict(node.get("status") or {})
        new = {"type": condition, "status": status, "reason": reason, "message": message}
        written["conditions"] = set_condition(written.get("conditions") or [], new, now)
        return {**node, "status": written}

    return change


def _same(taint: Mapping[str, Any], key: str, effect: str) -> bool:
    return taint.get("key") == key and (not effect or taint.get("effect") == effect)


def _carried_out(cluster: Cluster, writes: Sequence[Write], actor: Actor) -> Changed:
    outcomes = store.write(cluster, writes, actor=actor, collect_refusals=True)
    refusals = [outcome.message for outcome in outcomes if isinstance(outcome, ApiError)]
    return Changed(len(outcomes) - len(refusals), refusals)
