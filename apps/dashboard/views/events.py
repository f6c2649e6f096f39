"""The events of a cluster."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.models import Cluster
from apps.dashboard.rendering import Request, cluster_page, page
from apps.dashboard.selectors.events import COMMON_REASONS, TYPES, event_list


@require_GET
@cluster_page
def events(request: Request, cluster: Cluster) -> HttpResponse:
    found = event_list(cluster, request.GET)
    context = {"cluster": cluster, "page": found, "reasons": COMMON_REASONS, "types": TYPES}
    return page(request, "events", context)
