"""The search that "/" opens."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.dashboard.queries.search import search, sorts
from apps.dashboard.rendering import Request, page


@require_GET
def find(request: Request) -> HttpResponse:
    """Clusters, nodes, pods and decisions that `q` names; those of `cluster` first."""
    text = request.GET.get("q", "")
    found = search(text, here=request.GET.get("cluster", ""))
    return page(request, "search", {"text": text, "sorts": sorts(found)})
