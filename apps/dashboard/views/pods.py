"""Pods: the list, one pod, new pods, deleting several pods."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.cluster import kinds
from apps.cluster.errors import ApiError, NotFound
from apps.cluster.models import Cluster
from apps.cluster.writes import Delete
from apps.cluster.writing import store
from apps.dashboard.forms.pod import PodForm
from apps.dashboard.forms.refusals import show_refusal
from apps.dashboard.queries.consequences import pods_to_delete
from apps.dashboard.queries.pod import namesakes, one_pod, pod_story
from apps.dashboard.queries.pods import pod_list
from apps.dashboard.rendering import Request, actor, cluster_page, recorded_page, render_page


@require_GET
@cluster_page
def pods(request: Request, cluster: Cluster) -> HttpResponse:
    found = pod_list(cluster, request.GET.dict())
    context = {"cluster": cluster, "pods": found, "sorting": found.sorting}
    return render_page(request, "pods", context)


@require_GET
@recorded_page
def pod(request: Request, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """A pod; if there is none, links to the timelines of deleted pods with its name."""
    try:
        one = one_pod(cluster, namespace, name)
    except NotFound:
        known = namesakes(cluster, namespace, name)
        if cluster.deleted_at is not None and len(known) == 1:
            return redirect("pod-story", cluster=cluster.name, uid=known[0].uid)
        context = {"cluster": cluster, "namespace": namespace, "name": name, "namesakes": known}
        return render_page(request, "deleted_pod", context, status=404)
    return render_page(request, "pod", {"cluster": cluster, "one": one})


@require_GET
@recorded_page
def story(request: Request, cluster: Cluster, uid: UUID) -> HttpResponse:
    """A pod by its uid, also if it is deleted."""
    return render_page(request, "pod", {"cluster": cluster, "one": pod_story(cluster, uid)})


@require_POST
@cluster_page
def delete_pods(request: Request, cluster: Cluster) -> HttpResponse:
    """Show the consequences of deleting the selected pods; delete them after confirmation."""
    found = pods_to_delete(cluster, request.POST.getlist("pod"))
    if not found.pods:
        messages.warning(request, "No pods selected, or they are already deleted.")
        return redirect("pods", cluster=cluster.name)
    if "sure" not in request.POST:
        return render_page(request, "delete_pods", {"cluster": cluster, "chosen": found})
    deletions = [Delete(kinds.POD, each.namespace, each.name) for each in found.pods]
    outcomes = store.write(cluster, deletions, actor=actor(request), collect_refusals=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, ApiError)]
    messages.success(request, f"{len(outcomes) - len(refused)} pods deleted.")
    for refusal in refused[:5]:
        messages.error(request, refusal.message)
    return redirect("pods", cluster=cluster.name)


@require_http_methods(["GET", "POST"])
@cluster_page
def new_pod(request: Request, cluster: Cluster) -> HttpResponse:
    form = PodForm(request.POST or None, cluster=cluster)
    if request.method == "POST" and form.is_valid():
        bodies = form.bodies()
        try:
            objects = [(kinds.POD, body) for body in bodies]
            created = store.create_many(cluster, objects, actor=actor(request))
        except ApiError as refusal:
            show_refusal(form, refusal)
        else:
            return _redirect_to_created(request, cluster, [body["metadata"] for body in created])
    context = {"cluster": cluster, "form": form}
    return render_page(request, "new_pod", context, status=422 if form.errors else 200)


def _redirect_to_created(
    request: Request, cluster: Cluster, created: list[dict[str, str]]
) -> HttpResponse:
    if len(created) > 1:
        messages.success(request, f"{len(created)} pods created.")
        return redirect("queue", cluster=cluster.name)
    namespace, name = created[0]["namespace"], created[0]["name"]
    messages.success(request, f"Pod {name} created.")
    return redirect("pod", cluster=cluster.name, namespace=namespace, name=name)
