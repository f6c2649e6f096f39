"""Creating a cluster, in one of four ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from apps.administration.clusters import lifecycle, manifests
from apps.administration.operations import service
from apps.cluster.context import current_request_id
from apps.cluster.errors import ApiError
from apps.cluster.manifests.places import ManifestError, ManifestErrors
from apps.cluster.queries import cluster_named
from apps.controllers.generating import NodeSize
from apps.dashboard.forms.new_cluster import WAYS, ClusterForm, CopyForm, TraceForm, YamlForm
from apps.dashboard.forms.object_form import show_error
from apps.dashboard.forms.yaml_problems import show_in_yaml
from apps.dashboard.queries.clusters import cluster_names
from apps.dashboard.recipes.actions import cluster_recipe, import_recipe
from apps.dashboard.recipes.recipe import Recipe
from apps.dashboard.rendering import (
    Request,
    actor,
    posted,
    render_page,
    render_recipes,
    render_refusal,
)
from apps.dashboard.views.objects import MAX_TEXT_IN_REQUEST
from apps.dashboard.views.operations import find_failed
from apps.engine.models import Operation
from apps.engine.profiles import private_keys

#: A cluster with more nodes is created by an operation.
MAX_NODES_IN_REQUEST = 500


@require_http_methods(["GET", "POST"])
def new_cluster(request: Request) -> HttpResponse:
    """`?way=`, or `way` in the form, is one of WAYS; `?again=` is a failed operation."""
    try:
        failed = find_failed(request, None)
        way, form = _restore(failed) if failed else _read_form(request)
    except ApiError as refusal:
        return render_refusal(request, refusal)
    if "commands" in request.POST:
        return render_recipes(request, form, lambda: _recipes(way, form))
    if request.method == "POST" and form.is_valid():
        try:
            return _create(request, way, form)
        except ApiError as refusal:
            _show(form, refusal)
    context = {"form": form, "way": way, "ways": [(name, text) for name, (text, _) in WAYS.items()]}
    return render_page(request, "new_cluster", context, status=422 if form.errors else 200)


def _read_form(request: Request) -> tuple[str, ClusterForm]:
    requested = request.POST.get("way") or request.GET.get("way", "")
    way = requested if requested in WAYS else "generated"
    form = WAYS[way][1](*posted(request), initial=request.GET.dict())
    if isinstance(form, CopyForm):
        form.offer(cluster_names(request.user))
    return way, form


def _restore(failed: Operation) -> tuple[str, ClusterForm]:
    """The form from which an operation was started, with its values and its error."""
    upload, values = service.upload_of(failed), dict(failed.arguments["form"])
    if failed.kind == "create-from-yaml":
        form: ClusterForm = YamlForm({**values, "manifest": upload["yaml"]})
        if upload.get("files"):
            form.add_error("uploads", failed.cause)
        else:
            show_in_yaml(form, "manifest", ManifestError(failed.cause))
        return "yaml", form
    for part in ("nodes", "pods"):
        values |= {f"{part}_file_kept": upload[part][0], f"{part}_file_text": upload[part][1]}
    form = TraceForm(values)
    form.add_error(_file_of(failed.cause, upload), failed.cause)
    return "trace", form


def _recipes(way: str, form: ClusterForm) -> list[Recipe]:
    typed, name = form.cleaned_data, form.cleaned_data["name"]
    if way == "copy":
        body = {"name": name, "paused": typed["paused"]}
        path = f"/api/v1/clusters/{typed['source']}/copy"
        return [Recipe(f"Copy {typed['source']}", path, "POST", body=body)]
    recipe = cluster_recipe({**form.cluster(), "sizes": None})
    recipe.body.pop("sizes")
    return [recipe, import_recipe(name, typed["manifest"])] if way == "yaml" else [recipe]


def _file_of(cause: str, upload: Mapping[str, Sequence[str]]) -> str:
    """The field of the file that an error names."""
    named = [part for part in ("nodes", "pods") if cause.startswith(f"{upload[part][0]}, ")]
    return f"{named[0] if len(named) == 1 else 'pods'}_file"


def _create(request: Request, way: str, form: ClusterForm) -> HttpResponse:
    """Create the cluster, or start an operation if that takes long; raises ApiError."""
    typed = form.cleaned_data
    lifecycle.check_new(typed["name"], **form.values())
    texts = form.texts() if isinstance(form, YamlForm) else []
    short = way == "yaml" and sum(len(each.text) for each in texts) <= MAX_TEXT_IN_REQUEST
    if not short and (way != "generated" or typed["nodes"] > MAX_NODES_IN_REQUEST):
        operation = _start_operation(request, way, form)
        return redirect("operation", number=operation.pk)
    with transaction.atomic():
        cluster = lifecycle.create_cluster(
            **{**form.cluster(), "sizes": typed.get("sizes") or [NodeSize()]},
            user=request.user.get_username(),
            request_id=current_request_id(),
        )
        if way == "yaml":
            manifests.import_texts(cluster, texts, actor=actor(request))
    messages.success(request, f"Cluster {cluster.name} created.")
    return redirect("cluster", cluster=cluster.name)


def _show(form: ClusterForm, refusal: ApiError) -> None:
    if isinstance(refusal, ManifestError | ManifestErrors):
        show_in_yaml(form, "manifest", refusal, files="uploads")
    else:
        show_error(form, refusal)


def _start_operation(request: Request, way: str, form: ClusterForm) -> Operation:
    typed = form.cleaned_data
    kind, payload = "generate", None
    arguments: dict[str, Any]
    if way == "copy":
        source = cluster_named(typed["source"])
        private_keys.require_copying(request.user, source)
        kind = "copy"
        title = f"Copy cluster {source.name} as {typed['name']}"
        arguments = {"source": source.pk, "name": typed["name"], "paused": typed["paused"]}
        return service.start(kind, title, actor=actor(request), arguments=arguments)
    title = f"Create cluster {typed['name']}"
    if way == "yaml":
        kind, title = "create-from-yaml", f"{title} from YAML"
        payload = {"yaml": typed["manifest"], "files": typed["uploads"]}
    elif way == "trace":
        files = {"nodes": typed["nodes_file"], "pods": typed["pods_file"]}
        kind, payload, title = "create-from-trace", files, f"{title} from a trace"
    else:
        title = f"{title} of {typed['nodes']:,} nodes"
    arguments = {"cluster": form.cluster()}
    if way == "trace":
        arguments["gpu_devices"] = typed["gpu_devices"]
    if payload is not None:
        # for the form, if the operation fails
        large = ("csrfmiddlewaretoken", "manifest", "nodes_file_text", "pods_file_text")
        entered = request.POST.items()
        arguments["form"] = {name: value for name, value in entered if name not in large}
    return service.start(kind, title, actor=actor(request), arguments=arguments, payload=payload)
