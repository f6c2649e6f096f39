"""The page of operations, and the operations that a cluster's page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from apps.administration.operations.service import operations, operations_for
from apps.cluster.models import Cluster
from apps.dashboard.paging import NumberedPage, numbered_page
from apps.dashboard.tables import Field, Sorting, read_sorting, refuse_unknown
from apps.engine.models import Operation

SORTS: Mapping[str, Sequence[str]] = {
    "number": ("pk",),
    "title": ("title", "pk"),
    "state": ("state", "pk"),
    "user": ("user", "pk"),
}
#: A cluster's page shows the operations that finished within this time.
RECENT = timedelta(minutes=15)
MAX_RECENT = 5


@dataclass(frozen=True, slots=True)
class OperationList:
    """A page of operations; newest first by default."""

    page: NumberedPage[Operation]
    sorting: Sorting[Sequence[str]]
    filters: Sequence[Field]


def operation_list(query: Mapping[str, str], user: User) -> OperationList:
    """Operations that a user sees, filtered and sorted as the address says; or BadRequest."""
    filters = [
        Field("q", "Operation", hint="contains"),
        Field("state", "State", choices=Operation.State.values),
    ]
    refuse_unknown(query, filters)
    matches = operations_for(user)
    if text := query.get("q", "").strip():
        matches = matches.filter(title__icontains=text)
    if (state := query.get("state", "")) in Operation.State.values:
        matches = matches.filter(state=state)
    sorting = read_sorting(query, SORTS, default="-number")
    sign = "-" if sorting.descending else ""
    page = numbered_page(matches.order_by(*(f"{sign}{column}" for column in sorting.key)), query)
    return OperationList(page, sorting, filters)


def recent_operations(cluster: Cluster) -> list[Operation]:
    """The operations that run in a cluster, and those that finished recently."""
    recent = Q(finished_at__isnull=True) | Q(finished_at__gt=timezone.now() - RECENT)
    return list(operations().filter(recent, cluster=cluster)[:MAX_RECENT])


def unfinished_operations(user: User) -> list[Operation]:
    """The operations that are creating a cluster, for the page of clusters."""
    creating = operations_for(user).filter(cluster=None, finished_at__isnull=True)
    return list(creating[:MAX_RECENT])
