"""What the page of tasks shows, and which tasks a cluster's page tells of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from apps.cluster.models import Cluster
from apps.controlplane.models import Operation
from apps.controlplane.operations.service import operations
from apps.dashboard.paging import NumberedPage, numbered_page
from apps.dashboard.tables import Field, Sorting, asked_sorting

SORTS: Mapping[str, Sequence[str]] = {
    "begun": ("pk",),
    "title": ("title", "pk"),
    "state": ("state", "pk"),
    "user": ("user", "pk"),
}
#: A cluster's page tells of what ended not longer ago than this.
RECENT = timedelta(minutes=15)
MOST_RECENT = 5


@dataclass(frozen=True, slots=True)
class TaskList:
    """A page of tasks, newest first unless sorted otherwise."""

    page: NumberedPage[Operation]
    sorting: Sorting[Sequence[str]]
    filters: Sequence[Field]


def task_list(query: Mapping[str, str]) -> TaskList:
    """Tasks narrowed and sorted as the address asks."""
    found = operations()
    if text := query.get("q", "").strip():
        found = found.filter(title__icontains=text)
    if (state := query.get("state", "")) in Operation.State.values:
        found = found.filter(state=state)
    sorting = asked_sorting(query, SORTS, default="-begun")
    sign = "-" if sorting.downwards else ""
    page = numbered_page(found.order_by(*(f"{sign}{column}" for column in sorting.key)), query)
    filters = [
        Field("q", "Task", hint="contains"),
        Field("state", "State", choices=Operation.State.values),
    ]
    return TaskList(page, sorting, filters)


def tasks_of(cluster: Cluster) -> list[Operation]:
    """What is at work in a cluster, and what ended lately."""
    lately = Q(finished_at__isnull=True) | Q(finished_at__gt=timezone.now() - RECENT)
    return list(operations().filter(lately, cluster=cluster)[:MOST_RECENT])


def unfinished_tasks() -> list[Operation]:
    """What is at work and makes a cluster, for the page of clusters."""
    making = operations().filter(cluster=None, finished_at__isnull=True)
    return list(making[:MOST_RECENT])
