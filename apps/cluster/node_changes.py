"""Manual changes of nodes: cordon, taint, label, set conditions; for one or many nodes.

Each change is a function from a node's body to its new body; `change_nodes` writes them through
the store. Taints and labels have kubectl's syntax: `key=value:Effect` and `key=value`; a trailing
`-` removes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.cluster import kinds
from apps.cluster.errors import ApiError, BadRequest, Cause, Invalid
from apps.cluster.log.changelog import ObjectChange
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Delete, Update, Write
from apps.cluster.writing import store
from apps.cluster.writing.binding import set_condition
from apps.cluster.writing.metadata import timestamp

Body = dict[str, Any]
Change = Callable[[Mapping[str, Any]], Body]

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_EFFECTS = ", ".join(EFFECTS)

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
class BulkResult:
    """The result of a change of many nodes."""

    done: int
    #: Messages of the writes that the store refused.
    refusals: Sequence[str]
    #: The versions of the nodes that really changed; empty if all had the state already.
    versions: Sequence[int] = ()


def change_nodes(
    cluster: Cluster, names: Sequence[str], change: Change, *, actor: Actor, subresource: str = ""
) -> BulkResult:
    """Update these nodes in one transaction; nodes whose update is refused remain unchanged."""
    writes = [Update(kinds.NODE, "", name, change, subresource) for name in dict.fromkeys(names)]
    return _write(cluster, writes, actor)


def delete_nodes(cluster: Cluster, names: Sequence[str], *, actor: Actor) -> BulkResult:
    """Delete these nodes."""
    writes = [Delete(kinds.NODE, "", name) for name in dict.fromkeys(names)]
    return _write(cluster, writes, actor)


def cordon(unschedulable: bool) -> Change:
    """Set whether the node is unschedulable for new pods."""

    def change(node: Mapping[str, Any]) -> Body:
        return {**node, "spec": {**(node.get("spec") or {}), "unschedulable": unschedulable}}

    return change


def change_taint(text: str) -> Change:
    """Add the taint `key=value:Effect`, replacing one with the same key and effect, or remove
    `key:Effect-`, or every taint `key-`; raises BadRequest for other text."""
    removing = text.strip().endswith("-")
    rest, colon, effect = text.strip().removesuffix("-").rpartition(":")
    if not colon:
        rest, effect = text.strip().removesuffix("-"), ""
    key, _, value = rest.partition("=")
    if not key or (effect or not removing) and effect not in EFFECTS:
        raise BadRequest(
            f"{text!r} is neither key=value:Effect nor key:Effect- nor key-; effects are {_EFFECTS}"
        )
    taint = {"key": key, "effect": effect, **({"value": value} if value else {})}

    def change(node: Mapping[str, Any]) -> Body:
        spec = dict(node.get("spec") or {})
        others = [each for each in spec.get("taints") or () if not _matches(each, key, effect)]
        spec["taints"] = others if removing else [*others, taint]
        return {**node, "spec": spec}

    return change


def remove_taint(text: str) -> Change:
    """Remove the taints `key` or `key:Effect`; raises BadRequest for other text."""
    rest, colon, effect = text.strip().removesuffix("-").rpartition(":")
    key = (rest if colon else effect).partition("=")[0]
    if not key or (colon and effect not in EFFECTS):
        raise BadRequest(f"{text!r} is neither key nor key:Effect; effects are {_EFFECTS}")
    return change_taint(f"{key}:{effect}-" if colon else f"{key}-")


def change_label(text: str) -> Change:
    """Set the label `key=value`, or remove `key-`; raises BadRequest for other text."""
    return _change_metadata("labels", text)


def change_annotation(text: str) -> Change:
    """Set the annotation `key=value`, or remove `key-`; raises BadRequest for other text."""
    return _change_metadata("annotations", text)


def _change_metadata(field: str, text: str) -> Change:
    key, equals, value = (part.strip() for part in text.partition("="))
    removing = not equals and key.endswith("-")
    key = key.removesuffix("-") if removing else key
    if not key or not (equals or removing):
        raise BadRequest(f"{text!r} is neither key=value nor key-")

    def change(body: Mapping[str, Any]) -> Body:
        metadata = body["metadata"]
        values = {k: v for k, v in (metadata.get(field) or {}).items() if k != key}
        if not removing:
            values[key] = value
        return {**body, "metadata": {**metadata, field: values}}

    return change


def change_condition(condition: str, status: str, now: datetime) -> Change:
    """Set a condition; write the change to the subresource `status`. Invalid for unknown values."""
    causes = [
        Cause("FieldValueNotSupported", f"must be one of {', '.join(supported)}", field)
        for field, value, supported in (
            ("type", condition, CONDITIONS),
            ("status", status, STATUSES),
        )
        if value not in supported
    ]
    if causes:
        raise Invalid("Node", "", causes)
    healthy, reason, failing = CONDITIONS[condition]
    if status == "Unknown":
        reason, message = "NodeStatusUnknown", "Kubelet stopped posting node status."
    else:
        message = "" if status == healthy else "set manually"
        reason = reason if status == healthy else failing

    def change(node: Mapping[str, Any]) -> Body:
        node_status = dict(node.get("status") or {})
        new = {
            "type": condition,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": timestamp(now),
        }
        present = node_status.get("conditions") or []
        node_status["conditions"] = set_condition(present, new, now, probed=False)
        return {**node, "status": node_status}

    return change


def _matches(taint: Mapping[str, Any], key: str, effect: str) -> bool:
    """Whether a taint has this key and, if given, this effect."""
    return taint.get("key") == key and (not effect or taint.get("effect") == effect)


def _write(cluster: Cluster, writes: Sequence[Write], actor: Actor) -> BulkResult:
    journal: list[ObjectChange] = []
    outcomes = store.write(cluster, writes, actor=actor, collect_refusals=True, journal=journal)
    refusals = [outcome.message for outcome in outcomes if isinstance(outcome, ApiError)]
    versions = [each.version for each in journal if each.kind == kinds.NODE.name]
    return BulkResult(len(outcomes) - len(refusals), refusals, versions)
