"""The page of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.cluster import kinds
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster, Event
from apps.dashboard.downloads import list_files
from apps.dashboard.paging import LogPage, log_page
from apps.dashboard.queries.elsewhere import Elsewhere, look_elsewhere
from apps.dashboard.tables import PERIOD, Field, complete_fields, describe_problem, refuse_unknown
from apps.engine.periods import Period
from apps.studies.history.event_search import EXPIRED, PARAMETERS, FoundEvent, find_events

#: Suggestions for the filter by reason, which accepts any other reason.
COMMON_REASONS = ("FailedScheduling", "Preempted", "Scheduled", "TaintManagerEviction")
TYPES = ("Normal", "Warning")


@dataclass(frozen=True, slots=True)
class EventList:
    """A page of events, and the filters of the list."""

    page: LogPage[Any]
    events: Sequence[FoundEvent]
    filters: Sequence[Field]
    #: (label, address) of each file format in which these events can be downloaded.
    files: Sequence[tuple[str, str]] = ()
    #: The parameter that is invalid, and why.
    problem: str = ""
    period: Period = Period()
    #: Where there are events, if there are none in the period.
    elsewhere: Elsewhere | None = None


def event_list(cluster: Cluster, query: Mapping[str, Any]) -> EventList:
    """Events that match the filters in the address, last seen first; a problem if one is wrong."""
    filters = _filters(cluster)
    try:
        refuse_unknown(query, filters, PARAMETERS)
        matches = find_events(cluster, query)
    except BadRequest as error:
        nothing = log_page(Event.objects.none(), query)
        return EventList(nothing, (), filters, problem=describe_problem(error, filters))
    page: LogPage[Any] = log_page(matches.rows, query, key="seen_version")
    events = [matches.read(row) for row in page.rows]
    files = list_files(cluster, "api-export-events", PARAMETERS, query, matches.period)
    elsewhere = None
    if not events:
        elsewhere = look_elsewhere(
            query, matches.period, lambda rest: _newest(cluster, rest), now=cluster.now()
        )
    return EventList(page, events, filters, files, period=matches.period, elsewhere=elsewhere)


def _newest(cluster: Cluster, query: Mapping[str, Any]) -> datetime | None:
    """When the newest event that these parameters select was last seen."""
    matches = find_events(cluster, query)
    row = matches.rows.first()
    return matches.read(row).written_at if row is not None else None


def _filters(cluster: Cluster) -> list[Field]:
    fields = [
        Field("q", "Object", hint="contains"),
        Field("kind", "Kind", choices=sorted(kind.name for kind in kinds.ALL)),
        Field("type", "Type", choices=TYPES),
        Field("reason", "Reason", hint="whole reason", suggestions=COMMON_REASONS),
        Field("namespace", "Namespace", hint="whole name"),
    ]
    if cluster.deleted_at is None:
        expired = [("true", "also expired")]
        fields.append(Field(EXPIRED, "Expired", choices=expired, nothing="not shown"))
    return complete_fields(cluster, [*fields, PERIOD], ("namespace",))
