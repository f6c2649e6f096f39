"""Second opinions on the bindings of an external scheduler."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.models import Cluster
from apps.dashboard.queries.opinions import opinions_page
from apps.dashboard.rendering import Request, cluster_page, render_page


@require_GET
@cluster_page
def opinions(request: Request, cluster: Cluster) -> HttpResponse:
    context = {"cluster": cluster, "opinions": opinions_page(cluster, request.GET)}
    return render_page(request, "opinions", context)
