"""Decisions: the list, one of them, the nodes that got one answer."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster
from apps.controlplane.models import SchedulingDecision
from apps.dashboard import explanation
from apps.dashboard.paging import numbered_page
from apps.dashboard.rendering import Request, cluster_page, page
from apps.dashboard.selectors.decisions import decision_list, ledger_entry

NODES_SHOWN = 500


@require_GET
@cluster_page
def decisions(request: Request, cluster: Cluster) -> HttpResponse:
    context = {
        "cluster": cluster,
        "decisions": decision_list(cluster, request.GET),
        "results": SchedulingDecision.Result.values,
    }
    return page(request, "decisions", context)


@require_GET
@cluster_page
def decision(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    entry = ledger_entry(cluster, number)
    asked = request.GET.get("node", "").strip()
    context = {
        "cluster": cluster,
        "entry": entry,
        "funnel": explanation.funnel(entry.decision),
        "refusals": explanation.refusals(entry.decision),
        "table": explanation.score_table(entry.decision, request.GET.dict()),
        "tied": entry.decision.tied_nodes(),
        "spans": explanation.spans(entry.decision),
        "asked": asked,
        "answer": explanation.answer_about(entry.decision, asked) if asked else None,
    }
    return page(request, "decision", context)


@require_GET
@cluster_page
def refused_nodes(request: Request, cluster: Cluster, number: int, status: int) -> HttpResponse:
    """All nodes that got the answer `status`; the one for nodes nobody asked is 0."""
    entry = ledger_entry(cluster, number)
    answer = status or explanation.NOT_LOOKED_AT
    found = [each for each in explanation.refusals(entry.decision) if each.number == answer]
    if not found:
        raise NotFound("refusals", str(status))
    names = explanation.nodes_with(entry.decision, answer)
    context = {
        "cluster": cluster,
        "entry": entry,
        "refusal": found[0],
        "page": numbered_page(names, request.GET, size=NODES_SHOWN),
    }
    return page(request, "refused_nodes", context)
