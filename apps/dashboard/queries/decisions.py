"""What the page of decisions shows, and one decision's place among the attempts of its pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from apps.cluster.errors import BadRequest, NotFound
from apps.cluster.models import Cluster, Pod
from apps.controlplane import queries
from apps.controlplane.ledger import codec, finding
from apps.controlplane.models import SchedulingDecision
from apps.dashboard.paging import LogPage, log_page
from apps.dashboard.tables import Field
from apps.scheduler.config.in_tree import IN_TREE_PLUGINS
from apps.scheduler.decision import Decision

#: Attempts of the same pod that are named before and after one.
MOST_AROUND = 10


@dataclass(frozen=True, slots=True)
class DecisionList:
    """A page of decisions, and what the list can be narrowed by."""

    page: LogPage[SchedulingDecision]
    filters: Sequence[Field]
    #: (what it is called, its address) of each file these decisions can be had as.
    files: Sequence[tuple[str, str]] = ()
    #: What of the address cannot be read.
    problem: str = ""


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
    """Decisions newest first, as the address asks; none, and why, where it cannot be read."""
    problem, rows = "", SchedulingDecision.objects.none()
    try:
        rows = finding.found(finding.parse(query), cluster_id=cluster.pk)
    except BadRequest as error:
        problem = error.message
    files = () if problem else _files(cluster, query)
    return DecisionList(log_page(rows, query), _filters(cluster), files, problem)


def ledger_entry(cluster: Cluster, number: int) -> LedgerEntry:
    """A decision with everything it was made of; NotFound when there is none."""
    row = SchedulingDecision.objects.filter(cluster=cluster, pk=number).first()
    if row is None:
        raise NotFound("decisions", str(number))
    attempts = queries.list_decisions(cluster, pod_uid=row.pod_uid)
    earlier = list(attempts.filter(pk__lt=row.pk)[:MOST_AROUND])
    later = list(attempts.filter(pk__gt=row.pk).order_by("pk")[:MOST_AROUND])
    return LedgerEntry(
        row,
        codec.load(row),
        attempts=[*reversed(later), row, *earlier],
        previous=earlier[0] if earlier else None,
        next=later[0] if later else None,
        pod_exists=Pod.objects.filter(cluster=cluster, uid=row.pod_uid).exists(),
    )


def _files(cluster: Cluster, query: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the API exports under the same filters."""
    address = reverse("api-export-cluster-decisions", args=[cluster.name])
    asked = {each.name: query.get(each.name, "") for each in finding.PARAMETERS}
    given = {name: value for name, value in asked.items() if value}
    formats = (("CSV", "csv"), ("JSON Lines", "jsonl"))
    return [(words, f"{address}?{urlencode({'format': name, **given})}") for words, name in formats]


def _filters(cluster: Cluster) -> list[Field]:
    """A field for each filter of `apps.controlplane.ledger.codec.finding`, the usual ones first."""
    moment = "2026-01-31 12:00"
    return [
        Field("pod", "Pod", hint="web-1, ns/web-1 or web-*"),
        Field("result", "Result", choices=SchedulingDecision.Result.values),
        Field("node", "Node"),
        Field("plugin", "Rejected by", suggestions=sorted(IN_TREE_PLUGINS)),
        Field("reason", "Reason", hint="Insufficient cpu"),
        Field("text", "Words", hint='cpu -taint, "too many"'),
        Field("victim", "Victim", hint="ns/name"),
        Field("profile", "Profile", suggestions=queries.list_scheduler_names(cluster)),
        Field("revision", "Revision", number=True),
        Field("since", "Since", hint=moment),
        Field("until", "Until", hint=moment),
        Field("min_attempt", "Attempt from", number=True),
    ]
