"""The page of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.cluster import kinds
from apps.cluster.models import Cluster, Event
from apps.dashboard.paging import LogPage, log_page
from apps.dashboard.tables import Field

#: Suggestions for the filter by reason, which accepts any other reason.
COMMON_REASONS = ("FailedScheduling", "Preempted", "Scheduled", "TaintManagerEviction")
TYPES = ("Normal", "Warning")


@dataclass(frozen=True, slots=True)
class EventList:
    """A page of events, and the filters of the list."""

    page: LogPage[Event]
    filters: Sequence[Field]


def event_list(cluster: Cluster, query: Mapping[str, Any]) -> EventList:
    """Events of a cluster, newest first, filtered as the address says."""
    events = Event.objects.filter(cluster=cluster)
    exact = {
        "namespace": "namespace",
        "reason": "reason",
        "type": "body__type",
        "kind": "body__involvedObject__kind",
    }
    for parameter, column in exact.items():
        if value := query.get(parameter, "").strip():
            events = events.filter(**{column: value})
    if text := query.get("q", "").strip():
        events = events.filter(body__involvedObject__name__contains=text)
    return EventList(log_page(events, query), _filters())


def _filters() -> list[Field]:
    return [
        Field("q", "Object", hint="name contains"),
        Field("kind", "Kind", choices=sorted(kind.name for kind in kinds.ALL)),
        Field("type", "Type", choices=TYPES),
        Field("reason", "Reason", suggestions=COMMON_REASONS),
        Field("namespace", "Namespace"),
    ]
