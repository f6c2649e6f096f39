"""Objects of any kind: counts, lists, one object; creating, editing and deleting as YAML."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from apps.administration.clusters import editing, manifests
from apps.administration.clusters.evictions import Evictions, plan_evictions
from apps.administration.clusters.merging import merge_edit
from apps.administration.operations import service
from apps.cluster import kinds
from apps.cluster.access import confidential
from apps.cluster.access.default_policy import GROUPS
from apps.cluster.errors import ApiError, BadRequest, Conflict
from apps.cluster.kinds import Kind
from apps.cluster.manifests.places import ManifestError
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.cluster.writing.default_policy import create_default_policy
from apps.dashboard.forms.manifest import (
    EditForm,
    ImportForm,
    ManifestForm,
    copy_as_example,
    dump_yaml,
    load_example,
)
from apps.dashboard.forms.yaml_problems import show_in_yaml
from apps.dashboard.links import object_url
from apps.dashboard.queries.kind_pages import consequences_of
from apps.dashboard.queries.objects import (
    kind_counts,
    kind_of,
    kind_of_object,
    object_list,
    object_of,
    one_object,
)
from apps.dashboard.recipes.actions import import_recipe, update_recipe
from apps.dashboard.rendering import (
    Request,
    actor,
    cluster_page,
    posted,
    render_page,
    render_recipes,
)
from apps.dashboard.views.operations import find_failed
from apps.studies.history.story import find_last_body

#: Characters; a longer text is imported by an operation.
MAX_TEXT_IN_REQUEST = 200_000


@require_GET
@cluster_page
def kind_list(request: Request, cluster: Cluster) -> HttpResponse:
    return render_page(request, "kinds", {"cluster": cluster, "kinds": kind_counts(cluster)})


@require_GET
@cluster_page
def objects(request: Request, cluster: Cluster, resource: str) -> HttpResponse:
    kind = kind_of(cluster, resource)
    confidential.require_reading(request.user, cluster, kind.key)
    if kind.group in GROUPS:
        create_default_policy(cluster)
    listed = object_list(cluster, kind, request.GET.dict())
    context = {"cluster": cluster, "kind": kind, "objects": listed, "sorting": listed.sorting}
    return render_page(request, "objects", context)


@require_GET
@cluster_page
def an_object(
    request: Request, cluster: Cluster, resource: str, name: str, namespace: str = ""
) -> HttpResponse:
    text = request.GET.get("group_attempt", "")
    attempt = int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None
    kind = kind_of(cluster, resource)
    confidential.require_reading(request.user, cluster, kind.key)
    one = one_object(cluster, kind, namespace, name, attempt=attempt)
    return render_page(request, "object", {"cluster": cluster, "one": one})


@require_http_methods(["GET", "POST"])
@cluster_page
def edit(
    request: Request, cluster: Cluster, resource: str, name: str, namespace: str = ""
) -> HttpResponse:
    """Edit the object as YAML; what was stored meanwhile is shown, and merged with `merge`."""
    kind = kind_of(cluster, resource)
    stored = object_of(cluster, kind, namespace, name)
    form = EditForm(*posted(request), body=stored.body)
    if "commands" in request.POST:
        return render_recipes(
            request,
            form,
            lambda: [
                update_recipe(cluster.name, kind, namespace, name, form.cleaned_data["manifest"])
            ],
        )
    if request.method == "POST" and form.is_valid():
        body = form.cleaned_data["manifest"]
        if "merge" in request.POST and (merged := merge_edit(cluster, body, stored.body)):
            form = EditForm(body=merged.body)
            context = {"cluster": cluster, "kind": kind, "object": stored, "form": form}
            return render_page(request, "edit_object", {**context, "merged": merged})
        if evictions := _planned_evictions(request, cluster, kind, name, body):
            context = {"cluster": cluster, "kind": kind, "object": stored, "form": form}
            return render_page(request, "edit_object", {**context, "evictions": evictions})
        try:
            editing.edit(cluster, kind, namespace, name, body, actor=actor(request))
        except Conflict:
            stored = object_of(cluster, kind, namespace, name)
            context = {"cluster": cluster, "kind": kind, "object": stored, "form": form}
            context["conflict"] = True
            context["merged"] = merge_edit(cluster, body, stored.body)
            return render_page(request, "edit_object", context, status=409)
        except ApiError as refusal:
            show_in_yaml(form, "manifest", refusal)
        else:
            messages.success(request, f"{kind.name} {name} updated.")
            return redirect(object_url(cluster, kind, namespace, name))
    context = {"cluster": cluster, "kind": kind, "object": stored, "form": form}
    return render_page(request, "edit_object", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@cluster_page
def delete(
    request: Request, cluster: Cluster, resource: str, name: str, namespace: str = ""
) -> HttpResponse:
    """Show the consequences of deleting the object; POST deletes it."""
    kind = kind_of(cluster, resource)
    if request.method == "POST":
        options = {"propagationPolicy": "Background"}
        store.delete(cluster, kind, namespace, name, actor=actor(request), options=options)
        messages.success(request, f"{kind.name} {name} deleted.")
        return redirect(object_url(cluster, kind))
    stored = object_of(cluster, kind, namespace, name)
    context = {
        "cluster": cluster,
        "kind": kind,
        "object": stored,
        "consequences": consequences_of(cluster, kind, stored),
    }
    return render_page(request, "delete_object", context)


@require_http_methods(["GET", "POST"])
@cluster_page
def new_object(request: Request, cluster: Cluster, resource: str) -> HttpResponse:
    """A new object of a kind, from an example or like another object (`?like=` its uid)."""
    kind = kind_of(cluster, resource)
    start = _load_start(cluster, kind, request.GET.get("like", ""))
    form = ManifestForm(*posted(request), example=start)
    if "commands" in request.POST:
        return render_recipes(
            request, form, lambda: [import_recipe(cluster.name, form.cleaned_data["manifest"])]
        )
    if request.method == "POST" and form.is_valid():
        try:
            text = form.cleaned_data["manifest"]
            new = manifests.Options(restored=False, strict=True)
            imported = manifests.import_yaml(cluster, text, actor=actor(request), options=new)
        except ApiError as refusal:
            show_in_yaml(form, "manifest", refusal)
        else:
            return _redirect_to_created(request, cluster, imported)
    context = {"cluster": cluster, "kind": kind, "form": form}
    return render_page(request, "new_object", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@cluster_page
def import_yaml(request: Request, cluster: Cluster) -> HttpResponse:
    """Create every object of a text and of files, or none."""
    form = ImportForm(*posted(request), example=load_example(request.GET.get("example", "")))
    if "commands" in request.POST:
        return render_recipes(
            request, form, lambda: [import_recipe(cluster.name, form.cleaned_data["manifest"])]
        )
    if failed := find_failed(request, cluster):
        upload = service.upload_of(failed)
        form = ImportForm({**upload.get("options", {}), "manifest": upload["yaml"]})
        if upload.get("files"):
            form.add_error("uploads", failed.cause)
        else:
            show_in_yaml(form, "manifest", ManifestError(failed.cause))
    if request.method == "POST" and form.is_valid():
        length = sum(len(each.text) for each in form.texts())
        if length > MAX_TEXT_IN_REQUEST:
            title = f"Import {length:,} characters"
            payload = {
                "yaml": form.cleaned_data["manifest"],
                "files": form.cleaned_data["uploads"],
                "options": form.options(),
            }
            operation = service.start(
                "import",
                title,
                actor=actor(request),
                cluster=cluster,
                arguments={"form": {}},
                payload=payload,
            )
            return redirect("operation", number=operation.pk)
        try:
            options = manifests.Options(**form.options())
            imported = manifests.import_texts(
                cluster, form.texts(), actor=actor(request), options=options
            )
        except ApiError as refusal:
            show_in_yaml(form, "manifest", refusal, files="uploads")
        else:
            return _redirect_to_created(request, cluster, imported)
    context = {"cluster": cluster, "form": form}
    return render_page(request, "import", context, status=422 if form.errors else 200)


def _planned_evictions(
    request: Request, cluster: Cluster, kind: Kind, name: str, body: dict[str, Any]
) -> Evictions:
    """The pods that an edited node would evict, until the user has confirmed it."""
    if kind is not kinds.NODE or "sure" in request.POST:
        return Evictions()
    try:
        return plan_evictions(cluster, [name], lambda _: body)
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError):
        # the store rejects the body with the field
        return Evictions()


def _load_start(cluster: Cluster, kind: Kind, like: str) -> str:
    """The YAML to start from: that of an object, which may be deleted, or an example."""
    try:
        body = find_last_body(cluster, UUID(like)) if like else None
    except ValueError:
        raise BadRequest(f"like: {like!r} is not a UID") from None
    if body is not None:
        return copy_as_example(body)
    if kind.definition_name:
        place = {"namespace": "default"} if kind.namespaced else {}
        metadata = {"name": "example", **place}
        return dump_yaml({"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata})
    return load_example(kind.name.lower())


def _redirect_to_created(
    request: Request, cluster: Cluster, imported: manifests.Imported
) -> HttpResponse:
    """Redirect to the created object; to the list of kinds if there are several."""
    created = imported.bodies
    if len(created) != 1 or imported.skipped or imported.added:
        messages.success(request, f"{imported.summary}.")
        return redirect("kinds", cluster=cluster.name)
    body, metadata = created[0], created[0]["metadata"]
    kind = kind_of_object(cluster, body["apiVersion"], body["kind"])
    messages.success(request, f"{kind.name} {metadata['name']} created.")
    return redirect(object_url(cluster, kind, metadata.get("namespace", ""), metadata["name"]))
