"""The table of events, for both API groups: rows are read from the stored form."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apps.cluster.tables.columns import NAME, Column, age, get, path

Body = Mapping[str, Any]


def _last_seen(event: Body) -> str:
    return str(
        get(event, "series", "lastObservedTime")
        or get(event, "lastTimestamp")
        or _first_seen(event)
    )


def _first_seen(event: Body) -> str:
    return str(get(event, "firstTimestamp") or get(event, "eventTime"))


def _object(event: Body, now: datetime) -> str:
    kind, name = get(event, "involvedObject", "kind").lower(), get(event, "involvedObject", "name")
    return f"{kind}/{name}" if name else str(kind)


def _source(event: Body, now: datetime) -> str:
    component = get(event, "source", "component") or get(event, "reportingComponent")
    host = get(event, "source", "host") or get(event, "reportingInstance")
    return f"{component}, {host}" if host else str(component)


def _count(event: Body, now: datetime) -> int:
    if "series" in event:
        return int(get(event, "series", "count", default=0))
    return int(get(event, "count", default=0) or 1)


EVENTS = (
    Column("Last Seen", lambda event, now: age(_last_seen(event), now)),
    Column("Type", path("type")),
    Column("Reason", path("reason")),
    Column("Object", _object),
    Column("Subobject", path("involvedObject", "fieldPath"), priority=1),
    Column("Source", _source, priority=1),
    Column("Message", lambda event, now: get(event, "message").strip()),
    Column("First Seen", lambda event, now: age(_first_seen(event), now), priority=1),
    Column("Count", _count, priority=1),
    Column(NAME.name, NAME.cell, format="name", priority=1),
)
