"""The change log, newest first, and one change compared with the version before it."""

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
from apps.dashboard.paging import page_size, parse_whole_number
from apps.dashboard.tables import Field

#: Versions that one page searches, so that a filter with few matches does not read the whole log.
#: The page has a link to the next part.
SEARCHED_VERSIONS = 20_000
#: Fields listed in a row.
MAX_FIELDS = 4
VERBS = (("ADDED", "created"), ("MODIFIED", "updated"), ("DELETED", "deleted"))


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change and the fields that differ; none for a created or deleted object."""

    change: Change
    fields: Sequence[str]
    more: int

    @property
    def verb(self) -> str:
        return dict(VERBS)[self.change.type]


@dataclass(frozen=True, slots=True)
class ChangeList:
    """Rows newest first; the next page is before version `older`, None at the end of the log."""

    rows: Sequence[ChangeRow]
    older: int | None
    newest: bool
    #: The oldest version searched, if the page ends because of SEARCHED_VERSIONS.
    searched_to: int | None
    filters: Sequence[Field]


@dataclass(frozen=True, slots=True)
class OneChange:
    """A change with the object before and after it."""

    change: Change
    before: Mapping[str, Any] | None
    #: Whether the version before it is no longer stored.
    forgotten: bool
    fields: Sequence[FieldDifference]
    #: Versions of the previous and next change of the object.
    previous: int | None
    next: int | None

    @property
    def verb(self) -> str:
        return dict(VERBS)[self.change.type]


def change_list(cluster: Cluster, query: Mapping[str, Any]) -> ChangeList:
    """The changes that the address selects, before version `?before=`."""
    before, size = parse_whole_number(query, "before"), page_size(query)
    top = min(before, cluster.resource_version + 1) if before else cluster.resource_version + 1
    bottom = max(top - SEARCHED_VERSIONS, cluster.forgotten_version + 1, 1)
    changes = Change.objects.filter(cluster=cluster, version__gte=bottom, version__lt=top)
    found = list(_filter(changes, query).order_by("-version")[: size + 1])
    more, at_end = len(found) > size, bottom <= cluster.forgotten_version + 1
    found = found[:size]
    older = found[-1].version if more else (None if at_end else bottom)
    return ChangeList(
        rows=change_rows(cluster, found),
        older=older,
        newest=before is None,
        searched_to=None if more or at_end else bottom,
        filters=_filters(query),
    )


def change_rows(cluster: Cluster, changes: Sequence[Change]) -> list[ChangeRow]:
    """Changes with the fields that differ, in one more statement."""
    versions = [each.previous_version for each in changes if each.type == Change.Type.MODIFIED]
    earlier = changelog.objects_at(cluster.pk, [version for version in versions if version])
    return [_row(change, earlier.get(change.previous_version or 0)) for change in changes]


def object_changes(cluster: Cluster, uid: Any, *, limit: int) -> list[ChangeRow]:
    """The newest changes of one object."""
    changes = Change.objects.filter(cluster=cluster, uid=uid).order_by("-version")
    return change_rows(cluster, list(changes[:limit]))


def one_change(cluster: Cluster, version: int) -> OneChange:
    """A change compared with the version before it; NotFound if it is not in the log."""
    change = Change.objects.filter(cluster=cluster, version=version).first()
    if change is None:
        raise NotFound("changes", str(version))
    earlier = changelog.objects_at(cluster.pk, [change.previous_version or 0])
    before = earlier.get(change.previous_version or 0)
    same = Change.objects.filter(cluster=cluster, uid=change.uid)
    later = same.filter(version__gt=version).order_by("version")
    has_differences = change.type == Change.Type.MODIFIED and before is not None
    return OneChange(
        change=change,
        before=before,
        forgotten=change.previous_version is not None and before is None,
        fields=differences(before, change.object) if has_differences else [],
        previous=change.previous_version if before is not None else None,
        next=later.values_list("version", flat=True).first(),
    )


def _row(change: Change, before: Mapping[str, Any] | None) -> ChangeRow:
    if before is None or change.type != Change.Type.MODIFIED:
        return ChangeRow(change, (), 0)
    paths = [each.path for each in differences(before, change.object)]
    return ChangeRow(change, paths[:MAX_FIELDS], max(0, len(paths) - MAX_FIELDS))


def _filter(changes: QuerySet[Change], query: Mapping[str, Any]) -> QuerySet[Change]:
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
