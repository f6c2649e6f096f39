"""Explanations: of a decision with the nodes one asks about, and what a pending pod waits for."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster
from apps.controlplane.explanations.decisions import explain_decision
from apps.controlplane.explanations.pods import explain_pod
from apps.controlplane.ledger.reading import read
from apps.controlplane.models import SchedulingDecision
from apps.dashboard.rendering import Request, cluster_page, page

#: Node names offered while one types.
_OFFERED = 20


@require_GET
@cluster_page
def decision_explanation(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """Why here; with `?node=`, why not there; with `&against=` both side by side."""
    row = _row(cluster, number)
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
    return page(request, "explanation", context)


@require_GET
@cluster_page
def decision_nodes(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """The first nodes of a decision whose name holds what was typed, as options."""
    decision = read(_row(cluster, number)).decision
    text = (request.GET.get("against") or request.GET.get("node") or "").strip()
    names = sorted(name for name in decision.nodes if text in name)[:_OFFERED]
    return page(request, "node_options", {"names": names})


@require_GET
@cluster_page
def pod_waiting(request: Request, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """What would unblock a pending pod, who is ahead of it, and what would wake it."""
    explained = explain_pod(cluster, namespace, name)
    context = {"cluster": cluster, "namespace": namespace, "name": name, "explained": explained}
    return page(request, "waiting", context)


def _row(cluster: Cluster, number: int) -> SchedulingDecision:
    row = SchedulingDecision.objects.filter(cluster=cluster, pk=number).first()
    if row is None:
        raise NotFound("decisions", str(number))
    return row
