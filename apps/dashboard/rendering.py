"""Rendering of pages, of regions for htmx, and of errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast

from django.contrib.auth.models import User
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django_htmx.middleware import HtmxDetails

from apps.cluster import kinds
from apps.cluster.context import current_request_id
from apps.cluster.errors import ApiError, NotFound
from apps.cluster.models import Cluster
from apps.cluster.queries import cluster_named
from apps.cluster.writes import SITE_MANAGER, Actor
from apps.dashboard.links import past_address
from apps.dashboard.recipes.recipe import Recipe
from apps.studies.history import past_clusters

Arguments = ParamSpec("Arguments")


class Request(HttpRequest):
    """A request after the middlewares: with htmx details and an authenticated user."""

    htmx: HtmxDetails
    user: User


ClusterView = Callable[Concatenate[Request, Cluster, Arguments], HttpResponse]


def render_page(
    request: Request, name: str, context: Mapping[str, Any], *, status: int = 200
) -> HttpResponse:
    """Render the page `name`; for an htmx request, only its region if it has one."""
    region = request.htmx and not (request.htmx.boosted or request.htmx.history_restore_request)
    templates = [f"dashboard/{name}.html"]
    if region:
        templates.insert(0, f"dashboard/htmx/{name}.html")
    return _set_headers(render(request, templates, dict(context), status=status))


def render_recipes(
    request: Request, form: Form, build: Callable[[], Sequence[Recipe]]
) -> HttpResponse:
    """Show the commands for what a form contains, or its errors."""
    recipes = build() if form.is_valid() else ()
    status = 200 if recipes else 422
    return render_page(request, "commands", {"form": form, "recipes": recipes}, status=status)


def cluster_page(view: ClusterView[Arguments]) -> Callable[..., HttpResponse]:
    """Pass the cluster that the address names to the view; an ApiError becomes a page.

    The address of a deleted cluster leads to the page of its history that says the same, if any.
    """
    return _cluster_page(view, recorded=False)


def recorded_page(view: ClusterView[Arguments]) -> Callable[..., HttpResponse]:
    """Like `cluster_page`, for pages that deleted clusters have as well: their history."""
    return _cluster_page(view, recorded=True)


def site_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """For a page that is not about one cluster: an ApiError becomes a page."""

    @wraps(view)
    def show(request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except ApiError as refusal:
            return render_refusal(request, refusal)

    return show


def _cluster_page(view: ClusterView[Arguments], *, recorded: bool) -> Callable[..., HttpResponse]:
    @wraps(view)
    def show(
        request: Request, cluster: str, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> HttpResponse:
        model = None
        try:
            model = past_clusters.find_by_slug(cluster) or cluster_named(cluster)
            if model.deleted_at is None or recorded:
                return view(request, model, *args, **kwargs)
            if request.method == "GET" and (address := past_address(model, request.resolver_match)):
                return redirect(address)
            raise past_clusters.ClusterDeleted(model.name)
        except ApiError as refusal:
            return render_refusal(request, refusal, cluster=model)

    return cast(Callable[..., HttpResponse], show)


def render_refusal(
    request: Request, refusal: ApiError, *, cluster: Cluster | None = None
) -> HttpResponse:
    """Render an error with its status code: a page, or a notice for htmx."""
    template = "dashboard/inc/refusal.html" if request.htmx else "dashboard/error.html"
    context = {
        "frame": f"dashboard/{'cluster_base' if cluster else 'base'}.html",
        "cluster": cluster,
        "code": refusal.code,
        "message": _describe(refusal),
        "wanted": refusal.details.get("name", "") if isinstance(refusal, NotFound) else "",
        "reason": re.sub(
            r"(?<=[a-z])([A-Z])", lambda match: f" {match[1].lower()}", refusal.reason
        ),
    }
    response = render(request, template, context, status=refusal.code)
    if (seconds := refusal.details.get("retryAfterSeconds")) is not None:
        response.headers["Retry-After"] = str(seconds)
    return _set_headers(response)


#: The plural in a NotFound error -> its singular, for what is not a kind of object.
_OTHERS = {"pastclusters": "deleted cluster", "configurationrevisions": "revision"}


def _describe(refusal: ApiError) -> str:
    """The message as a sentence: what was looked for, if no more is known than that."""
    name, plural = refusal.details.get("name"), str(refusal.details.get("kind", ""))
    if not isinstance(refusal, NotFound) or not refusal.message.endswith("not found"):
        return refusal.message
    if not name or not plural:
        return refusal.message
    names = {kind.plural: kind.name for kind in kinds.ALL} | _OTHERS
    what = names.get(plural, plural.removesuffix("s"))
    return f"There is no {what} “{name}”. It may have been deleted, or its name is mistyped."


def posted(request: Request) -> tuple[Any, Any]:
    """The values and the files of a posted form, (None, None) for other requests."""
    return (request.POST, request.FILES) if request.method == "POST" else (None, None)


def actor(request: Request) -> Actor:
    """The user and request id that the change log records, and the manager of what is written."""
    return Actor(request.user.get_username(), current_request_id(), SITE_MANAGER)


def _set_headers(response: HttpResponse) -> HttpResponse:
    """Say that the response varies with `HX-Request`."""
    patch_vary_headers(response, ["HX-Request"])
    return response
