"""One view, whole page or region; and the store's refusals as pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django_htmx.middleware import HtmxDetails

from apps.cluster.context import current_request_id
from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.cluster.queries import cluster_named
from apps.cluster.writes import Actor

Arguments = ParamSpec("Arguments")


class Request(HttpRequest):
    """What the middlewares make of a request: its htmx details, and a user who is logged in."""

    htmx: HtmxDetails
    user: User


#: Everything comes from this server, and nothing is inline.
CONTENT_POLICY = "default-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

ClusterView = Callable[Concatenate[Request, Cluster, Arguments], HttpResponse]


def page(
    request: Request, name: str, context: Mapping[str, Any], *, status: int = 200
) -> HttpResponse:
    """The page `name`, or its region alone when htmx asks for that."""
    region = request.htmx and not (request.htmx.boosted or request.htmx.history_restore_request)
    template = f"dashboard/htmx/{name}.html" if region else f"dashboard/{name}.html"
    return _own(render(request, template, dict(context), status=status))


def cluster_page(view: ClusterView[Arguments]) -> Callable[..., HttpResponse]:
    """Give the view the cluster its address names; a refusal of the store becomes a page."""

    @wraps(view)
    def show(
        request: Request, cluster: str, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> HttpResponse:
        found = None
        try:
            found = cluster_named(cluster)
            return view(request, found, *args, **kwargs)
        except ApiError as refusal:
            return refused(request, refusal, cluster=found)

    return cast(Callable[..., HttpResponse], show)


def refused(request: Request, refusal: ApiError, *, cluster: Cluster | None = None) -> HttpResponse:
    """What the store refused, as a page of the cluster (or, to htmx, a notice) with its status."""
    whole = "dashboard/error.html"
    template = "dashboard/inc/refusal.html" if request.htmx else whole
    context = {
        "frame": f"dashboard/{'cluster_base' if cluster else 'base'}.html",
        "cluster": cluster,
        "code": refusal.code,
        "message": refusal.message,
        "reason": re.sub(
            r"(?<=[a-z])([A-Z])", lambda found: f" {found[1].lower()}", refusal.reason
        ),
    }
    return _own(render(request, template, context, status=refusal.code))


def actor(request: Request) -> Actor:
    """Who changes something through this request."""
    return Actor(request.user.get_username(), current_request_id())


def _own(response: HttpResponse) -> HttpResponse:
    """A response that differs for htmx, and whose page uses nothing but what is served here."""
    patch_vary_headers(response, ["HX-Request"])
    response.headers["Content-Security-Policy"] = CONTENT_POLICY
    return response
