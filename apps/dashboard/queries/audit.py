"""The page of the audit log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from apps.administration.auditing import PARAMETERS, find_entries
from apps.cluster.errors import BadRequest
from apps.dashboard.downloads import list_files
from apps.dashboard.paging import LogPage, log_page
from apps.dashboard.queries.clusters import cluster_names
from apps.dashboard.queries.elsewhere import Elsewhere, look_elsewhere
from apps.dashboard.tables import PERIOD, Field, describe_problem, refuse_unknown
from apps.engine.periods import Period
from apps.people.accounts import user_names
from apps.people.models import AuditEntry


@dataclass(frozen=True, slots=True)
class AuditList:
    """A page of entries, and the filters of the list."""

    page: LogPage[AuditEntry]
    filters: Sequence[Field]
    #: (label, address) of each file format in which these entries can be downloaded.
    files: Sequence[tuple[str, str]] = ()
    #: The parameter that is invalid, and why.
    problem: str = ""
    period: Period = Period()
    #: Where there are entries, if there are none in the period.
    elsewhere: Elsewhere | None = None


def audit_list(query: Mapping[str, Any], user: User) -> AuditList:
    """Entries, newest first, filtered as the address says; a problem if it is wrong."""
    filters = _filters(user)
    try:
        refuse_unknown(query, filters)
        entries = find_entries(query)
    except BadRequest as error:
        problem = describe_problem(error, filters)
        return AuditList(log_page(AuditEntry.objects.none(), query), filters, problem=problem)
    files = list_files(None, "api-export-audit", PARAMETERS, query, entries.period)
    page = log_page(entries.rows, query)
    elsewhere = None
    if not page.rows:
        elsewhere = look_elsewhere(query, entries.period, _newest, now=timezone.now())
    return AuditList(page, filters, files, period=entries.period, elsewhere=elsewhere)


def _newest(query: Mapping[str, Any]) -> datetime | None:
    """The time of the newest entry that these parameters select."""
    return find_entries(query).rows.values_list("time", flat=True).first()


def _filters(user: User) -> list[Field]:
    return [
        Field("user", "User", hint="whole name", suggestions=user_names()),
        Field("action", "Action", choices=AuditEntry.Action.choices),
        Field("cluster", "Cluster", hint="whole name", suggestions=cluster_names(user)),
        Field("q", "Target", hint="contains"),
        Field("token", "Token", hint="whole name"),
        Field("address", "Address", hint="whole address"),
        Field("request", "Request", hint="whole id"),
        PERIOD,
    ]
