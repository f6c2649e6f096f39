"""Nodes: the list, one node, a new node."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.dashboard.forms.node import NodeForm
from apps.dashboard.forms.object_form import show_error
from apps.dashboard.queries.nodes import node_list, one_node
from apps.dashboard.queries.usage import resource_names
from apps.dashboard.recipes.actions import create_recipes
from apps.dashboard.rendering import (
    Request,
    actor,
    cluster_page,
    posted,
    render_page,
    render_recipes,
)
from apps.dashboard.selections import take_rejected


@require_GET
@cluster_page
def nodes(request: Request, cluster: Cluster) -> HttpResponse:
    resources = resource_names(cluster)
    requested = request.GET.get("resource", "")
    resource = requested if requested in resources else ""
    listed = node_list(cluster, request.GET.dict(), resource=resource, resources=resources)
    context = {
        "cluster": cluster,
        "nodes": listed,
        "sorting": listed.sorting,
        "resource": resource,
        "rejected": take_rejected(request),
    }
    return render_page(request, "nodes", context)


@require_GET
@cluster_page
def node(request: Request, cluster: Cluster, name: str) -> HttpResponse:
    context = {
        "cluster": cluster,
        "one": one_node(cluster, name),
        "rejected": take_rejected(request),
    }
    return render_page(request, "node", context)


@require_http_methods(["GET", "POST"])
@cluster_page
def new_node(request: Request, cluster: Cluster) -> HttpResponse:
    form = NodeForm(posted(request)[0])
    if request.method == "POST":
        valid = form.is_valid()
        if "commands" in request.POST:
            return render_recipes(
                request, form, lambda: create_recipes(cluster.name, kinds.NODE, [form.body()])
            )
        try:
            # with errors in some fields, the store still checks the others
            created = store.create(
                cluster, kinds.NODE, form.body(), actor=actor(request), dry_run=not valid
            )
        except ApiError as refusal:
            show_error(form, refusal)
        if form.is_valid():
            name = created["metadata"]["name"]
            messages.success(request, f"Node {name} created.")
            return redirect("node", cluster=cluster.name, name=name)
    context = {"cluster": cluster, "form": form}
    return render_page(request, "new_node", context, status=422 if form.errors else 200)
