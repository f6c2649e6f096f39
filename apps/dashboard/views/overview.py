"""One cluster at a glance."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.models import Cluster
from apps.dashboard.rendering import Request, cluster_page, page
from apps.dashboard.selectors.overview import cluster_overview


@require_GET
@cluster_page
def cluster(request: Request, cluster: Cluster) -> HttpResponse:
    overview = cluster_overview(cluster, resource=request.GET.get("resource", "cpu"))
    return page(request, "cluster", {"cluster": cluster, "overview": overview})
