"""Lets requests to pages pass that their users may send, and tells templates what users may do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.contrib import messages
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from apps.cluster.access import gate
from apps.cluster.access.grants import is_site_admin, role_of
from apps.cluster.access.rates import count_request
from apps.cluster.access.routes import ROUTES
from apps.cluster.errors import ApiError, NotFound
from apps.cluster.models import Cluster
from apps.cluster.queries import cluster_named
from apps.cluster.roles import MEANINGS, Role
from apps.dashboard.rendering import render_refusal


@dataclass(frozen=True, slots=True)
class Rights:
    """What the user of a page may do in its cluster, and on the site."""

    #: None on a page that is not about one cluster.
    role: Role | None
    create: bool
    site: bool

    @property
    def meaning(self) -> str:
        """What the role in the cluster is for."""
        return MEANINGS[self.role] if self.role is not None else ""

    @property
    def administer(self) -> bool:
        return self.role is not None and self.role >= Role.ADMIN


class SignInRequired(LoginRequiredMiddleware):
    """Middleware: leads anonymous users to the login page, which says so if a form was lost.

    The login leads to the page that was asked for, or to the one with the form: most addresses of
    forms are no pages.
    """

    def handle_no_permission(self, request: HttpRequest, view_func: Any) -> Any:
        if request.method == "POST":
            messages.warning(
                request,
                "You are no longer signed in, so nothing was changed. Go back to see what you "
                "entered, or sign in and enter it again.",
            )
        if request.method in ("GET", "HEAD"):
            return super().handle_no_permission(request, view_func)
        return redirect_to_login(_page_with_form(request))


def _page_with_form(request: HttpRequest) -> str:
    """The address of the page that sent the request, if it is one of this site."""
    page = urlsplit(request.headers.get("Referer", ""))
    if page.netloc != request.get_host() or not page.path.startswith("/"):
        return "/"
    return urlunsplit(("", "", page.path, page.query, ""))


class RouteGate:
    """Middleware: refuses requests to pages by the table of routes, with a page that says why.

    Views of the framework have a permission of their own, because they know other users.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_view(
        self, request: Any, view: Any, arguments: Any, names: dict[str, Any]
    ) -> HttpResponse | None:
        match = request.resolver_match
        if hasattr(view, "cls"):
            return None
        if not gate.serves(match.url_name, request.method):
            return HttpResponseNotAllowed(ROUTES[match.url_name])
        try:
            if request.user.is_authenticated:
                count_request(request.user.get_username())
            request.cluster_role = gate.check(request.user, match.url_name, request.method, names)
        except ApiError as refusal:
            return render_refusal(request, refusal, cluster=_find_seen(request, names))
        return None


def _find_seen(request: Any, names: dict[str, Any]) -> Cluster | None:
    """The cluster of the address, if the user sees it: the error keeps its navigation."""
    name = names.get("cluster", "")
    role = role_of(request.user, name) if name else None
    with suppress(NotFound):
        # a site admin has a role in clusters that do not exist, too
        seen = cluster_named(name) if role is not None else None
        request.cluster_role = role
        return seen
    return None


def rights(request: HttpRequest) -> dict[str, Rights]:
    """Context processor: `may`, what the user may do."""
    # an address may be refused before the user is known
    user = getattr(request, "user", AnonymousUser())
    role = getattr(request, "cluster_role", None)
    return {"may": Rights(role, gate.may_create(user), is_site_admin(user))}
