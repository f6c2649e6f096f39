"""The overview of a cluster, its clock, and the switches of its controllers and kubelets."""

from __future__ import annotations

import math

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from apps.administration.clusters import settings as cluster_settings
from apps.administration.clusters.forking import origin_of
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.cluster.settings import SETTINGS
from apps.dashboard.queries.overview import cluster_overview, heat_map
from apps.dashboard.queries.usage import ZONE_LABEL
from apps.dashboard.rendering import Request, cluster_page, render_page
from apps.dashboard.selections import take_rejected
from apps.engine.loop import clock as clocks

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@require_GET
@cluster_page
def cluster(request: Request, cluster: Cluster) -> HttpResponse:
    query = request.GET
    overview = cluster_overview(
        cluster, resource=query.get("resource", "cpu"), label=query.get("by", ZONE_LABEL)
    )
    moves = not cluster.paused and bool(cluster.clock_speed or cluster.clock_until)
    context = {
        "cluster": cluster,
        "overview": overview,
        "origin": origin_of(cluster),
        "clock_moves": moves,
        "rejected": take_rejected(request),
    }
    return render_page(request, "cluster", context)


@require_GET
@cluster_page
def heat(request: Request, cluster: Cluster) -> HttpResponse:
    """The nodes of the heat map, as compact JSON."""
    query = request.GET
    figures = heat_map(
        cluster, resource=query.get("resource", "cpu"), label=query.get("by", ZONE_LABEL)
    )
    return JsonResponse(figures, json_dumps_params={"separators": (",", ":")})


@require_POST
@cluster_page
def clock(request: Request, cluster: Cluster) -> HttpResponse:
    """Stop the cluster's clock, advance it, or let it follow the system clock."""
    match request.POST.get("action", ""):
        case "manual":
            clocks.set_manual(cluster)
            messages.success(request, "Clock stopped. Advance it to move time forward.")
        case "real":
            clocks.set_real(cluster)
            messages.success(request, "The clock follows the system clock again.")
        case "advance":
            seconds = _parse_seconds(request.POST.get("by", ""))
            clocks.advance(cluster, seconds)
            messages.success(request, f"Clock advanced by {seconds:,g} s.")
        case "speed":
            speed = _parse_speed(request.POST.get("by", ""))
            clocks.set_speed(cluster, speed)
            messages.success(request, f"The clock runs {speed:g} times as fast.")
        case "fast-forward":
            seconds = _parse_seconds(request.POST.get("by", ""))
            clocks.fast_forward(cluster, seconds)
            messages.success(request, f"The clock jumps from event to event for {seconds:,g} s.")
        case other:
            raise BadRequest(f"unknown clock action {other!r}")
    return redirect("cluster", cluster=cluster.name)


@require_POST
@cluster_page
def switch(request: Request, cluster: Cluster) -> HttpResponse:
    """Switch the controllers, or the mock kubelets, on or off."""
    name, on = request.POST.get("actor", ""), request.POST.get("on") == "true"
    if name not in [each.name for each in SETTINGS if each.group == "actors"]:
        raise BadRequest(f"unknown component {name!r}")
    cluster_settings.change_settings(cluster, {name: on})
    component = "Controllers" if name == "controllers" else "Kubelets"
    messages.success(request, f"{component} switched {'on' if on else 'off'}.")
    return redirect("cluster", cluster=cluster.name)


def _parse_speed(text: str) -> float:
    """A number; BadRequest for anything else."""
    try:
        return float(text)
    except ValueError:
        raise BadRequest(f"by: {text!r} is not a number such as 60") from None


def _parse_seconds(text: str) -> float:
    """`90`, `90s`, `5m`, `1.5h`, `2d` in seconds; BadRequest for anything else."""
    text = text.strip()
    unit = _UNITS.get(text[-1:], 0.0)
    try:
        seconds = float(text[:-1]) * unit if unit else float(text)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise BadRequest(f"{text!r} is not a duration such as 90, 90s, 5m, 1.5h or 2d")
    return seconds
