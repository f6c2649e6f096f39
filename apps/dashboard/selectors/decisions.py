"""What the page of decisions shows, and one decision's place among the attempts of its pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster, Pod
from apps.controlplane import ledger, selectors
from apps.controlplane.models import SchedulingDecision
from apps.dashboard.paging import LogPage, log_page, whole_number
from apps.scheduler.config.in_tree import IN_TREE_PLUGINS
from apps.scheduler.decision import Decision

MOST_ATTEMPTS = 200


@dataclass(frozen=True, slots=True)
class DecisionList:
    """A page of decisions, and the plugins the list can be narrowed by."""

    page: LogPage[SchedulingDecision]
    plugins: Sequence[str]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A decision with its row, and the attempts of the same pod, newest first."""

    row: SchedulingDecision
    decision: Decision
    attempts: Sequence[SchedulingDecision]
    pod_exists: bool


def decision_list(cluster: Cluster, query: Mapping[str, Any]) -> DecisionList:
    """Decisions newest first, narrowed as the address asks."""
    found = _narrowed(selectors.decisions(cluster), query)
    return DecisionList(log_page(found, query), sorted(IN_TREE_PLUGINS))


def ledger_entry(cluster: Cluster, number: int) -> LedgerEntry:
    """A decision with everything it was made of; NotFound when there is none."""
    row = SchedulingDecision.objects.filter(cluster=cluster, pk=number).first()
    if row is None:
        raise NotFound("decisions", str(number))
    return LedgerEntry(
        row,
        ledger.load(row),
        list(selectors.decisions(cluster, pod_uid=row.pod_uid)[:MOST_ATTEMPTS]),
        Pod.objects.filter(cluster=cluster, uid=row.pod_uid).exists(),
    )


def _narrowed(
    found: QuerySet[SchedulingDecision], query: Mapping[str, Any]
) -> QuerySet[SchedulingDecision]:
    if text := query.get("q", "").strip():
        namespace, slash, name = text.rpartition("/")
        found = found.filter(name__contains=name)
        found = found.filter(namespace=namespace) if slash else found
    for parameter in ("result", "node"):
        if value := query.get(parameter, "").strip():
            found = found.filter(**{parameter: value})
    if plugin := query.get("plugin", ""):
        found = found.filter(unschedulable_plugins__contains=[plugin])
    if message := query.get("message", "").strip():
        found = found.filter(message__icontains=message)
    attempts = whole_number(query, "attempt")
    return found if attempts is None else found.filter(attempt__gte=min(attempts, 2**31 - 1))
