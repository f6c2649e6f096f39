"""What the page of events shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.cluster.models import Cluster, Event
from apps.dashboard.paging import LogPage, log_page

#: Suggested where one types a reason; any other can be asked for as well.
COMMON_REASONS = ("FailedScheduling", "Preempted", "Scheduled", "TaintManagerEviction")
TYPES = ("Normal", "Warning")


def event_list(cluster: Cluster, query: Mapping[str, Any]) -> LogPage[Event]:
    """Events of a cluster, newest first, narrowed as the address asks."""
    events = Event.objects.filter(cluster=cluster)
    if reason := query.get("reason", "").strip():
        events = events.filter(reason=reason)
    if kind := query.get("type", ""):
        events = events.filter(body__type=kind)
    if text := query.get("q", "").strip():
        events = events.filter(body__involvedObject__name__contains=text)
    return log_page(events, query)
