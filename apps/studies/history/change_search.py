"""Finding changes of objects in the change log: one set of filters for pages, API and export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from apps.cluster.errors import BadRequest
from apps.cluster.field_differences import FieldDifference, differences
from apps.cluster.log import changelog
from apps.cluster.log.versions import versions_between
from apps.cluster.models import Change, Cluster, HistoricChange
from apps.engine import periods
from apps.engine.exported_files import Batches, Row, read_batches

#: (parameter, meaning) of the filters besides the period.
FILTERS = (
    ("q", "Part of the name of the object."),
    ("kind", "Its kind: `Pod`."),
    ("namespace", "Its namespace."),
    ("verb", "ADDED, MODIFIED or DELETED."),
    ("user", "Part of the name of the user who changed it."),
    ("request", "The X-Request-ID of the request that changed it."),
)
#: The parameters of `find_changes`.
PARAMETERS = (*(name for name, _ in FILTERS), *periods.PARAMETERS)
#: The columns of a file.
FIELDS = (
    "version",
    "at",
    "type",
    "kind",
    "namespace",
    "name",
    "uid",
    "fields",
    "user",
    "request_id",
    "previous_version",
)
_EXACT = {"kind": "kind", "verb": "type", "namespace": "namespace", "request": "request_id"}
_CONTAINED = {"q": "name", "user": "user"}


@dataclass(frozen=True, slots=True)
class ChangeRange:
    """Changes that match filters, newest first, and the versions among which they can be."""

    rows: QuerySet[HistoricChange]
    first: int
    last: int
    period: periods.Period


def find_changes(cluster: Cluster, query: Mapping[str, Any]) -> ChangeRange:
    """The changes that match these parameters; BadRequest names a wrong one."""
    given = {name: str(query.get(name) or "").strip() for name in PARAMETERS}
    for name, value in given.items():
        if "\x00" in value:
            raise BadRequest(f"{name}: contains a NUL character")
    if given["verb"] and given["verb"] not in Change.Type.values:
        known = ", ".join(Change.Type.values)
        raise periods.wrong("verb", f"{given['verb']!r} is not one of {known}")
    period = periods.parse_period(given, now=cluster.now())
    top = cluster.resource_version
    first, last = versions_between(cluster.pk, period.since, period.until, top=top)
    rows = HistoricChange.objects.filter(cluster=cluster).order_by("-version")
    conditions = {column: given[name] for name, column in _EXACT.items()}
    conditions |= {f"{column}__contains": given[name] for name, column in _CONTAINED.items()}
    rows = rows.filter(**{name: value for name, value in conditions.items() if value})
    if period:
        rows = rows.filter(version__gte=first, version__lte=last, **period.conditions("at"))
    return ChangeRange(rows, first, last, period)


def changed_fields(
    cluster: Cluster, changes: Sequence[HistoricChange]
) -> list[list[FieldDifference]]:
    """The fields that each change updated, in one statement for all of them.

    Empty for created and deleted objects, and where the previous version is no longer retained.
    """
    updates = [each.previous_version for each in changes if each.type == Change.Type.MODIFIED]
    earlier = changelog.objects_at(cluster.pk, [version for version in updates if version])
    return [_find_updated(each, earlier.get(each.previous_version or 0)) for each in changes]


def batches(cluster: Cluster, query: Mapping[str, Any]) -> Batches:
    """The changes that `find_changes` finds, newest first, as rows of FIELDS."""
    matches = find_changes(cluster, query).rows.filter(version__lte=cluster.resource_version)
    return (_describe(cluster, rows) for rows in read_batches(matches, by="version"))


def _describe(cluster: Cluster, changes: Sequence[HistoricChange]) -> Sequence[Row]:
    fields = changed_fields(cluster, changes)
    return [_row(change, paths) for change, paths in zip(changes, fields, strict=True)]


def _row(change: HistoricChange, fields: list[FieldDifference]) -> dict[str, Any]:
    paths = [each.path for each in fields]
    return {name: paths if name == "fields" else getattr(change, name) for name in FIELDS}


def _find_updated(
    change: HistoricChange, before: Mapping[str, Any] | None
) -> list[FieldDifference]:
    if before is None or change.type != Change.Type.MODIFIED:
        return []
    return differences(before, change.object)
