"""The board of pods on nodes, which answers whether a pod could run elsewhere."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from apps.answers import to_json
from apps.cluster.errors import ApiError, BadRequest
from apps.cluster.models import Cluster
from apps.dashboard.queries.placement import NODES, read_board
from apps.dashboard.rendering import Request, cluster_page, render_page
from apps.studies.lab.moving import ask_nodes


@require_GET
@cluster_page
def placement(request: Request, cluster: Cluster) -> HttpResponse:
    """The board; with `pod` and `node` also whether this pod could run on this node."""
    board = read_board(cluster, request.GET.dict())
    context: dict[str, Any] = {"cluster": cluster, "board": board}
    pod, node = (request.GET.get(name, "").strip() for name in ("pod", "node"))
    if pod and node:
        try:
            context["asked"] = ask_nodes(cluster, pod, [node])
        except ApiError as refusal:
            context["problem"] = refusal.message
    return render_page(request, "placement", context)


@require_GET
@cluster_page
def answers(request: Request, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """What the filters say of a pod and of each `node`, as JSON."""
    nodes = request.GET.getlist("node")
    if len(nodes) > NODES:
        raise BadRequest(f"node: at most {NODES} can be asked at a time")
    return JsonResponse(to_json(ask_nodes(cluster, f"{namespace}/{name}", nodes)))
