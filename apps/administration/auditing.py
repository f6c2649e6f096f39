"""Finding entries of the audit log, and their retention."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import OperationalError
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.cluster.errors import BadRequest
from apps.cluster.partitions import daily
from apps.engine import periods
from apps.engine.exported_files import Batches, read_batches
from apps.people.models import AuditEntry

log = logging.getLogger(__name__)

#: (parameter, meaning) of the filters besides the period.
FILTERS = (
    ("q", "Part of the target."),
    ("user", "Name of the user."),
    ("action", "One of " + ", ".join(AuditEntry.Action.values) + "."),
    ("cluster", "Name of the cluster."),
    ("token", "Name of the token."),
    ("address", "Address of the client."),
    ("request", "Id of the request."),
)
#: The parameters of `find_entries`.
PARAMETERS = (*(name for name, _ in FILTERS), *periods.PARAMETERS)
#: The columns of a file.
FIELDS = (
    "id",
    "time",
    "user",
    "action",
    "target",
    "cluster",
    "token",
    "address",
    "request_id",
    "details",
)
_COLUMNS = {
    "q": "target__icontains",
    "request": "request_id",
    **{name: name for name in ("user", "action", "cluster", "token", "address")},
}


@dataclass(frozen=True, slots=True)
class EntryRange:
    """Entries that match filters, newest first."""

    rows: QuerySet[AuditEntry]
    period: periods.Period


def find_entries(query: Mapping[str, Any]) -> EntryRange:
    """The entries that match these parameters; BadRequest names a wrong one."""
    given = {name: str(query.get(name) or "").strip() for name in PARAMETERS}
    for name, value in given.items():
        if "\x00" in value:
            raise BadRequest(f"{name}: contains a NUL character")
    if given["action"] and given["action"] not in AuditEntry.Action.values:
        raise periods.wrong("action", f"{given['action']!r} is not an action of the audit log")
    period = periods.parse_period(given, now=timezone.now())
    conditions = {column: given[name] for name, column in _COLUMNS.items() if given[name]}
    rows = AuditEntry.objects.filter(**conditions, **period.conditions("time"))
    return EntryRange(rows.filter(_days_of(period)).order_by("-id"), period)


def batches(query: Mapping[str, Any]) -> Batches:
    """The entries that `find_entries` finds, newest first, as rows of FIELDS."""
    return read_batches(find_entries(query).rows.values(*FIELDS))


def delete_expired() -> None:
    """Drop the partitions of days that are no longer kept, and empty ones."""
    days = settings.AUDIT_MAX_DAYS
    expired = daily.today() - timedelta(days=days) if days else None
    try:
        for name in daily.drop_days(daily.AUDIT, expired):
            log.info("partition %s dropped", name)
    except OperationalError:
        # a long read, such as an export, holds a lock on the table; the next run tries again
        log.warning("could not drop a partition of %s; will retry", daily.AUDIT, exc_info=True)


def _days_of(period: periods.Period) -> Q:
    """A condition on ids, by which the database reads only the partitions of these days.

    The clocks of web and database may differ by minutes around midnight.
    """
    condition = Q()
    if period.since is not None and period.since.year >= 2000:
        first = (period.since - timedelta(hours=1)).date()
        condition &= Q(id__gte=daily.first_id(first))
    return condition
