"""Decisions: the list, one of them, its scores as JSON, the nodes that got one answer."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, JsonResponse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster
from apps.controlplane.explanations import verdicts
from apps.dashboard.decision_page.funnel import funnel
from apps.dashboard.decision_page.preemption import preemption_table
from apps.dashboard.decision_page.scores import VALUES, as_json, score_matrix, score_table
from apps.dashboard.decision_page.waterfall import waterfall
from apps.dashboard.paging import numbered_page
from apps.dashboard.queries.decisions import LedgerEntry, decision_list, ledger_entry
from apps.dashboard.rendering import Request, cluster_page, page

NODES_SHOWN = 500
#: A decision never changes: what was fetched once is good for a year.
_KEPT = "private, max-age=31536000, immutable"


@require_GET
@cluster_page
def decisions(request: Request, cluster: Cluster) -> HttpResponse:
    found = decision_list(cluster, request.GET)
    context = {"cluster": cluster, "decisions": found}
    return page(request, "decisions", context, status=422 if found.problem else 200)


@require_GET
@cluster_page
def decision(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """One decision; htmx gets its scores."""
    entry = ledger_entry(cluster, number)
    context = {"cluster": cluster, "entry": entry, **_scores(request, entry)}
    if not request.htmx:
        context |= {
            "funnel": funnel(entry.decision),
            "refusals": verdicts.refusals(entry.decision),
            "tied": entry.decision.tied_nodes(),
            "preemption": preemption_table(entry.decision),
            "stages": waterfall(entry.decision),
        }
    return page(request, "decision", context)


@require_GET
@gzip_page
@cluster_page
def scores(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """The whole matrix of scores, for the browser to sort and draw."""
    matrix = score_matrix(ledger_entry(cluster, number).decision)
    return JsonResponse(as_json(matrix), headers={"Cache-Control": _KEPT})


@require_GET
@cluster_page
def refused_nodes(request: Request, cluster: Cluster, number: int, status: int) -> HttpResponse:
    """All nodes that got the answer `status`; the one for nodes nobody asked is 0."""
    entry = ledger_entry(cluster, number)
    answer = status or verdicts.NOT_LOOKED_AT
    found = [each for each in verdicts.refusals(entry.decision) if each.number == answer]
    if not found:
        raise NotFound("refusals", str(status))
    names = verdicts.nodes_with(entry.decision, answer)
    context = {
        "cluster": cluster,
        "entry": entry,
        "refusal": found[0],
        "page": numbered_page(names, request.GET, size=NODES_SHOWN),
    }
    return page(request, "refused_nodes", context)


def _scores(request: Request, entry: LedgerEntry) -> dict[str, Any]:
    table = score_table(score_matrix(entry.decision), request.GET.dict())
    return {"table": table, "sorting": table.sorting, "values": VALUES}
