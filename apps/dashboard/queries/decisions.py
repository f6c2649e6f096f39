"""The page of decisions, and one decision among the attempts of its pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.cluster.errors import BadRequest, Timeout
from apps.cluster.models import Cluster, Pod
from apps.dashboard.downloads import list_files
from apps.dashboard.paging import LogPage, log_page, parse_whole_number
from apps.dashboard.queries.decision_groups import (
    GroupList,
    ReadyView,
    group_fields,
    group_list,
    parse_page_grouping,
    ready_views,
)
from apps.dashboard.queries.elsewhere import Elsewhere, look_elsewhere
from apps.dashboard.tables import PERIOD, Field, complete_fields, describe_problem, refuse_unknown
from apps.engine import queries
from apps.engine.ledger import completion, finding
from apps.engine.ledger.reading import read
from apps.engine.ledger.records import DecisionRecord
from apps.engine.ledger.saved_views import list_views
from apps.engine.models import SavedView, SchedulingDecision
from apps.engine.periods import Period
from apps.scheduler.decision import Decision

#: Attempts of the same pod that are listed before and after a decision.
MAX_AROUND = 10
#: The page of rows of a list in groups.
NO_ROWS: LogPage[SchedulingDecision] = LogPage([], None, None, 0)
_NO_FILES: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class DecisionList:
    """A page of decisions, and the filters of the list."""

    page: LogPage[SchedulingDecision]
    filters: Sequence[Field]
    #: (label, address) of each file format in which these decisions can be downloaded.
    files: Sequence[tuple[str, str]] = ()
    #: The parameter that is invalid, and why.
    problem: str = ""
    period: Period = Period()
    #: where there are decisions, if there are none in the period
    elsewhere: Elsewhere | None = None
    #: the decisions in groups, instead of rows, if the address groups them
    groups: GroupList | None = None
    ready: Sequence[ReadyView] = ()
    #: the views that the user sees, and the one of them that the address names
    saved: Sequence[SavedView] = ()
    view: SavedView | None = None


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A decision with its row, and the attempts of the same pod around it, newest first."""

    row: SchedulingDecision
    record: DecisionRecord
    attempts: Sequence[SchedulingDecision]
    previous: SchedulingDecision | None
    next: SchedulingDecision | None
    pod_exists: bool
    #: the decision whose ranking had a node for this one; None without a batch
    ranked: SchedulingDecision | None = None

    @property
    def decision(self) -> Decision:
        return self.record.decision


def decision_list(cluster: Cluster, query: Mapping[str, Any], user: str) -> DecisionList:
    """The decisions of the address, newest first, or in groups; the views that a user sees.

    No decisions, with a problem, if a parameter is invalid or an aggregation takes too long.
    """
    problem, groups, rows = "", None, SchedulingDecision.objects.none()
    period, files, fields = Period(), _NO_FILES, _filters(cluster)
    try:
        refuse_unknown(query, fields, [each.name for each in finding.PARAMETERS] + ["view"])
        filters = finding.parse(query, now=cluster.now())
        period = Period(filters.since, filters.until)
        if by := parse_page_grouping(query):
            groups = group_list(cluster, filters, by, query)
        else:
            rows = finding.find(filters, cluster_id=cluster.pk)
            names = [each.name for each in finding.PARAMETERS]
            files = list_files(cluster, "api-export-cluster-decisions", names, query, period)
    except (BadRequest, Timeout) as error:
        problem = describe_problem(error, fields)
    page = log_page(rows, query) if groups is None else NO_ROWS
    elsewhere = None
    if not (problem or page.rows or (groups and groups.page.rows)):
        elsewhere = look_elsewhere(
            query, period, lambda rest: _newest(cluster, rest), now=cluster.now()
        )
    saved = list(list_views(cluster, user))
    number = parse_whole_number(query, "view")
    return DecisionList(
        page=page,
        filters=fields,
        files=files,
        problem=problem,
        period=period,
        elsewhere=elsewhere,
        groups=groups,
        ready=ready_views(cluster, query),
        saved=saved,
        view=next((view for view in saved if view.pk == number), None),
    )


def _newest(cluster: Cluster, query: Mapping[str, Any]) -> datetime | None:
    """The time of the newest decision that these parameters select."""
    rows = finding.find(finding.parse(query, now=cluster.now()), cluster_id=cluster.pk)
    return rows.values_list("at", flat=True).first()


def ledger_entry(cluster: Cluster, number: int) -> LedgerEntry:
    """A decision with its row and its neighbours; NotFound if there is none."""
    row = queries.decision_numbered(number, cluster)
    attempts = queries.list_decisions(cluster, pod_uid=row.pod_uid)
    earlier = list(attempts.filter(pk__lt=row.pk)[:MAX_AROUND])
    later = list(attempts.filter(pk__gt=row.pk).order_by("pk")[:MAX_AROUND])
    record = read(row)
    return LedgerEntry(
        row,
        record,
        attempts=[*reversed(later), row, *earlier],
        previous=earlier[0] if earlier else None,
        next=later[0] if later else None,
        pod_exists=Pod.objects.filter(cluster=cluster, uid=row.pod_uid).exists(),
        ranked=_ranking_decision(cluster, record.decision),
    )


def _ranking_decision(cluster: Cluster, decision: Decision) -> SchedulingDecision | None:
    hint = decision.hint
    if hint is None:
        return None
    attempts = queries.list_decisions(cluster, pod_uid=UUID(hint.pod_uid))
    return attempts.filter(attempt=hint.attempt).first()


def _filters(cluster: Cluster) -> list[Field]:
    """A field for each filter of `apps.engine.ledger.finding`, the most used first."""
    fields = [
        Field("pod", "Pod", hint="contains"),
        Field("node", "Node", hint="whole name"),
        Field("result", "Result", choices=SchedulingDecision.Result.values),
        Field("main_plugin", "Mainly rejected by", hint="whole name"),
        *group_fields(),
        Field("namespace", "Namespace", hint="whole name"),
        Field("workload", "Workload", hint="Deployment/web"),
        Field("main_reason", "Main reason", hint="Insufficient cpu"),
        Field("plugin", "Also rejected by", hint="whole name"),
        Field("reason", "Any reason", hint="Insufficient cpu"),
        Field("text", "Words", hint='cpu -taint, "too many"'),
        Field("victim", "Victim", hint="web-1, ns/web-1 or * for any"),
        Field("profile", "Profile", hint="whole name"),
        Field("revision", "Revision", number=True),
        PERIOD,
        Field("min_attempt", "Attempt from", number=True),
    ]
    return complete_fields(cluster, fields, completion.FIELDS)
