"""The events of a cluster."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.models import Cluster
from apps.dashboard.queries.events import event_list
from apps.dashboard.rendering import Request, recorded_page, render_page


@require_GET
@recorded_page
def events(request: Request, cluster: Cluster) -> HttpResponse:
    listed = event_list(cluster, request.GET)
    context = {"cluster": cluster, "events": listed}
    return render_page(request, "events", context, status=422 if listed.problem else 200)
