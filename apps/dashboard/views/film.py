"""A span of a cluster's life, played back."""

from __future__ import annotations

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_GET

from apps.cluster.models import Cluster
from apps.dashboard.queries.film import film_figures, film_page
from apps.dashboard.rendering import Request, cluster_page, render_page


@require_GET
@cluster_page
def film(request: Request, cluster: Cluster) -> HttpResponse:
    """The page of a film; its script loads the frames."""
    page = film_page(cluster, request.GET)
    return render_page(request, "film", {"cluster": cluster, "page": page})


@require_GET
@cluster_page
def frames(request: Request, cluster: Cluster) -> HttpResponse:
    """The frames of a film, as compact JSON."""
    figures = film_figures(cluster, request.GET)
    return JsonResponse(figures, json_dumps_params={"separators": (",", ":")})
