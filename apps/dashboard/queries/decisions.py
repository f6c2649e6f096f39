"""The page of decisions, and one decision among the attempts of its pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster, Pod
from apps.controlplane import queries
from apps.controlplane.ledger import finding
from apps.controlplane.ledger.reading import read
from apps.controlplane.models import SchedulingDecision
from apps.controlplane.periods import Period
from apps.controlplane.profiles.plugins import plugin_names
from apps.dashboard.downloads import list_files
from apps.dashboard.paging import LogPage, log_page
from apps.dashboard.tables import PERIOD, Field
from apps.scheduler.decision import Decision

#: Attempts of the same pod that are listed before and after a decision.
MAX_AROUND = 10


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


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A decision with its row, and the attempts of the same pod around it, newest first."""

    row: SchedulingDecision
    decision: Decision
    attempts: Sequence[SchedulingDecision]
    previous: SchedulingDecision | None
    next: SchedulingDecision | None
    pod_exists: bool


def decision_list(cluster: Cluster, query: Mapping[str, Any]) -> DecisionList:
    """The decisions of the address, newest first; none, with a problem, if a filter is invalid."""
    filters = _filters(cluster)
    try:
        found = finding.parse(query, now=cluster.now())
    except BadRequest as error:
        nothing = SchedulingDecision.objects.none()
        return DecisionList(log_page(nothing, query), filters, problem=error.message)
    period = Period(found.since, found.until)
    names = [each.name for each in finding.PARAMETERS]
    rows = finding.find(found, cluster_id=cluster.pk)
    files = list_files(cluster, "api-export-cluster-decisions", names, query, period)
    return DecisionList(log_page(rows, query), filters, files, period=period)


def ledger_entry(cluster: Cluster, number: int) -> LedgerEntry:
    """A decision with its row and its neighbours; NotFound if there is none."""
    row = queries.decision_numbered(number, cluster)
    attempts = queries.list_decisions(cluster, pod_uid=row.pod_uid)
    earlier = list(attempts.filter(pk__lt=row.pk)[:MAX_AROUND])
    later = list(attempts.filter(pk__gt=row.pk).order_by("pk")[:MAX_AROUND])
    return LedgerEntry(
        row,
        read(row).decision,
        attempts=[*reversed(later), row, *earlier],
        previous=earlier[0] if earlier else None,
        next=later[0] if later else None,
        pod_exists=Pod.objects.filter(cluster=cluster, uid=row.pod_uid).exists(),
    )


def _filters(cluster: Cluster) -> list[Field]:
    """A field for each filter of `apps.controlplane.ledger.finding`, the most used first."""
    return [
        Field("pod", "Pod", hint="web-1, ns/web-1 or web-*"),
        Field("result", "Result", choices=SchedulingDecision.Result.values),
        Field("node", "Node"),
        Field("plugin", "Rejected by", suggestions=plugin_names()),
        Field("reason", "Reason", hint="Insufficient cpu"),
        Field("text", "Words", hint='cpu -taint, "too many"'),
        Field("victim", "Victim", hint="web-1 or ns/web-1"),
        Field("profile", "Profile", suggestions=queries.list_scheduler_names(cluster)),
        Field("revision", "Revision", number=True),
        PERIOD,
        Field("min_attempt", "Attempt from", number=True),
    ]
