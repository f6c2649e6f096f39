"""What a write does to the managers of an object: updates take fields, applies ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Protocol

from apps.cluster.errors import ApiError
from apps.cluster.kind import Kind
from apps.cluster.ownership import objects
from apps.cluster.ownership.managers import (
    Manager,
    Ownership,
    entries_of,
    managers_of,
    owned_paths,
    read_entries,
    without_unowned,
)
from apps.cluster.ownership.paths import Path, Paths, UnreadableFields, display, in_order
from apps.cluster.schema import definition_of

Body = dict[str, Any]
_SCALE_VERSION: Final = "autoscaling/v1"
_BEFORE_FIRST_APPLY: Final = "before-first-apply"
Conflicts = list[tuple[Manager, Path]]


class ApplyConflict(ApiError):
    """Fields of an apply patch are owned by other managers, with other values."""

    code, reason = 409, "Conflict"

    def __init__(self, conflicts: Conflicts) -> None:
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {_shown(manager)}",
                "field": display(path),
            }
            for manager, path in conflicts
        ]
        super().__init__(_conflict_message(conflicts), details={"causes": causes})


class Owners(Protocol):
    """What a write does to the managers of an object."""

    def entries(self, old: Body, new: Body, given: list[Body] | None, now: str) -> list[Body]:
        """The managedFields after an update of `old` to `new`, as its client sent it."""


@dataclass(frozen=True, slots=True)
class Updating:
    """The owners after a create, an update or a patch by `manager`."""

    kind: Kind
    manager: Manager

    def entries(self, old: Body, new: Body, given: list[Body] | None, now: str) -> list[Body]:
        """The managedFields after an update of `old` to `new`, as its client sent it.

        An object that no one owns stays so. `given` are those that the client sent: an empty list,
        or an empty entry, resets the owners; other readable entries replace those of the object.
        """
        definition = definition_of_kind(self.kind)
        managers = _managers_before(self.kind, old, given)
        if not managers:
            return []
        found = objects.compare(old, new, definition)
        strip = partial(without_unowned, kind=self.kind, subresource=self.manager.subresource)
        taken, removed = strip(found.added | found.modified), strip(found.removed)
        owned = managers.pop(self.manager, Ownership(frozenset()))
        result = {
            other: Ownership(each.paths - taken - removed, each.time)
            for other, each in managers.items()
        }
        paths = (owned.paths | taken) - removed
        result[self.manager] = Ownership(paths, owned.time if paths == owned.paths else now)
        return entries_of(result)


@dataclass(frozen=True, slots=True)
class Scaling:
    """The owners after a write of `manager` to the subresource `scale`, which has one field.

    Every write separates its owner from the owners of other fields, and forgets its time.
    """

    kind: Kind
    manager: Manager
    #: The path of the replicas.
    path: Path
    #: Whether an apply takes them from other managers.
    force: bool = False

    def entries(self, old: Body, new: Body, given: list[Body] | None, now: str) -> list[Body]:
        """The managedFields after an update of `old` to `new`; ApplyConflict of an apply."""
        definition = definition_of_kind(self.kind)
        managers = managers_of(old, definition, self.kind)
        replicas = Ownership(frozenset((self.path,)))
        changes = self.path in objects.compare(old, new, definition).changed
        kept = dict(managers)
        applies = self.manager.operation == "Apply"
        if applies and changes and not self.force:
            self._check_conflicts(managers)
        takes = changes or (applies and self.manager not in managers)
        parted = {self.manager: replicas} if takes and managers else {}
        for manager, owned in managers.items():
            # the server finds entries of applies again, but not those that name a version
            if self.path in owned.paths and (changes or manager.operation == "Update"):
                kept[manager] = Ownership(owned.paths - replicas.paths, owned.time)
                if not changes:
                    parted[manager] = replicas
        return entries_of(kept, parted)

    def _check_conflicts(self, managers: Mapping[Manager, Ownership]) -> None:
        """The others that own the replicas, as managers of a Scale."""
        others = [
            replace(manager, api_version=_SCALE_VERSION)
            for manager, owned in managers.items()
            if self.path in owned.paths and manager != self.manager
        ]
        if others:
            raise ApplyConflict([(manager, self.path) for manager in others])


@dataclass(slots=True)
class Applying:
    """A server-side apply of `applied`, in stored form, by `manager`."""

    kind: Kind
    manager: Manager
    applied: Body
    force: bool
    _managers: dict[Manager, Ownership] = field(default_factory=dict)
    _before: Ownership | None = None
    #: the manager of what no one owned before
    _first: Manager | None = None
    _changes: bool = True

    def owned(self) -> Paths:
        """The paths that the patch sets."""
        return owned_paths(
            self.applied,
            definition_of_kind(self.kind),
            self.kind,
            self.manager.subresource,
            strict=True,
        )

    def merge(self, live: Body) -> Body:
        """The object after the patch, before defaults; ApplyConflict unless forced."""
        definition = definition_of_kind(self.kind)
        managers = managers_of(live, definition, self.kind)
        if not managers:
            owned = without_unowned(objects.compare({}, live, definition).added, self.kind, "")
            self._first = Manager(_BEFORE_FIRST_APPLY, "Update", self.kind.api_version)
            managers = {self._first: Ownership(owned)}
        before = self._before = managers.pop(self.manager, None)
        wanted = self.owned()
        merged: Body = objects.merge(live, self.applied, definition)
        if before is not None:
            kept = wanted.union(*(each.paths for each in managers.values()))
            merged = objects.remove(merged, _given_up(before.paths, kept), definition)
        found = objects.compare(live, merged, definition)
        taken = without_unowned(found.added | found.modified, self.kind, self.manager.subresource)
        conflicts = [
            (manager, path)
            for manager, owned in managers.items()
            for path in sorted(owned.paths & taken, key=in_order)
        ]
        if conflicts and not self.force:
            raise ApplyConflict(conflicts)
        removed = frozenset(found.removed)
        self._changes = merged != live
        self._managers = {
            manager: Ownership(owned.paths - taken - removed, owned.time)
            for manager, owned in managers.items()
        }
        return merged

    def entries(self, old: Body, new: Body, given: list[Body] | None, now: str) -> list[Body]:
        """The managedFields of the object after `merge`."""
        return self._entries(now)

    def creation_entries(self, now: str) -> list[Body]:
        """The managedFields of an object that the patch creates."""
        return self._entries(now)

    def _entries(self, now: str) -> list[Body]:
        paths = self.owned()
        # the time is that of the last apply that changed the object
        time = now if self._changes else self._before.time if self._before is not None else ""
        managers = dict(self._managers)
        if self._first is not None:
            managers[self._first] = replace(managers[self._first], time=now)
        return entries_of({**managers, self.manager: Ownership(paths, time)})


def definition_of_kind(kind: Kind) -> str:
    """The definition of a kind in stored form."""
    return kind.schema_name or definition_of(kind.group, kind.version, kind.name)


def _managers_before(kind: Kind, old: Body, given: list[Body] | None) -> dict[Manager, Ownership]:
    if given is not None and (not given or given == [{}]):
        return {}
    definition = definition_of_kind(kind)
    if given and given != old["metadata"].get("managedFields"):
        try:
            return dict(read_entries(given))
        except UnreadableFields:
            # an update with unreadable entries keeps those of the object
            pass
    return managers_of(old, definition, kind)


def _given_up(before: Paths, kept: Paths) -> Paths:
    """The paths of an earlier apply that neither this one nor another manager has.

    An item stays as long as another manager owns a field in it.
    """
    prefixes = {path[:length] for path in kept for length in range(1, len(path) + 1)}
    return frozenset(path for path in before if path not in prefixes)


def _conflict_message(conflicts: Conflicts) -> str:
    if len(conflicts) == 1:
        manager, path = conflicts[0]
        return f"Apply failed with 1 conflict: conflict with {_shown(manager)}: {display(path)}"
    lines: list[str] = []
    for shown in sorted({_shown(manager) for manager, _ in conflicts}):
        lines.append(f"conflicts with {shown}:")
        lines += [f"- {display(path)}" for manager, path in conflicts if _shown(manager) == shown]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def _shown(manager: Manager) -> str:
    """A manager in messages, with what tells it apart from others of the same name."""
    shown = f'"{manager.name}"'
    if manager.subresource:
        shown += f' with subresource "{manager.subresource}"'
    return f"{shown} using {manager.api_version}" if manager.operation == "Update" else shown
