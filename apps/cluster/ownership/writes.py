"""What a write does to the managers of an object: updates take fields, applies ask for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Protocol

from apps.cluster.errors import ApiError
from apps.cluster.kind import Kind
from apps.cluster.ownership import field_paths, last_applied
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
#: An object of a kind, and the apiVersion in which it is wanted, if the kind has several.
Convert = Callable[[Body, str], Body]


def unconverted(body: Body, api_version: str) -> Body:
    """Of a kind whose versions have the same fields, as managers name them."""
    return body


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
    convert: Convert = unconverted

    def entries(self, old: Body, new: Body, given: list[Body] | None, now: str) -> list[Body]:
        """The managedFields after an update of `old` to `new`, as its client sent it.

        An object that no one owns stays so. `given` are those that the client sent: an empty list,
        or an empty entry, resets the owners; other readable entries replace those of the object.
        """
        managers = _managers_before(self.kind, old, given)
        if not managers:
            return []
        changes = _Changes(self.kind, self.manager, old, new, self.convert)
        owned = managers.pop(self.manager, Ownership(frozenset()))
        result = changes.leave(managers)
        taken, removed = changes.of(self.manager.api_version)
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
        changes = self.path in field_paths.compare(old, new, definition).changed
        kept = dict(managers)
        applies = self.manager.operation == "Apply"
        takes = changes or (applies and self.manager not in managers)
        if not applies:
            # an update takes no field of a Scale that nobody owns
            takes = takes and any(self.path in owned.paths for owned in managers.values())
        parted = {self.manager: replicas} if takes and managers else {}
        for manager, owned in managers.items():
            # the server finds entries of applies again, but not those that name a version
            if self.path in owned.paths and (changes or manager.operation == "Update"):
                kept[manager] = Ownership(owned.paths - replicas.paths, owned.time)
                if not changes:
                    parted[manager] = replicas
        return entries_of(kept, parted)

    def check(self, old: Body, new: Body) -> None:
        """Raise ApplyConflict of an apply that changes the replicas of others."""
        definition = definition_of_kind(self.kind)
        if self.manager.operation != "Apply" or self.force:
            return
        if self.path not in field_paths.compare(old, new, definition).changed:
            return
        managers = managers_of(old, definition, self.kind)
        others = [
            replace(manager, api_version=_SCALE_VERSION)
            for manager, owned in managers.items()
            if self.path in owned.paths and manager != self.manager
        ]
        if others:
            raise ApplyConflict([(manager, self.path) for manager in others])


class _Changes:
    """What a write changes, in the versions in which managers own fields."""

    def __init__(
        self, kind: Kind, manager: Manager, old: Body, new: Body, convert: Convert
    ) -> None:
        self._kind, self._manager = kind, manager
        self._old, self._new = old, new
        self._convert = convert
        self._known: dict[str, tuple[Paths, Paths]] = {}

    def of(self, api_version: str) -> tuple[Paths, Paths]:
        """What is set or changed, and what is removed, in a version."""
        if self._kind.conversion is None:
            api_version = ""
        if api_version not in self._known:
            old, new = (self._in(body, api_version) for body in (self._old, self._new))
            comparison = field_paths.compare(old, new, definition_in(self._kind, api_version))
            strip = partial(without_unowned, kind=self._kind, subresource=self._manager.subresource)
            self._known[api_version] = (
                strip(comparison.added | comparison.modified),
                strip(comparison.removed),
            )
        return self._known[api_version]

    def _in(self, body: Body, api_version: str) -> Body:
        is_own = not api_version or api_version == self._kind.api_version
        return body if is_own else self._convert(body, api_version)

    def leave(self, managers: Mapping[Manager, Ownership]) -> dict[Manager, Ownership]:
        """What others own after it; those of a version that the kind no longer has own nothing."""
        left: dict[Manager, Ownership] = {}
        for manager, owned in managers.items():
            if definition_in(self._kind, manager.api_version):
                taken, removed = self.of(manager.api_version)
                left[manager] = Ownership(owned.paths - taken - removed, owned.time)
        return left


@dataclass(slots=True)
class Applying:
    """A server-side apply of `applied`, in stored form, by `manager`."""

    kind: Kind
    manager: Manager
    applied: Body
    force: bool
    convert: Convert = unconverted
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
            owned = without_unowned(field_paths.compare({}, live, definition).added, self.kind, "")
            self._first = Manager(_BEFORE_FIRST_APPLY, "Update", self.kind.api_version)
            managers = {self._first: Ownership(owned)}
        # an earlier apply may have been in another version
        earlier = next((each for each in managers if _is_same_client(each, self.manager)), None)
        before = self._before = None if earlier is None else managers.pop(earlier)
        wanted = self.owned()
        merged: Body = field_paths.merge(live, self.applied, definition)
        if earlier is not None and before is not None:
            everyone = {**managers, self.manager: Ownership(wanted)}
            versions = {each.api_version for each in (*everyone, earlier)}
            if self.kind.conversion is None or versions == {self.manager.api_version}:
                kept = wanted.union(*(each.paths for each in managers.values()))
                merged = field_paths.remove(merged, _given_up(before.paths, kept), definition)
            else:
                merged = self._without_given_up(merged, earlier.api_version, before.paths, everyone)
        changes = _Changes(self.kind, self.manager, live, merged, self.convert)
        conflicts = [
            (manager, path)
            for manager, owned in managers.items()
            if definition_in(self.kind, manager.api_version)
            for path in sorted(owned.paths & changes.of(manager.api_version)[0], key=in_order)
        ]
        if conflicts and self.manager.name == last_applied.KUBECTL:
            kept = last_applied.unchanged_paths(live, self.kind, definition)
            conflicts = [each for each in conflicts if each[1] not in kept]
        if conflicts and not self.force:
            raise ApplyConflict(conflicts)
        self._changes = merged != live
        self._managers = changes.leave(managers)
        return merged

    def _without_given_up(
        self, merged: Body, last: str, before: Paths, owned: Mapping[Manager, Ownership]
    ) -> Body:
        """The object without what the earlier apply set and nobody owns, in any version."""
        if not definition_in(self.kind, last):
            return merged
        kept: dict[str, Paths] = {}
        for manager, each in owned.items():
            if definition_in(self.kind, manager.api_version):
                kept[manager.api_version] = kept.get(manager.api_version, frozenset()) | each.paths
        whole = self.convert(merged, last)
        pruned: Body = field_paths.remove(whole, before, definition_in(self.kind, last))
        for version, paths in kept.items():
            whole, pruned = self.convert(whole, version), self.convert(pruned, version)
            gone = self._gone(whole, pruned, version)
            definition = definition_in(self.kind, version)
            pruned = field_paths.remove(whole, _given_up(gone, paths), definition)
        whole, pruned = self.convert(whole, last), self.convert(pruned, last)
        gone = self._gone(whole, pruned, last) & before
        pruned = field_paths.remove(whole, gone, definition_in(self.kind, last))
        return self.convert(pruned, self.manager.api_version)

    def _gone(self, whole: Body, pruned: Body, version: str) -> Paths:
        definition = definition_in(self.kind, version)
        return field_paths.paths_of(whole, definition) - field_paths.paths_of(pruned, definition)

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


def definition_in(kind: Kind, api_version: str) -> str:
    """The definition of a kind in the version of a manager; "" if it no longer has that version."""
    if kind.conversion is None or api_version in ("", kind.api_version):
        return definition_of_kind(kind)
    group, _, version = api_version.rpartition("/")
    return kind.conversion.schema_name(version) if group == kind.group else ""


def _is_same_client(manager: Manager, other: Manager) -> bool:
    """Whether these are managers of one client, whatever the version."""
    return replace(manager, api_version="") == replace(other, api_version="")


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
