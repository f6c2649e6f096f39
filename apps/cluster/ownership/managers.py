"""The managers of an object, as `metadata.managedFields` lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Final, Literal

from apps.cluster.kind import Kind
from apps.cluster.ownership.field_paths import paths_of
from apps.cluster.ownership.paths import Path, Paths, UnreadableFields, from_fields, to_fields

Body = dict[str, Any]
Operation = Literal["Apply", "Update"]

#: Metadata that no client owns.
UNOWNED_METADATA: Final = (
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "generation",
    "managedFields",
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_UNOWNED: Final = frozenset(
    {
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        *(("f:metadata", f"f:{name}") for name in UNOWNED_METADATA),
    }
)
#: Entries of updates that an object keeps; older ones are merged.
_MOST_UPDATES: Final = 10
_ANCIENT: Final = "ancient-changes"


@dataclass(frozen=True, slots=True)
class Manager:
    """A client that sets fields: one entry of managedFields is one manager."""

    name: str
    operation: Operation
    api_version: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Ownership:
    """What a manager owns, and when that last changed ("" if unknown)."""

    paths: Paths
    time: str = ""


Managers = Mapping[Manager, Ownership]


def creation_entry(name: str, api_version: str, time: str) -> Body:
    """The entry of the client that creates an object; `own_created` writes its fields."""
    return {
        "manager": name,
        "operation": "Update",
        "apiVersion": api_version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": {},
    }


def managers_of(body: Body, definition: str, kind: Kind) -> dict[Manager, Ownership]:
    """The managers of a stored object.

    In objects of earlier versions an entry without fields owns all that no other entry lists.
    """
    entries = body["metadata"].get("managedFields") or ()
    managers = read_entries(entries)
    for manager, owned in managers.items():
        if not owned.paths:
            present = owned_paths(body, definition, kind)
            others = frozenset[Path]().union(*(each.paths for each in managers.values()))
            managers[manager] = replace(owned, paths=present - others)
    return managers


def read_entries(entries: Sequence[Mapping[str, Any]]) -> dict[Manager, Ownership]:
    """The managers in a list of entries; UnreadableFields for an invalid one."""
    managers: dict[Manager, Ownership] = {}
    for entry in entries:
        if entry.get("operation") not in ("Apply", "Update"):
            raise UnreadableFields(f"the operation {entry.get('operation')!r} is unknown")
        manager = Manager(
            entry.get("manager", ""),
            entry["operation"],
            entry.get("apiVersion", ""),
            entry.get("subresource", ""),
        )
        paths = from_fields(entry.get("fieldsV1") or {})
        managers[manager] = Ownership(paths, entry.get("time", ""))
    return managers


def entries_of(managers: Managers, more: Managers = MappingProxyType({})) -> list[Body]:
    """The entries of these managers: first those that apply, then by time and name.

    Among `more` may be managers that have an entry already.
    """
    order = sorted(
        (*_merge_oldest(managers).items(), *more.items()),
        key=lambda pair: (pair[0].operation != "Apply", pair[1].time, pair[0].name),
    )
    return [_entry(manager, owned) for manager, owned in order if owned.paths]


def owned_paths(
    body: Body, definition: str, kind: Kind, subresource: str = "", *, strict: bool = False
) -> Paths:
    """The paths that a client owns which sends this object to the object or a subresource.

    *strict* raises InvalidList for items of a list that have the same key or none.
    """
    paths = paths_of(body, definition, strict=strict)
    return without_unowned(paths, kind, subresource)


def without_unowned(paths: Iterable[Path], kind: Kind, subresource: str) -> Paths:
    """The paths without what no client owns, or may set at this subresource."""
    ignored = _ignored(kind, subresource)
    return frozenset(
        path
        for path in paths
        if path
        and path not in _UNOWNED
        and path[:2] not in _UNOWNED
        and path[:1] not in ignored
        and path[:2] not in ignored
    )


@cache
def _ignored(kind: Kind, subresource: str) -> frozenset[Path]:
    """What a write to an object, or to a subresource of it, leaves as it is."""
    ignored: list[Path] = [("f:spec",)] if subresource == "status" or kind.is_unowned else []
    if subresource == "status":
        ignored += [("f:metadata", f"f:{name}") for name in kind.status_keeps]
    elif kind.has_status:
        ignored.append(("f:status",))
    return frozenset(ignored)


def _entry(manager: Manager, owned: Ownership) -> Body:
    entry: Body = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": manager.api_version,
    }
    if owned.time:
        entry["time"] = owned.time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": to_fields(owned.paths)}
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def _merge_oldest(managers: Managers) -> dict[Manager, Ownership]:
    """At most ten entries of updates: what older ones own has one manager without a name."""
    updates = [manager for manager in managers if manager.operation == "Update"]
    if len(updates) <= _MOST_UPDATES:
        return dict(managers)
    updates.sort(key=lambda manager: (managers[manager].time, manager.name))
    old = updates[: len(updates) - _MOST_UPDATES + 1]
    kept = {manager: owned for manager, owned in managers.items() if manager not in old}
    for manager in old:
        ancient = Manager(_ANCIENT, "Update", manager.api_version)
        paths = managers[manager].paths
        if ancient in kept:
            paths |= kept[ancient].paths
        kept[ancient] = Ownership(paths, managers[manager].time)
    return kept
