"""Pods: the list, one of them, new ones."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from apps.cluster import kinds, store
from apps.cluster.errors import ApiError, NotFound
from apps.cluster.models import Cluster
from apps.dashboard.forms.pod import PodForm
from apps.dashboard.forms.refusals import show_refusal
from apps.dashboard.rendering import Request, actor, cluster_page, page
from apps.dashboard.selectors.pods import STATES, one_pod, pod_list


@require_GET
@cluster_page
def pods(request: Request, cluster: Cluster) -> HttpResponse:
    found = pod_list(cluster, request.GET.dict())
    return page(request, "pods", {"cluster": cluster, "pods": found, "states": list(STATES)})


@require_GET
@cluster_page
def pod(request: Request, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """A pod; of one that is gone, the way to its decisions."""
    try:
        one = one_pod(cluster, namespace, name)
    except NotFound:
        context = {"cluster": cluster, "namespace": namespace, "name": name}
        return page(request, "gone", context, status=404)
    return page(request, "pod", {"cluster": cluster, "one": one})


@require_http_methods(["GET", "POST"])
@cluster_page
def new_pod(request: Request, cluster: Cluster) -> HttpResponse:
    form = PodForm(request.POST or None, cluster=cluster)
    if request.method == "POST" and form.is_valid():
        bodies = form.bodies()
        try:
            objects = [(kinds.POD, body) for body in bodies]
            made = store.create_many(cluster, objects, actor=actor(request))
        except ApiError as refusal:
            show_refusal(form, refusal)
        else:
            return _to_what_was_made(request, cluster, [body["metadata"] for body in made])
    context = {"cluster": cluster, "form": form}
    return page(request, "new_pod", context, status=422 if form.errors else 200)


def _to_what_was_made(
    request: Request, cluster: Cluster, made: list[dict[str, str]]
) -> HttpResponse:
    if len(made) > 1:
        messages.success(request, f"{len(made)} pods are made.")
        return redirect("queue", cluster=cluster.name)
    namespace, name = made[0]["namespace"], made[0]["name"]
    messages.success(request, f"Pod {name} is made.")
    return redirect("pod", cluster=cluster.name, namespace=namespace, name=name)
