"""What a write does to the managers of an object: updates take fields, applies ask for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Updating:
    """The owners after a create, an update or a patch by `manager`."""

    kind: Kind
    manager: Manager

    def entries(self, old: Body, new: Body, given: list[Body] | None, now: str) -> list[Body]:
        """The managedFields of `new`, which replaces `old`.

        `given` are those that the client sent: an empty list, or an empty entry, resets the
        owners; other readable entries replace those of the object.
        """
        definition = definition_of_kind(self.kind)
        managers = _managers_before(self.kind, old, given)
        found = objects.compare(old, new, definition)
        strip = partial(
            without_unowned,
            subresource=self.manager.subresource,
            has_status=self.kind.has_status,
        )
        taken, removed = strip(found.added | found.modified), strip(found.removed)
        if given is not None and not managers:
            return []
        owned = managers.pop(self.manager, Ownership(frozenset()))
        result = {
            other: Ownership(each.paths - taken - removed, each.time)
            for other, each in managers.items()
        }
        paths = (owned.paths | taken) - removed
        result[self.manager] = Ownership(paths, owned.time if paths == owned.paths else now)
        return entries_of(result)


@dataclass(slots=True)
class Applying:
    """A server-side apply of `applied`, in stored form, by `manager`."""

    kind: Kind
    manager: Manager
    applied: Body
    force: bool
    _managers: dict[Manager, Ownership] = field(default_factory=dict)
    _before: Ownership | None = None
    #: whether the patch changes the object, and not only who owns its fields
    _changes: bool = True

    def owned(self) -> Paths:
        """The paths that the patch sets."""
        return owned_paths(
            self.applied,
            definition_of_kind(self.kind),
            self.manager.subresource,
            has_status=self.kind.has_status,
            strict=True,
        )

    def merge(self, live: Body) -> Body:
        """The object after the patch, before defaults; ApplyConflict unless forced."""
        definition = definition_of_kind(self.kind)
        managers = managers_of(live, definition, has_status=self.kind.has_status)
        before = self._before = managers.pop(self.manager, None)
        wanted = self.owned()
        merged: Body = objects.merge(live, self.applied, definition)
        if before is not None:
            kept = wanted.union(*(each.paths for each in managers.values()))
            merged = objects.remove(merged, _given_up(before.paths, kept), definition)
        found = objects.compare(live, merged, definition)
        self._changes = bool(found.added or found.modified or found.removed)
        taken = without_unowned(
            found.added | found.modified,
            self.manager.subresource,
            has_status=self.kind.has_status,
        )
        conflicts = [
            (manager, path)
            for manager, owned in managers.items()
            for path in sorted(owned.paths & taken, key=in_order)
        ]
        if conflicts and not self.force:
            raise ApplyConflict(conflicts)
        removed = frozenset(found.removed)
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
        # the time of the last apply that changed something, if there was one
        before = self._before.time if self._before is not None else ""
        time = now if self._changes else before
        return entries_of({**self._managers, self.manager: Ownership(paths, time)})


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
    return managers_of(old, definition, has_status=kind.has_status)


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
