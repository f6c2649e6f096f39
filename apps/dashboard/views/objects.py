"""Objects of any kind: how many, which, one of them; making, editing and deleting them as YAML."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from apps.cluster import kinds
from apps.cluster.errors import ApiError, BadRequest
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.controlplane.clusters import manifests
from apps.controlplane.history.story import find_last_body
from apps.controlplane.operations import service
from apps.dashboard.forms.manifest import EditForm, ManifestForm, alike, example_of
from apps.dashboard.forms.yaml_problems import show_in_yaml
from apps.dashboard.links import object_url
from apps.dashboard.queries.consequences import consequences
from apps.dashboard.queries.objects import kind_counts, kind_of, object_list, object_of, one_object
from apps.dashboard.rendering import Request, actor, cluster_page, page

#: Characters; what is longer is imported by a worker.
MOST_AT_ONCE = 200_000


@require_GET
@cluster_page
def kind_list(request: Request, cluster: Cluster) -> HttpResponse:
    return page(request, "kinds", {"cluster": cluster, "kinds": kind_counts(cluster)})


@require_GET
@cluster_page
def objects(request: Request, cluster: Cluster, resource: str) -> HttpResponse:
    kind = kind_of(resource)
    found = object_list(cluster, kind, request.GET.dict())
    context = {"cluster": cluster, "kind": kind, "objects": found, "sorting": found.sorting}
    return page(request, "objects", context)


@require_GET
@cluster_page
def an_object(
    request: Request, cluster: Cluster, resource: str, name: str, namespace: str = ""
) -> HttpResponse:
    one = one_object(cluster, kind_of(resource), namespace, name)
    return page(request, "object", {"cluster": cluster, "one": one})


@require_http_methods(["GET", "POST"])
@cluster_page
def edit(
    request: Request, cluster: Cluster, resource: str, name: str, namespace: str = ""
) -> HttpResponse:
    """The object as YAML; refused when somebody else changed it meanwhile."""
    kind = kind_of(resource)
    found = object_of(cluster, kind, namespace, name)
    form = EditForm(request.POST or None, body=found.body)
    if request.method == "POST" and form.is_valid():
        try:
            body = form.cleaned_data["manifest"]
            store.update(cluster, kind, namespace, name, body, actor=actor(request))
        except ApiError as refusal:
            show_in_yaml(form, "manifest", refusal)
        else:
            messages.success(request, f"{kind.name} {name} updated.")
            return redirect(object_url(cluster, kind, namespace, name))
    context = {"cluster": cluster, "kind": kind, "object": found, "form": form}
    return page(request, "edit_object", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@cluster_page
def delete(
    request: Request, cluster: Cluster, resource: str, name: str, namespace: str = ""
) -> HttpResponse:
    """Say what deleting the object brings about; do it on POST."""
    kind = kind_of(resource)
    if request.method == "POST":
        store.delete(cluster, kind, namespace, name, actor=actor(request))
        messages.success(request, f"{kind.name} {name} deleted.")
        return redirect(_list_url(cluster, kind))
    found = object_of(cluster, kind, namespace, name)
    said = consequences(cluster, kind, found)
    context = {"cluster": cluster, "kind": kind, "object": found, "consequences": said}
    return page(request, "delete_object", context)


@require_http_methods(["GET", "POST"])
@cluster_page
def new_object(request: Request, cluster: Cluster, resource: str) -> HttpResponse:
    """A new object of a kind, from an example or from another one (`?like=` its uid)."""
    kind = kind_of(resource)
    start = _start(cluster, kind, request.GET.get("like", ""))
    form = ManifestForm(request.POST or None, example=start)
    if request.method == "POST" and form.is_valid():
        try:
            text = form.cleaned_data["manifest"]
            made = manifests.import_yaml(cluster, text, actor=actor(request))
        except ApiError as refusal:
            show_in_yaml(form, "manifest", refusal)
        else:
            return _to_what_was_made(request, cluster, made)
    context = {"cluster": cluster, "kind": kind, "form": form}
    return page(request, "new_object", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@cluster_page
def import_yaml(request: Request, cluster: Cluster) -> HttpResponse:
    """Create every object of a YAML text, or none."""
    form = ManifestForm(request.POST or None, example=example_of(request.GET.get("example", "")))
    if request.method == "POST" and form.is_valid():
        text = form.cleaned_data["manifest"]
        if len(text) > MOST_AT_ONCE:
            title, payload = f"Import {len(text):,} characters of YAML", {"yaml": text}
            operation = service.start(
                "import", title, actor=actor(request), cluster=cluster, payload=payload
            )
            return redirect("operation", number=operation.pk)
        try:
            made = manifests.import_yaml(cluster, text, actor=actor(request))
        except ApiError as refusal:
            show_in_yaml(form, "manifest", refusal)
        else:
            return _to_what_was_made(request, cluster, made)
    context = {"cluster": cluster, "form": form}
    return page(request, "import", context, status=422 if form.errors else 200)


def _start(cluster: Cluster, kind: Kind, like: str) -> str:
    """The YAML a new object starts from: another one's, also of one that is gone, or an example."""
    try:
        body = find_last_body(cluster, UUID(like)) if like else None
    except ValueError:
        raise BadRequest(f"like: {like!r} is not a UID") from None
    return alike(body) if body is not None else example_of(kind.name.lower())


def _to_what_was_made(
    request: Request, cluster: Cluster, made: list[manifests.Body]
) -> HttpResponse:
    """To the one object, or to the list of kinds."""
    if len(made) != 1:
        messages.success(request, f"{len(made)} objects created.")
        return redirect("kinds", cluster=cluster.name)
    metadata = made[0]["metadata"]
    kind = kinds.by_name(made[0]["kind"])
    messages.success(request, f"{kind.name} {metadata['name']} created.")
    return redirect(object_url(cluster, kind, metadata.get("namespace", ""), metadata["name"]))


def _list_url(cluster: Cluster, kind: Kind) -> str:
    return object_url(cluster, kind)
