"""The change log, newest first, and one change compared with the version before it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.cluster import kinds
from apps.cluster.errors import BadRequest, NotFound
from apps.cluster.field_differences import FieldDifference, differences
from apps.cluster.log import changelog
from apps.cluster.models import Change, Cluster, HistoricChange
from apps.dashboard.downloads import list_files
from apps.dashboard.paging import page_size, parse_whole_number
from apps.dashboard.queries.elsewhere import Elsewhere, look_elsewhere
from apps.dashboard.tables import PERIOD, Field, complete_fields, describe_problem, refuse_unknown
from apps.engine.periods import Period
from apps.studies.history.change_search import PARAMETERS, changed_fields, find_changes

#: Versions that one page searches, so that a filter with few matches does not read the whole log.
#: The page has a link to the next part.
SEARCHED_VERSIONS = 20_000
#: Fields listed in a row.
MAX_FIELDS = 4
VERBS = (("ADDED", "created"), ("MODIFIED", "updated"), ("DELETED", "deleted"))


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change and the fields that differ; none for a created or deleted object."""

    change: HistoricChange
    fields: Sequence[FieldDifference]
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
    #: (label, address) of each file format in which these changes can be downloaded.
    files: Sequence[tuple[str, str]] = ()
    #: The parameter that is invalid, and why.
    problem: str = ""
    period: Period = Period()
    #: Where there are changes, if there are none in the period.
    elsewhere: Elsewhere | None = None


@dataclass(frozen=True, slots=True)
class OneChange:
    """A change with the object before and after it."""

    change: HistoricChange
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


def change_list(
    cluster: Cluster, query: Mapping[str, Any], *, hidden: Collection[str] = ()
) -> ChangeList:
    """The changes that the address selects, before version `?before=`; a problem if it is wrong.

    Those of the kinds whose keys are `hidden` are without their fields.
    """
    try:
        refuse_unknown(query, _filters(cluster), PARAMETERS)
        matches = find_changes(cluster, query)
    except BadRequest as error:
        problem = describe_problem(error, _filters(cluster))
        return ChangeList([], None, True, None, _filters(cluster), problem=problem)
    before, size = parse_whole_number(query, "before"), page_size(query)
    top = min(before or matches.last + 1, matches.last + 1)
    lowest = max(cluster.forgotten_version + 1, matches.first, 1)
    bottom = max(top - SEARCHED_VERSIONS, lowest)
    searched = matches.rows.filter(version__gte=bottom, version__lt=top)
    rows = list(searched[: size + 1])
    more, at_end = len(rows) > size, bottom <= lowest
    rows = rows[:size]
    older = rows[-1].version if more else (None if at_end else bottom)
    elsewhere = None
    if not rows and at_end:
        elsewhere = look_elsewhere(
            query, matches.period, lambda rest: _newest(cluster, rest), now=cluster.now()
        )
    return ChangeList(
        rows=change_rows(cluster, rows, hidden=hidden),
        older=older,
        newest=before is None,
        searched_to=None if more or at_end else bottom,
        filters=_filters(cluster),
        files=list_files(cluster, "api-export-changes", PARAMETERS, query, matches.period),
        period=matches.period,
        elsewhere=elsewhere,
    )


def _newest(cluster: Cluster, query: Mapping[str, Any]) -> datetime | None:
    """The time of the newest change that these parameters select, of those that a page searches."""
    matches = find_changes(cluster, query)
    searched = matches.rows.filter(version__gt=matches.last - SEARCHED_VERSIONS)
    return searched.values_list("at", flat=True).first()


def change_rows(
    cluster: Cluster, changes: Sequence[HistoricChange], *, hidden: Collection[str] = ()
) -> list[ChangeRow]:
    """Changes with the fields that differ, in one more statement, unless their kind is `hidden`."""
    shown = [change for change in changes if change.kind not in hidden]
    fields = {
        change.version: updated
        for change, updated in zip(shown, changed_fields(cluster, shown), strict=True)
    }
    return [
        ChangeRow(change, updated[:MAX_FIELDS], max(0, len(updated) - MAX_FIELDS))
        for change in changes
        for updated in (fields.get(change.version, []),)
    ]


def object_changes(cluster: Cluster, uid: Any, *, limit: int) -> list[ChangeRow]:
    """The newest changes of one object."""
    changes = HistoricChange.objects.filter(cluster=cluster, uid=uid).order_by("-version")
    return change_rows(cluster, list(changes[:limit]))


def one_change(cluster: Cluster, version: int) -> OneChange:
    """A change compared with the version before it; NotFound if it is not in the log."""
    change = HistoricChange.objects.filter(cluster=cluster, version=version).first()
    if change is None:
        raise NotFound("changes", str(version))
    earlier = changelog.objects_at(cluster.pk, [change.previous_version or 0])
    before = earlier.get(change.previous_version or 0)
    same = HistoricChange.objects.filter(cluster=cluster, uid=change.uid)
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


def _filters(cluster: Cluster) -> list[Field]:
    fields = [
        Field("q", "Name", hint="contains"),
        Field("kind", "Kind", choices=sorted(kind.name for kind in kinds.ALL)),
        Field("namespace", "Namespace", hint="whole name"),
        Field("verb", "Change", choices=VERBS),
        Field("user", "By", hint="contains"),
        Field("request", "Request", hint="whole id"),
        PERIOD,
    ]
    return complete_fields(cluster, fields, ("namespace",))
