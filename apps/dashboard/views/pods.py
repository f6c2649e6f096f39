"""Pods: the list, one pod, new pods, actions on several pods."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.administration.clusters import bulk
from apps.administration.clusters.bulk import BulkAction
from apps.administration.clusters.forking import origin_of_pod
from apps.cluster import kinds
from apps.cluster.errors import ApiError, BadRequest, Invalid, NotFound
from apps.cluster.models import Cluster
from apps.cluster.writes import Create
from apps.cluster.writing import store
from apps.dashboard.forms.object_form import show_error
from apps.dashboard.forms.pod import PodForm
from apps.dashboard.notices import get_next_address
from apps.dashboard.queries.consequences import pods_to_delete
from apps.dashboard.queries.pod import OnePod, namesakes, one_pod, other_namespaces, pod_story
from apps.dashboard.queries.pods import matching_pods, pod_list
from apps.dashboard.recipes.actions import bulk_recipes, create_recipes
from apps.dashboard.rendering import (
    Request,
    actor,
    cluster_page,
    posted,
    recorded_page,
    render_page,
    render_recipes,
)
from apps.dashboard.selections import read_selection, reject_action, take_rejected
from apps.dashboard.views.bulk import MAX_IN_REQUEST, check_action, start_bulk
from apps.studies.history.causes import read_chain


@require_GET
@cluster_page
def pods(request: Request, cluster: Cluster) -> HttpResponse:
    listed = pod_list(cluster, request.GET.dict())
    context = {
        "cluster": cluster,
        "pods": listed,
        "sorting": listed.sorting,
        "rejected": take_rejected(request),
    }
    return render_page(request, "pods", context)


@require_GET
@recorded_page
def pod(request: Request, cluster: Cluster, namespace: str, name: str) -> HttpResponse:
    """A pod; if there is none, the timeline of a deleted one with its name, or links to several."""
    try:
        one = one_pod(cluster, namespace, name)
    except NotFound:
        known = namesakes(cluster, namespace, name)
        if len(known) == 1:
            return redirect("pod-story", cluster=cluster.name, uid=known[0].uid)
        context = {
            "cluster": cluster,
            "namespace": namespace,
            "name": name,
            "namesakes": known,
            "elsewhere": other_namespaces(cluster, namespace, name),
        }
        return render_page(request, "deleted_pod", context, status=404)
    return render_page(request, "pod", _context(cluster, one))


@require_GET
@recorded_page
def story(request: Request, cluster: Cluster, uid: UUID) -> HttpResponse:
    """A pod by its uid, also if it is deleted."""
    return render_page(request, "pod", _context(cluster, pod_story(cluster, uid)))


@require_GET
@recorded_page
def chain(request: Request, cluster: Cluster, uid: UUID) -> HttpResponse:
    """What led to a pod and to its end, and what followed."""
    steps = read_chain(cluster, uid)
    others = any(step.pod is None or step.pod.uid != uid for step in steps)
    context = {"cluster": cluster, "uid": uid, "steps": steps, "has_others": others}
    return render_page(request, "chain", context)


def _context(cluster: Cluster, one: OnePod) -> dict[str, Any]:
    return {"cluster": cluster, "one": one, "origin": origin_of_pod(cluster, one.uid)}


@require_POST
@cluster_page
def change_pods(request: Request, cluster: Cluster) -> HttpResponse:
    """Apply `action` to each `pod`, or with `matching` to all pods that `filter` matches.

    Deleting and evicting ask for confirmation. Many pods are an operation.
    """
    back = get_next_address(request, reverse("pods", args=[cluster.name]))
    selection = read_selection(request, "pod", lambda query: matching_pods(cluster, query))
    name = request.POST.get("action", "")
    removing = name in ("delete", "evict")
    leaving = pods_to_delete(cluster, selection.names) if removing else None
    if not selection.names or (leaving is not None and not leaving.pods):
        messages.warning(request, "No pods selected, or they are already deleted.")
        return redirect(back)
    if "commands" in request.POST:
        text = request.POST.get("text", "").strip()
        recipes = bulk_recipes(cluster.name, "pods", selection.names, text)
        return render_page(request, "commands", {"recipes": recipes})
    try:
        action = BulkAction("pods", name, request.POST.get("text", "").strip())
        if leaving is not None and "sure" not in request.POST:
            context = {"cluster": cluster, "chosen": leaving, "selection": selection}
            return render_page(request, "delete_pods", {**context, "action": name})
        check_action(request, cluster, action, selection.names)
    except (BadRequest, Invalid) as error:
        return reject_action(request, back, "pod", error)
    if len(selection.names) > MAX_IN_REQUEST:
        return start_bulk(request, cluster, action, selection.names)
    result = bulk.apply(cluster, action, selection.names, actor=actor(request))
    messages.success(request, f"{bulk.count(result.done, 'pods')} {action.done_word}.")
    for refusal in dict.fromkeys(result.refusals[:5]):
        messages.error(request, refusal)
    return redirect(back)


@require_http_methods(["GET", "POST"])
@cluster_page
def new_pod(request: Request, cluster: Cluster) -> HttpResponse:
    form = PodForm(posted(request)[0], cluster=cluster)
    if request.method == "POST":
        valid = form.is_valid()
        if "commands" in request.POST:
            return render_recipes(
                request, form, lambda: create_recipes(cluster.name, kinds.POD, form.bodies())
            )
        writes = [Create(kinds.POD, body) for body in form.bodies()]
        try:
            # with errors in some fields, the store still checks the others
            created = store.write(cluster, writes, actor=actor(request), dry_run=not valid)
        except ApiError as refusal:
            show_error(form, refusal)
        if form.is_valid():
            bodies = [body for body in created if not isinstance(body, ApiError)]
            return _redirect_to_created(request, cluster, [body["metadata"] for body in bodies])
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
