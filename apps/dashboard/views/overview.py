"""One cluster at a glance; its clock, and who acts in it."""

from __future__ import annotations

import math

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.cluster.settings import SETTINGS
from apps.controlplane.clusters import settings as cluster_settings
from apps.controlplane.loop import clock as clocks
from apps.dashboard.queries.overview import cluster_overview, heat_map
from apps.dashboard.queries.usage import ZONE_LABEL
from apps.dashboard.rendering import Request, cluster_page, page

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@require_GET
@cluster_page
def cluster(request: Request, cluster: Cluster) -> HttpResponse:
    asked = request.GET
    overview = cluster_overview(
        cluster, resource=asked.get("resource", "cpu"), label=asked.get("by", ZONE_LABEL)
    )
    return page(request, "cluster", {"cluster": cluster, "overview": overview})


@require_GET
@cluster_page
def heat(request: Request, cluster: Cluster) -> HttpResponse:
    """The nodes for the heat map, as one compact document."""
    asked = request.GET
    found = heat_map(
        cluster, resource=asked.get("resource", "cpu"), label=asked.get("by", ZONE_LABEL)
    )
    return JsonResponse(found, json_dumps_params={"separators": (",", ":")})


@require_POST
@cluster_page
def clock(request: Request, cluster: Cluster) -> HttpResponse:
    """Let the cluster's clock stand still, set it forward, or let it go."""
    match request.POST.get("action", ""):
        case "manual":
            clocks.set_manual(cluster)
            messages.success(request, "The clock stands still until you set it forward.")
        case "real":
            clocks.set_real(cluster)
            messages.success(request, "The clock goes again, with the system's own.")
        case "advance":
            seconds = _seconds(request.POST.get("by", ""))
            clocks.advance(cluster, seconds)
            messages.success(request, f"The clock was set forward by {seconds:,g} s.")
        case other:
            raise BadRequest(f"a clock cannot do {other!r}")
    return redirect("cluster", cluster=cluster.name)


@require_POST
@cluster_page
def switch(request: Request, cluster: Cluster) -> HttpResponse:
    """Switch the controllers, or the mock kubelets, on or off."""
    name, on = request.POST.get("actor", ""), request.POST.get("on") == "true"
    if name not in [each.name for each in SETTINGS if each.group == "actors"]:
        raise BadRequest(f"nobody is called {name!r} here")
    cluster_settings.change_settings(cluster, {name: on})
    who = "The controllers are" if name == "controllers" else "The kubelets are"
    messages.success(request, f"{who} switched {'on' if on else 'off'}.")
    return redirect("cluster", cluster=cluster.name)


def _seconds(text: str) -> float:
    """`90`, `90s`, `5m`, `1.5h`, `2d` in seconds; BadRequest for anything else."""
    text = text.strip()
    unit = _UNITS.get(text[-1:], 0.0)
    try:
        seconds = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise BadRequest(f"{text!r} is no length of time: 90, 90s, 5m, 1.5h, 2d")
    return seconds
