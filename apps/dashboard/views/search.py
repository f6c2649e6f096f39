"""The search, which "/" opens."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.access.reach import reach_of
from apps.dashboard.queries.search import group_by_sort, search
from apps.dashboard.rendering import Request, render_page


@require_GET
def find(request: Request) -> HttpResponse:
    """Clusters, nodes, pods and decisions that match `q`; those of `cluster` first."""
    text = request.GET.get("q", "")
    hits = search(text, here=request.GET.get("cluster", ""), reach=reach_of(request.user))
    return render_page(request, "search", {"text": text, "sorts": group_by_sort(hits)})
