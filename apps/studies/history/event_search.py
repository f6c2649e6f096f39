"""Finding events: those that a cluster has, or all that its change log knows.

An event expires after the time to live of its cluster. The change log retains it longer, and after
the cluster is deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet, Subquery

from apps.cluster.errors import BadRequest
from apps.cluster.log.versions import versions_between
from apps.cluster.models import Change, Cluster, Event
from apps.engine import periods
from apps.engine.exported_files import Batches, read_batches

#: (parameter, meaning) of the filters besides the period.
FILTERS = (
    ("q", "Part of the name of the object it is about."),
    ("kind", "The kind of this object: `Pod`."),
    ("namespace", "Its namespace."),
    ("type", "Normal or Warning."),
    ("reason", "Its reason: `FailedScheduling`."),
)
EXPIRED = "expired"
#: The parameters of `find_events`.
PARAMETERS = (*(name for name, _ in FILTERS), EXPIRED, *periods.PARAMETERS)
#: The columns of a file.
FIELDS = (
    "id",
    "first_seen",
    "last_seen",
    "count",
    "type",
    "reason",
    "kind",
    "namespace",
    "name",
    "message",
    "component",
    "expired",
)
_PATHS = {
    "namespace": "namespace",
    "type": "{0}__type",
    "kind": "{0}__involvedObject__kind",
    "q": "{0}__involvedObject__name__contains",
    "reason": "{0}__reason",
}


@dataclass(frozen=True, slots=True)
class FoundEvent:
    """An event; `seen_version` is the version of the cluster in which it was last seen."""

    pk: int
    seen_version: int
    body: Mapping[str, Any]
    #: When it was first and last seen.
    created_at: datetime
    written_at: datetime
    expired: bool

    @property
    def reason(self) -> str:
        return str(self.body.get("reason") or "")

    @property
    def count(self) -> int:
        series = self.body.get("series") or {}
        return int(series.get("count") or self.body.get("count") or 1)


@dataclass(frozen=True, slots=True)
class EventRange:
    """Events that match filters, last seen first; `read` turns rows of the QuerySet into events."""

    rows: QuerySet[Event] | QuerySet[Change]
    from_log: bool
    period: periods.Period

    def read(self, row: Event | Change) -> FoundEvent:
        return _read_logged(row) if isinstance(row, Change) else _read_present(row)


def find_events(cluster: Cluster, query: Mapping[str, Any]) -> EventRange:
    """The events that match these parameters, last seen first; BadRequest names a wrong one.

    An event is in a period if it was seen in it. With `expired=true`, and of a deleted cluster,
    the change log is read, which also knows expired events.
    """
    given = {name: str(query.get(name) or "").strip() for name in PARAMETERS}
    for name, value in given.items():
        if "\x00" in value:
            raise BadRequest(f"{name}: contains a NUL character")
    if given[EXPIRED] not in ("", "true", "false"):
        raise periods.wrong(EXPIRED, f"{given[EXPIRED]!r} is neither true nor false")
    period = periods.parse_period(given, now=cluster.now())
    from_log = cluster.deleted_at is not None or given[EXPIRED] == "true"
    find = _find_logged if from_log else _find_present
    return EventRange(find(cluster, given, period), from_log, period)


def batches(cluster: Cluster, query: Mapping[str, Any]) -> Batches:
    """The events that `find_events` finds, last seen first, as rows of FIELDS."""
    matches = find_events(cluster, query)
    return (
        [describe_event(matches.read(row)) for row in rows]
        for rows in read_batches(matches.rows, by="seen_version")
    )


def describe_event(event: FoundEvent) -> dict[str, Any]:
    """The event as a row of FIELDS."""
    body = event.body
    about = body.get("involvedObject") or {}
    component = (body.get("source") or {}).get("component") or body.get("reportingComponent") or ""
    return {
        "id": event.pk,
        "first_seen": event.created_at,
        "last_seen": event.written_at,
        "count": event.count,
        "type": body.get("type") or "Normal",
        "reason": event.reason,
        "kind": about.get("kind") or "",
        "namespace": about.get("namespace") or "",
        "name": about.get("name") or "",
        "message": body.get("message") or "",
        "component": component,
        "expired": event.expired,
    }


def _conditions(given: Mapping[str, str], body: str) -> dict[str, str]:
    paths = {path.format(body): given[name] for name, path in _PATHS.items()}
    return {path: value for path, value in paths.items() if value}


def _find_present(
    cluster: Cluster, given: Mapping[str, str], period: periods.Period
) -> QuerySet[Event]:
    events = Event.objects.filter(cluster=cluster).annotate(seen_version=F("resource_version"))
    if period.since is not None:
        events = events.filter(written_at__gte=period.since)
    if period.until is not None:
        events = events.filter(created_at__lt=period.until)
    return events.filter(**_conditions(given, "body")).order_by("-seen_version")


def _find_logged(
    cluster: Cluster, given: Mapping[str, str], period: periods.Period
) -> QuerySet[Change]:
    """The last state of each event in the change log."""
    states = Change.objects.filter(cluster=cluster, kind="Event").exclude(type=Change.Type.DELETED)
    same = Change.objects.filter(cluster=OuterRef("cluster"), uid=OuterRef("uid"))
    later = same.filter(version__gt=OuterRef("version"))
    events = states.exclude(Exists(later.exclude(type=Change.Type.DELETED))).annotate(
        seen_version=F("version"),
        first_at=Subquery(same.order_by("version").values("at")[:1]),
        expired=Exists(later),
    )
    if period.since is not None:
        first, _ = versions_between(cluster.pk, period.since, None, top=cluster.resource_version)
        events = events.filter(version__gte=first, at__gte=period.since)
    if period.until is not None:
        events = events.filter(first_at__lt=period.until)
    return events.filter(**_conditions(given, "object")).order_by("-seen_version")


def _read_present(row: Any) -> FoundEvent:
    return FoundEvent(
        row.pk, row.seen_version, row.body, row.created_at, row.written_at, expired=False
    )


def _read_logged(row: Any) -> FoundEvent:
    return FoundEvent(
        row.pk, row.seen_version, row.object, row.first_at, row.at, expired=row.expired
    )
