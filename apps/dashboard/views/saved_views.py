"""Saved views of decisions: the list, their permanent addresses, save, rename, delete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.cluster.errors import AlreadyExists, BadRequest, Forbidden
from apps.cluster.models import Cluster
from apps.dashboard.forms.saved_view import SavedViewForm
from apps.dashboard.queries.saved_views import read_query, view_address, view_list
from apps.dashboard.rendering import Request, cluster_page, posted, render_page
from apps.engine.ledger import saved_views
from apps.engine.models import SavedView


@require_GET
@cluster_page
def views(request: Request, cluster: Cluster) -> HttpResponse:
    """The user's views, and those that others share."""
    rows = view_list(cluster, request.user.get_username())
    return render_page(request, "saved_views", {"cluster": cluster, "rows": rows})


@require_GET
@cluster_page
def saved_view(request: Request, cluster: Cluster, view: int) -> HttpResponse:
    """The permanent address of a view: leads to the decisions that it selects now."""
    return redirect(view_address(cluster, _get_view(request, cluster, view)))


@require_http_methods(["GET", "POST"])
@cluster_page
def new_view(request: Request, cluster: Cluster) -> HttpResponse:
    """Save the filters, grouping and sorting of the address under a name."""
    query, user = read_query(request.GET), request.user.get_username()
    form = SavedViewForm(posted(request)[0])

    def save() -> SavedView:
        return saved_views.create_view(cluster, user, query=query, **form.cleaned_data)

    context = {"cluster": cluster, "form": form, "query": sorted(query.items())}
    return _save(request, context, save)


@require_http_methods(["GET", "POST"])
@cluster_page
def edit_view(request: Request, cluster: Cluster, view: int) -> HttpResponse:
    """Rename or share a view; with filters in the address, replace those of the view."""
    saved, user = _get_view(request, cluster, view), request.user.get_username()
    if saved.user != user:
        raise Forbidden(f"the view {saved.name!r} belongs to {saved.user}")
    initial = {"name": saved.name, "shared": saved.shared}
    form = SavedViewForm(posted(request)[0], initial=initial)
    query = read_query(request.GET) or saved.query

    def save() -> SavedView:
        return saved_views.update_view(saved, user, query=query, **form.cleaned_data)

    title = saved.name
    context = {
        "cluster": cluster,
        "form": form,
        "query": sorted(query.items()),
        "view": saved,
        "title": title,
    }
    return _save(request, context, save)


@require_POST
@cluster_page
def delete_view(request: Request, cluster: Cluster, view: int) -> HttpResponse:
    saved = _get_view(request, cluster, view)
    saved_views.delete_view(saved, request.user.get_username())
    messages.success(request, f"View {saved.name} deleted.")
    return redirect("saved-views", cluster=cluster.name)


def _save(request: Request, context: dict[str, Any], save: Callable[[], SavedView]) -> HttpResponse:
    """Save the view of a valid form and open it; else show the form, with its errors."""
    form: SavedViewForm = context["form"]
    if request.method == "POST" and form.is_valid():
        try:
            view = save()
        except AlreadyExists:
            form.add_error("name", "You have a view with this name in this cluster already.")
        except BadRequest as error:
            form.add_error(None, error.message)
        else:
            messages.success(request, f"View {view.name} saved.")
            return redirect(view_address(context["cluster"], view))
    return render_page(request, "saved_view", context, status=422 if form.errors else 200)


def _get_view(request: Request, cluster: Cluster, number: int) -> SavedView:
    return saved_views.get_view(cluster, number, request.user.get_username())
