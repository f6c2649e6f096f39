"""Who changed what: the change log newest first, and one change against the version before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from apps.cluster import kinds
from apps.cluster.differences import FieldDifference, differences
from apps.cluster.errors import NotFound
from apps.cluster.log import changelog
from apps.cluster.models import Change, Cluster
from apps.dashboard.paging import page_size, whole_number
from apps.dashboard.tables import Field

#: Versions one page looks through. A filter that fits few of many changes would otherwise read the
#: whole log; the page offers to look further.
LOOKS_BACK = 20_000
#: Fields named in a row.
MOST_FIELDS = 4
VERBS = (("ADDED", "created"), ("MODIFIED", "updated"), ("DELETED", "deleted"))


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change and the fields it touched; of a new or deleted object none."""

    change: Change
    fields: Sequence[str]
    more: int

    @property
    def verb(self) -> str:
        return dict(VERBS)[self.change.type]


@dataclass(frozen=True, slots=True)
class ChangeList:
    """Rows newest first; `older` is the version to go on before, None at the end of the log."""

    rows: Sequence[ChangeRow]
    older: int | None
    newest: bool
    #: The oldest version looked at, when that was why the page ends.
    looked_back_to: int | None
    filters: Sequence[Field]


@dataclass(frozen=True, slots=True)
class OneChange:
    """A change with the object before and after it."""

    change: Change
    before: Mapping[str, Any] | None
    #: Whether the version before it is no longer kept.
    forgotten: bool
    fields: Sequence[FieldDifference]
    #: Versions of the same object's neighbouring changes.
    previous: int | None
    next: int | None

    @property
    def verb(self) -> str:
        return dict(VERBS)[self.change.type]


def change_list(cluster: Cluster, query: Mapping[str, Any]) -> ChangeList:
    """The changes the address asks for, from `?before=` (a version) backwards."""
    before, size = whole_number(query, "before"), page_size(query)
    top = min(before, cluster.resource_version + 1) if before else cluster.resource_version + 1
    bottom = max(top - LOOKS_BACK, cluster.forgotten_version + 1, 1)
    changes = Change.objects.filter(cluster=cluster, version__gte=bottom, version__lt=top)
    found = list(_narrowed(changes, query).order_by("-version")[: size + 1])
    more, reached = len(found) > size, bottom <= cluster.forgotten_version + 1
    found = found[:size]
    older = found[-1].version if more else (None if reached else bottom)
    return ChangeList(
        rows=change_rows(cluster, found),
        older=older,
        newest=before is None,
        looked_back_to=None if more or reached else bottom,
        filters=_filters(query),
    )


def change_rows(cluster: Cluster, changes: Sequence[Change]) -> list[ChangeRow]:
    """Changes with the fields they touched, in one more statement."""
    wanted = [each.previous_version for each in changes if each.type == Change.Type.MODIFIED]
    earlier = changelog.objects_at(cluster.pk, [version for version in wanted if version])
    return [_row(change, earlier.get(change.previous_version or 0)) for change in changes]


def object_changes(cluster: Cluster, uid: Any, *, most: int) -> list[ChangeRow]:
    """The newest changes of one object."""
    changes = Change.objects.filter(cluster=cluster, uid=uid).order_by("-version")
    return change_rows(cluster, list(changes[:most]))


def one_change(cluster: Cluster, version: int) -> OneChange:
    """A change against the version before it; NotFound when it is not in the log."""
    change = Change.objects.filter(cluster=cluster, version=version).first()
    if change is None:
        raise NotFound("changes", str(version))
    earlier = changelog.objects_at(cluster.pk, [change.previous_version or 0])
    before = earlier.get(change.previous_version or 0)
    same = Change.objects.filter(cluster=cluster, uid=change.uid)
    later = same.filter(version__gt=version).order_by("version")
    compared = change.type == Change.Type.MODIFIED and before is not None
    return OneChange(
        change=change,
        before=before,
        forgotten=change.previous_version is not None and before is None,
        fields=differences(before, change.object) if compared else [],
        previous=change.previous_version if before is not None else None,
        next=later.values_list("version", flat=True).first(),
    )


def _row(change: Change, before: Mapping[str, Any] | None) -> ChangeRow:
    if before is None or change.type != Change.Type.MODIFIED:
        return ChangeRow(change, (), 0)
    paths = [each.path for each in differences(before, change.object)]
    return ChangeRow(change, paths[:MOST_FIELDS], max(0, len(paths) - MOST_FIELDS))


def _narrowed(changes: QuerySet[Change], query: Mapping[str, Any]) -> QuerySet[Change]:
    exact = {"kind": "kind", "verb": "type", "namespace": "namespace", "request": "request_id"}
    for parameter, column in exact.items():
        if value := query.get(parameter, "").strip():
            changes = changes.filter(**{column: value})
    for parameter, column in (("q", "name"), ("user", "user")):
        if value := query.get(parameter, "").strip():
            changes = changes.filter(**{f"{column}__contains": value})
    return changes


def _filters(query: Mapping[str, Any]) -> list[Field]:
    return [
        Field("q", "Name", hint="contains"),
        Field("kind", "Kind", choices=sorted(kind.name for kind in kinds.ALL)),
        Field("namespace", "Namespace"),
        Field("verb", "Change", choices=VERBS),
        Field("user", "By", hint="contains"),
        Field("request", "Request", hint="id"),
    ]
