"""Undoing a change of nodes: each field that it changed gets its value from before the change.

A field that was changed again since then stays as it is. Labels, taints and `spec.unschedulable`
are restored; pods that were evicted in between are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.cluster import kinds
from apps.cluster.errors import ApiError, BadRequest
from apps.cluster.log import changelog
from apps.cluster.models import Change, Cluster
from apps.cluster.writes import Actor, Update
from apps.cluster.writing import store
from apps.controlplane.clusters.evictions import Evictions, find_evictions

Body = dict[str, Any]
#: Name of a field for users -> its value
Fields = Mapping[str, Any]

#: Nodes of one change at most.
MAX_NODES = 1000
_ABSENT: Any = None


@dataclass(slots=True)
class UndoResult:
    """What was restored, what was not and why, and the pods that were evicted in between."""

    #: Names of the nodes that were changed back, and what was restored on them, each text once.
    nodes: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    #: A sentence for each field that stays as it is.
    kept: list[str] = field(default_factory=list)
    evictions: Evictions = Evictions()


def undo_node_changes(
    cluster: Cluster, first: int, last: int, request_id: str, *, actor: Actor
) -> UndoResult:
    """Undo the changes of nodes that a request wrote as the versions `first` to `last`.

    BadRequest if there are none: the change log no longer has them, or never had.
    """
    changes = list(
        Change.objects.filter(
            cluster=cluster,
            version__gte=first,
            version__lte=min(last, first + MAX_NODES),
            kind=kinds.NODE.name,
            type=Change.Type.MODIFIED,
            request_id=request_id,
        )
    )
    versions = [each.previous_version for each in changes if each.previous_version]
    earlier = changelog.objects_at(cluster.pk, versions)
    known = [each for each in changes if each.previous_version in earlier]
    if not known:
        raise BadRequest("This change is no longer in the change log, so it cannot be undone.")
    result = UndoResult()
    updates = [
        Update(
            kinds.NODE,
            "",
            each.name,
            _build_reversal(each, earlier[each.previous_version or 0], result),
            uid=str(each.uid),
        )
        for each in known
    ]
    outcomes = store.write(cluster, updates, actor=actor, collect_refusals=True)
    for each, outcome in zip(known, outcomes, strict=True):
        if isinstance(outcome, ApiError):
            result.kept.append(f"{each.name}: {outcome.message}")
    result.nodes.sort()
    result.restored.sort()
    names = [each.name for each in known]
    result.evictions = find_evictions(cluster, names, since=first)
    return result


def _build_reversal(
    change: Change, before: Mapping[str, Any], result: UndoResult
) -> Callable[[Body], Body]:
    """The function that changes the present node back; it adds to `result` what it did."""

    def reverse(node: Body) -> Body:
        old, new, present = (_read_fields(body) for body in (before, change.object, node))
        values = dict(present)
        restored = []
        for name in _changed(old, new):
            value = old.get(name, _ABSENT)
            if present.get(name, _ABSENT) != new.get(name, _ABSENT):
                if present.get(name, _ABSENT) != value:
                    text = f"{_label(name)} was changed since, and stays as it is"
                    result.kept.append(f"{change.name}: {text}")
                continue
            if value is _ABSENT:
                values.pop(name, None)
            else:
                values[name] = value
            restored.append(_describe(name, value))
        if restored:
            result.nodes.append(change.name)
            result.restored += [text for text in restored if text not in result.restored]
        return _write_fields(node, values, present)

    return reverse


def _changed(old: Fields, new: Fields) -> Iterator[Any]:
    names = dict.fromkeys((*old, *new))
    return (name for name in names if old.get(name, _ABSENT) != new.get(name, _ABSENT))


def _read_fields(body: Mapping[str, Any]) -> dict[Any, Any]:
    """The fields that undo restores: ("label", key), ("taint", key, effect), ("unschedulable",)."""
    spec = body.get("spec") or {}
    labels = (body.get("metadata") or {}).get("labels") or {}
    fields: dict[Any, Any] = {("label", key): value for key, value in labels.items()}
    for taint in spec.get("taints") or ():
        fields["taint", taint["key"], taint["effect"]] = taint.get("value", "")
    if spec.get("unschedulable"):
        fields["unschedulable",] = True
    return fields


def _write_fields(node: Body, values: Mapping[Any, Any], present: Mapping[Any, Any]) -> Body:
    """The node with these fields; unchanged taints keep their time."""
    spec = dict(node.get("spec") or {})
    stored = {(taint["key"], taint["effect"]): taint for taint in spec.get("taints") or ()}
    taints: list[Mapping[str, Any]] = []
    for name, value in values.items():
        if name[0] == "taint":
            same = present.get(name, _ABSENT) == value
            taint = {"key": name[1], "effect": name[2], **({"value": value} if value else {})}
            taints.append(stored[name[1:]] if same else taint)
    spec["taints"] = taints
    spec["unschedulable"] = values.get(("unschedulable",), False)
    labels = {name[1]: value for name, value in values.items() if name[0] == "label"}
    return {**node, "metadata": {**node["metadata"], "labels": labels}, "spec": spec}


def _describe(name: Sequence[str], value: Any) -> str:
    match name[0]:
        case "unschedulable":
            return "cordoned" if value else "schedulable"
        case "label":
            text = f"{name[1]}={value}" if value else name[1]
        case _:
            text = f"{name[1]}={value}:{name[2]}" if value else f"{name[1]}:{name[2]}"
    return f"{name[0]} {name[1]} removed" if value is _ABSENT else f"{name[0]} {text} restored"


def _label(name: Sequence[str]) -> str:
    if name[0] == "unschedulable":
        return "whether it is schedulable"
    return f"{name[0]} {':'.join(name[1:])}"
