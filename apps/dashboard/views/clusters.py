"""The list of clusters; pausing, resuming and deleting a cluster."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.administration.clusters import lifecycle
from apps.administration.clusters.comparison import compare_clusters
from apps.administration.clusters.summaries import cluster_cards, pod_states
from apps.cluster import limits
from apps.cluster.access.gate import require_role
from apps.cluster.access.grants import roles_in
from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.cluster.roles import Role
from apps.dashboard.notices import add_undo_notice, get_next_address
from apps.dashboard.queries.clusters import cluster_names, find_clusters
from apps.dashboard.queries.operations import unfinished_operations
from apps.dashboard.rendering import Request, cluster_page, render_page, render_refusal
from apps.dashboard.streams import site_stamp


@require_GET
def cluster_list(request: Request) -> HttpResponse:
    stamp = site_stamp(request.user)
    listed = find_clusters(request.GET.dict(), request.user)
    roles = roles_in(request.user, [card.cluster.pk for card in listed.cards])
    context = {
        "page": listed.page,
        "cards": [(card, roles.get(card.cluster.pk)) for card in listed.cards],
        "creating": unfinished_operations(request.user),
        "filters": listed.filters,
        "stamp": stamp,
    }
    return render_page(request, "clusters", context)


@require_GET
def compare(request: Request) -> HttpResponse:
    """Clusters side by side, `?cluster=` for each; all rows, or with `?show=` those that differ."""
    names = list(dict.fromkeys(filter(None, request.GET.getlist("cluster"))))
    try:
        for name in names[: limits.COMPARED_CLUSTERS.highest]:
            require_role(request.user, name, name, Role.VIEWER)
        comparison = compare_clusters(names)
    except ApiError as refusal:
        return render_refusal(request, refusal)
    context = {
        "comparison": comparison,
        "only_differences": request.GET.get("show") == "differences",
        "names": names,
        "others": [each for each in cluster_names(request.user) if each not in names],
        "full": len(comparison.clusters) >= limits.COMPARED_CLUSTERS.highest,
        "stamp": site_stamp(request.user),
    }
    return render_page(request, "compare_clusters", context)


@require_POST
@cluster_page
def pause(request: Request, cluster: Cluster) -> HttpResponse:
    back = get_next_address(request, reverse("cluster", args=[cluster.name]))
    if cluster.paused:
        messages.info(request, f"Cluster {cluster.name} was already paused.")
        return redirect(back)
    lifecycle.pause(cluster)
    undo = reverse("resume", args=[cluster.name])
    text = f"Cluster {cluster.name} paused. Pods stay pending until you resume it."
    add_undo_notice(request, text, undo, {"next": back})
    return redirect(back)


@require_POST
@cluster_page
def resume(request: Request, cluster: Cluster) -> HttpResponse:
    lifecycle.resume(cluster)
    return redirect(get_next_address(request, reverse("cluster", args=[cluster.name])))


@require_http_methods(["GET", "POST"])
@cluster_page
def delete_cluster(request: Request, cluster: Cluster) -> HttpResponse:
    """Show what will be deleted; delete the cluster if its name was entered."""
    error = ""
    if request.method == "POST":
        if request.POST.get("name", "").strip() == cluster.name:
            user, with_history = request.user.get_username(), "history" in request.POST
            lifecycle.delete_cluster(cluster, with_history=with_history, user=user)
            messages.success(request, f"Cluster {cluster.name} deleted.")
            return redirect("clusters")
        error = f"Type {cluster.name} to delete it."
    card = cluster_cards([cluster])[0]
    context = {"cluster": cluster, "card": card, "pods": pod_states(cluster), "error": error}
    return render_page(request, "delete_cluster", context, status=422 if error else 200)
