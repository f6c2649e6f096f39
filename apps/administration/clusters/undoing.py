"""Undoing a change of nodes or pods: each changed field gets its value from before the change.

A field that was changed again since then stays as it is. Labels, annotations, taints and
`spec.unschedulable` are restored; pods that were evicted in between are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet

from apps.administration.clusters.evictions import Evictions, find_evictions
from apps.cluster import kinds
from apps.cluster.errors import ApiError, BadRequest
from apps.cluster.kinds import Kind
from apps.cluster.log import changelog
from apps.cluster.models import Change, Cluster
from apps.cluster.writes import Actor, Update
from apps.cluster.writing import store

Body = dict[str, Any]
#: Name of a field for users -> its value
Fields = Mapping[str, Any]

#: Called with the number of objects done, and the total.
ReportProgress = Callable[[int, int], None]

#: Nodes of one change at most, unless it was an operation.
MAX_NODES = 1000
#: Objects per transaction.
_BATCH = 250
_ABSENT: Any = None


@dataclass(slots=True)
class UndoResult:
    """What was restored, what was not and why, and the pods that were evicted in between."""

    #: Names of the objects that were changed back, and what was restored, each text once.
    names: list[str] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    #: A sentence for each field that stays as it is.
    kept: list[str] = field(default_factory=list)
    evictions: Evictions = Evictions()

    def add(self, name: str, restored: Sequence[str], kept: Sequence[str]) -> None:
        """Add what was restored of one object, and what was not."""
        self.kept += [f"{name}: {text}" for text in kept]
        if restored:
            self.names.append(name)
            self.restored += [text for text in restored if text not in self.restored]


def undo_node_changes(
    cluster: Cluster, first: int, last: int, request_id: str, *, actor: Actor
) -> UndoResult:
    """Undo the changes of nodes that a request wrote as the versions `first` to `last`.

    BadRequest if there are none: the change log no longer has them, or never had.
    """
    last = min(last, first + MAX_NODES)
    changes = _list_changes(cluster, kinds.NODE, first, request_id).filter(version__lte=last)
    result = UndoResult()
    names = _undo(cluster, kinds.NODE, changes, result, actor)
    _finish(cluster, kinds.NODE, names, first, result)
    return result


def undo_request(
    cluster: Cluster,
    kind: Kind,
    first: int,
    request_id: str,
    *,
    actor: Actor,
    progress: ReportProgress = lambda done, total: None,
) -> UndoResult:
    """Undo all changes of nodes or pods that a request wrote since the version `first`.

    BadRequest if there are none: the change log no longer has them, or never had.
    """
    undone = _list_changes(cluster, kind, first, request_id)
    versions = list(undone.order_by("version").values_list("version", flat=True))
    result, names = UndoResult(), []
    for start in range(0, len(versions), _BATCH):
        batch = versions[start : start + _BATCH]
        changes = Change.objects.filter(cluster=cluster, version__in=batch)
        names += _undo(cluster, kind, changes, result, actor)
        progress(start + len(batch), len(versions))
    _finish(cluster, kind, names, first, result)
    return result


def _list_changes(cluster: Cluster, kind: Kind, first: int, request_id: str) -> QuerySet[Change]:
    return Change.objects.filter(
        cluster=cluster,
        version__gte=first,
        kind=kind.name,
        type=Change.Type.MODIFIED,
        request_id=request_id,
    )


def _finish(
    cluster: Cluster, kind: Kind, names: Sequence[str], first: int, result: UndoResult
) -> None:
    if not names:
        raise BadRequest("This change is no longer in the change log, so it cannot be undone.")
    result.names.sort()
    result.restored.sort()
    if kind is kinds.NODE:
        result.evictions = find_evictions(cluster, names, since=first)


def _undo(
    cluster: Cluster, kind: Kind, changes: Iterable[Change], result: UndoResult, actor: Actor
) -> list[str]:
    """Undo changes in one transaction, and return the names of their objects.

    Changes whose earlier version is no longer stored are left out.
    """
    changes = list(changes)
    versions = [each.previous_version for each in changes if each.previous_version]
    earlier = changelog.objects_at(cluster.pk, versions)
    known = [each for each in changes if each.previous_version in earlier]
    reversals = [_Reversal(each, earlier[each.previous_version or 0]) for each in known]
    updates = [
        Update(kind, each.namespace, each.name, reversal.reverse, uid=str(each.uid))
        for each, reversal in zip(known, reversals, strict=True)
    ]
    outcomes = store.write(cluster, updates, actor=actor, collect_refusals=True)
    for each, reversal, outcome in zip(known, reversals, outcomes, strict=True):
        if isinstance(outcome, ApiError):
            result.kept.append(f"{each.name}: {outcome.message}")
        else:
            result.add(each.name, reversal.restored, reversal.kept)
    return [each.name for each in known]


class _Reversal:
    """Undoes one change of an object; describes what the last call of `reverse` did."""

    def __init__(self, change: Change, before: Mapping[str, Any]) -> None:
        self._change = change
        self._before = before
        self.restored: list[str] = []
        self.kept: list[str] = []

    def reverse(self, item: Body) -> Body:
        """The present object, changed back; the store may call it again with a later one."""
        change, before = self._change, self._before
        old, new, present = (_read_fields(body) for body in (before, change.object, item))
        values = dict(present)
        restored: list[str] = []
        kept: list[str] = []
        for name in _changed(old, new):
            value = old.get(name, _ABSENT)
            if present.get(name, _ABSENT) != new.get(name, _ABSENT):
                if present.get(name, _ABSENT) != value:
                    text = f"{_label(name)} was changed since, and stays as it is"
                    kept.append(text)
                continue
            if value is _ABSENT:
                values.pop(name, None)
            else:
                values[name] = value
            restored.append(_describe(name, value))
        self.restored, self.kept = restored, kept
        return _write_fields(item, values, present, is_node=change.kind == kinds.NODE.name)


def _changed(old: Fields, new: Fields) -> Iterator[Any]:
    names = dict.fromkeys((*old, *new))
    return (name for name in names if old.get(name, _ABSENT) != new.get(name, _ABSENT))


def _read_fields(body: Mapping[str, Any]) -> dict[Any, Any]:
    """The fields that undo restores.

    ("label", key), ("annotation", key), ("taint", key, effect) and ("unschedulable",).
    """
    spec, metadata = body.get("spec") or {}, body.get("metadata") or {}
    fields: dict[Any, Any] = {
        (name, key): value
        for name in ("label", "annotation")
        for key, value in (metadata.get(f"{name}s") or {}).items()
    }
    for taint in spec.get("taints") or ():
        fields["taint", taint["key"], taint["effect"]] = taint.get("value", "")
    if spec.get("unschedulable"):
        fields["unschedulable",] = True
    return fields


def _write_fields(
    item: Body, values: Mapping[Any, Any], present: Mapping[Any, Any], *, is_node: bool
) -> Body:
    """The object with these fields."""
    metadata = {**item["metadata"]}
    for name in ("label", "annotation"):
        metadata[f"{name}s"] = {each[1]: values[each] for each in values if each[0] == name}
    written = {**item, "metadata": metadata}
    return {**written, "spec": _write_spec(item, values, present)} if is_node else written


def _write_spec(node: Body, values: Mapping[Any, Any], present: Mapping[Any, Any]) -> Body:
    """The spec of a node with these fields; unchanged taints keep their time."""
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
    return spec


def _describe(name: Sequence[str], value: Any) -> str:
    match name[0]:
        case "unschedulable":
            return "cordoned" if value else "schedulable"
        case "label" | "annotation":
            text = f"{name[1]}={value}" if value else name[1]
        case _:
            text = f"{name[1]}={value}:{name[2]}" if value else f"{name[1]}:{name[2]}"
    return f"{name[0]} {name[1]} removed" if value is _ABSENT else f"{name[0]} {text} restored"


def _label(name: Sequence[str]) -> str:
    if name[0] == "unschedulable":
        return "whether it is schedulable"
    return f"{name[0]} {':'.join(name[1:])}"
