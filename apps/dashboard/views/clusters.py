"""All clusters: the list, a new one, pausing, deleting."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.cluster.context import current_request_id
from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.controlplane import clusters
from apps.dashboard.forms.cluster import ClusterForm
from apps.dashboard.forms.refusals import show_refusal
from apps.dashboard.paging import numbered_page
from apps.dashboard.rendering import Request, cluster_page, page
from apps.dashboard.selectors.clusters import cluster_cards
from apps.dashboard.selectors.overview import pod_states


@require_GET
def cluster_list(request: Request) -> HttpResponse:
    found = Cluster.objects.order_by("name")
    if text := request.GET.get("q", "").strip():
        found = found.filter(name__contains=text)
    numbered = numbered_page(found, request.GET, size=24)
    cards = cluster_cards(list(numbered.rows))
    return page(request, "clusters", {"page": numbered, "cards": cards})


@require_http_methods(["GET", "POST"])
def new_cluster(request: Request) -> HttpResponse:
    form = ClusterForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            cluster = clusters.create_cluster(
                **form.cleaned_data,
                user=request.user.get_username(),
                request_id=current_request_id(),
            )
        except ApiError as refusal:
            show_refusal(form, refusal)
        else:
            messages.success(request, f"Cluster {cluster.name} is made.")
            return redirect("cluster", cluster=cluster.name)
    return page(request, "new_cluster", {"form": form}, status=422 if form.errors else 200)


@require_POST
@cluster_page
def pause(request: Request, cluster: Cluster) -> HttpResponse:
    clusters.pause(cluster)
    return _back(request, cluster)


@require_POST
@cluster_page
def resume(request: Request, cluster: Cluster) -> HttpResponse:
    clusters.resume(cluster)
    return _back(request, cluster)


@require_http_methods(["GET", "POST"])
@cluster_page
def delete_cluster(request: Request, cluster: Cluster) -> HttpResponse:
    """Say what will be lost; delete when the cluster's name was typed."""
    error = ""
    if request.method == "POST":
        if request.POST.get("name", "").strip() == cluster.name:
            clusters.delete_cluster(cluster)
            messages.success(request, f"Cluster {cluster.name} is deleted.")
            return redirect("clusters")
        error = f"Type {cluster.name} to delete it."
    card = cluster_cards([cluster])[0]
    context = {"cluster": cluster, "card": card, "pods": pod_states(cluster), "error": error}
    return page(request, "delete_cluster", context, status=422 if error else 200)


def _back(request: Request, cluster: Cluster) -> HttpResponse:
    """To the page the button was on, if it is one of ours."""
    target = request.POST.get("next", "")
    inside = target.startswith("/") and not target.startswith(("//", "/\\"))
    return redirect(target if inside else reverse("cluster", args=[cluster.name]))
