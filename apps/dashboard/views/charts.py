"""Charts over time."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.models import Cluster
from apps.dashboard.queries.charts import PRESETS, charts_page
from apps.dashboard.rendering import Request, cluster_page, render_page
from apps.engine.series.spans import parse_span


@require_GET
@cluster_page
def charts(request: Request, cluster: Cluster) -> HttpResponse:
    query = request.GET
    page = charts_page(cluster, of=query.get("of") or "cluster", since=query.get("since", ""))
    # an invalid time is an error here, not only in the request of the script
    parse_span(cluster, query.dict())
    context = {
        "cluster": cluster,
        "page": page,
        "until": query.get("until", ""),
        "presets": PRESETS,
    }
    return render_page(request, "charts", context)
