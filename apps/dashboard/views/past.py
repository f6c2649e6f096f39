"""The past: the queue at a moment, the state around a decision, deleted clusters."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.dashboard.queries.past import deleted_clusters, past_queue_page, state_page
from apps.dashboard.queries.time_travel import time_travel_page
from apps.dashboard.rendering import (
    Request,
    cluster_page,
    recorded_page,
    render_page,
    render_refusal,
)
from apps.dashboard.streams import site_stamp
from apps.dashboard.tables import Field, describe_problem
from apps.engine.queue.past import PastMoment
from apps.studies.history import past_clusters
from apps.studies.past.past_version import BeforeBeginning, Forgotten, read_life

#: The fields of `templates/dashboard/past.html` that select moments.
_FIELDS = (Field("version", "Version"), Field("with", "Compare with"), Field("state", "State"))


def past_queue(request: Request, cluster: Cluster, moment: PastMoment) -> HttpResponse:
    """The queue at a moment, read-only."""
    listed = past_queue_page(cluster, moment, request.GET)
    context = {"cluster": cluster, "past": listed, "moment": moment}
    return render_page(request, "past_queue", context)


@require_GET
@cluster_page
def past(request: Request, cluster: Cluster) -> HttpResponse:
    """The cluster at any moment of its life, read-only; the region while the slider moves."""
    try:
        shown = time_travel_page(cluster, request.GET)
    except ApiError as refusal:
        context = {"cluster": cluster, "life": read_life(cluster)}
        context["problem"] = describe_problem(refusal, _FIELDS)
        if isinstance(refusal, BeforeBeginning | Forgotten):
            context["earliest"] = refusal.earliest
        return render_page(request, "past", context, status=refusal.code)
    return render_page(request, "past", {"cluster": cluster, "past": shown, "life": shown.life})


@require_GET
@recorded_page
def decision_state(request: Request, cluster: Cluster, number: int) -> HttpResponse:
    """Nodes and pods as the decision saw them."""
    shown = state_page(cluster, number, request.GET)
    return render_page(request, "decision_state", {"cluster": cluster, "around": shown})


@require_GET
def deleted_list(request: Request) -> HttpResponse:
    """Deleted clusters whose history is retained."""
    stamp = site_stamp(request.user)
    context = {"page": deleted_clusters(request.GET, request.user), "stamp": stamp}
    return render_page(request, "deleted_clusters", context)


@require_http_methods(["GET", "POST"])
def forget_cluster(request: Request, number: int) -> HttpResponse:
    """Ask before the history of a deleted cluster is deleted; POST deletes it."""
    stamp = site_stamp(request.user)
    try:
        past = past_clusters.get_past_cluster(number)
    except ApiError as refusal:
        return render_refusal(request, refusal)
    if request.method == "POST":
        past_clusters.delete_past_cluster(past)
        messages.success(request, f"The history of cluster {past.name} was deleted.")
        return redirect("deleted-clusters")
    return render_page(request, "forget_cluster", {"past": past, "stamp": stamp})
