"""Explanations: of a decision and of single nodes in it, and of a pending pod."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.models import Cluster
from apps.dashboard.queries.score_inputs import inputs_page, order_page
from apps.dashboard.rendering import Request, cluster_page, recorded_page, render_page
from apps.engine import queries
from apps.engine.ledger.reading import read
from apps.studies.explanations.explained_decisions import explain_decision
from apps.studies.explanations.pending_pods import explain_pod
from apps.studies.explanations.states import states

#: Maximum number of suggested node names.
_MAX_SUGGESTIONS = 20


@require_GET
@recorded_page
def decision_explanation(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """Why the node was chosen; `?node=`: why not this node; `&against=`: compared with this one."""
    row = queries.decision_numbered(number, cluster)
    decision = read(row).decision
    node, against = (request.GET.get(name, "").strip() for name in ("node", "against"))
    if against and not node:
        node, against = against, ""
    context = {
        "cluster": cluster,
        "row": row,
        "node": node,
        "against": against,
        "explained": explain_decision(row, node=node, against=against, decision=decision),
    }
    return render_page(request, "explanation", context)


@require_GET
@recorded_page
def decision_nodes(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """The first nodes of a decision whose names contain the text of the field, as suggestions.

    Requested when the field is focused, so the state that the answer needs is prepared meanwhile.
    """
    row = queries.decision_numbered(number, cluster)
    states.prepare(row)
    decision = read(row).decision
    text = (request.GET.get("against") or request.GET.get("node") or "").strip()
    names = sorted(name for name in decision.nodes if text in name)[:_MAX_SUGGESTIONS]
    return render_page(request, "node_options", {"names": names})


@require_GET
@recorded_page
def decision_inputs(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """What the scores of a node were computed from; `?node=`, by default the best one."""
    page = inputs_page(cluster, number, request.GET.get("node", "").strip())
    return render_page(request, "score_inputs", {"cluster": cluster, "page": page, "row": page.row})


@require_GET
@recorded_page
def decision_order(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """The order in which the decision visited the nodes."""
    page = order_page(cluster, number)
    context = {"cluster": cluster, "page": page, "row": page.row}
    return render_page(request, "visiting_order", context)


@require_GET
@cluster_page
def pod_waiting(request: Request, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """What would unblock a pending pod, the pods ahead of it, and the events that requeue it."""
    explained = explain_pod(cluster, namespace, name)
    context = {"cluster": cluster, "namespace": namespace, "name": name, "explained": explained}
    return render_page(request, "waiting", context)
