"""Creating a cluster, in one of four ways."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from apps.cluster.context import current_request_id
from apps.cluster.errors import ApiError
from apps.cluster.queries import cluster_named
from apps.controlplane.clusters import lifecycle
from apps.controlplane.models import Operation
from apps.controlplane.operations import service
from apps.dashboard.forms.new_cluster import WAYS, ClusterForm
from apps.dashboard.forms.refusals import show_refusal
from apps.dashboard.rendering import Request, actor, render_page

#: A cluster with more nodes is created by an operation.
MAX_NODES_IN_REQUEST = 500


@require_http_methods(["GET", "POST"])
def new_cluster(request: Request) -> HttpResponse:
    """`?way=`, or `way` in the form, is one of WAYS."""
    requested = request.POST.get("way") or request.GET.get("way", "")
    way = requested if requested in WAYS else "generated"
    form = WAYS[way][1](request.POST or None, request.FILES or None, initial=request.GET.dict())
    if request.method == "POST" and form.is_valid():
        try:
            return _create(request, way, form)
        except ApiError as refusal:
            show_refusal(form, refusal)
    context = {"form": form, "way": way, "ways": [(name, text) for name, (text, _) in WAYS.items()]}
    return render_page(request, "new_cluster", context, status=422 if form.errors else 200)


def _create(request: Request, way: str, form: ClusterForm) -> HttpResponse:
    """Create the cluster, or start an operation if that takes long; raises ApiError."""
    typed = form.cleaned_data
    if way == "generated" and typed["nodes"] <= MAX_NODES_IN_REQUEST:
        cluster = lifecycle.create_cluster(
            **{**form.cluster(), "sizes": typed["sizes"]},
            user=request.user.get_username(),
            request_id=current_request_id(),
        )
        messages.success(request, f"Cluster {cluster.name} created.")
        return redirect("cluster", cluster=cluster.name)
    lifecycle.check_new(typed["name"], **form.values())
    operation = _start_operation(request, way, form)
    return redirect("operation", number=operation.pk)


def _start_operation(request: Request, way: str, form: ClusterForm) -> Operation:
    typed = form.cleaned_data
    kind, payload = "generate", None
    arguments: dict[str, Any]
    if way == "copy":
        source = cluster_named(typed["source"])
        kind = "copy"
        title = f"Copy cluster {source.name} as {typed['name']}"
        arguments = {"source": source.pk, "name": typed["name"], "paused": typed["paused"]}
        return service.start(kind, title, actor=actor(request), arguments=arguments)
    title = f"Create cluster {typed['name']}"
    if way == "yaml":
        kind, payload, title = "create-from-yaml", {"yaml": typed["manifest"]}, f"{title} from YAML"
    elif way == "trace":
        files = {"nodes": typed["nodes_file"], "pods": typed["pods_file"]}
        kind, payload, title = "create-from-trace", files, f"{title} from a trace"
    else:
        title = f"{title} of {typed['nodes']:,} nodes"
    arguments = {"cluster": form.cluster()}
    return service.start(kind, title, actor=actor(request), arguments=arguments, payload=payload)
