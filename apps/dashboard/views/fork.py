"""Forking a cluster."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from apps.administration.clusters.forking import fork_cluster
from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.dashboard.forms.fork import ForkForm
from apps.dashboard.recipes.recipe import Recipe
from apps.dashboard.rendering import Request, cluster_page, render_page, render_recipes
from apps.engine.profiles import private_keys


@require_http_methods(["GET", "POST"])
@cluster_page
def fork(request: Request, cluster: Cluster) -> HttpResponse:
    """Ask for the name of a fork and its moment, which an address may name; POST creates it."""
    private_keys.require_copying(request.user, cluster)
    if request.method == "GET":
        initial = {"name": f"{cluster.name}-fork"[:63], **request.GET.dict()}
        return _show(request, cluster, ForkForm(initial=initial, source=cluster))
    form = ForkForm(request.POST, source=cluster)
    if "commands" in request.POST:
        return render_recipes(request, form, lambda: [_recipe(cluster, form)])
    if form.is_valid() and form.moment is not None:
        name = form.cleaned_data["name"]
        try:
            created = fork_cluster(cluster, form.moment, name, user=request.user.get_username())
        except ApiError as refusal:
            form.add_error("name" if refusal.code in (409, 422) else "version", refusal.message)
        else:
            messages.success(request, f"Cluster {created.name} created. It is paused.")
            return redirect("cluster", cluster=created.name)
    return _show(request, cluster, form)


def _show(request: Request, cluster: Cluster, form: ForkForm) -> HttpResponse:
    context = {"cluster": cluster, "form": form}
    return render_page(request, "fork", context, status=422 if form.errors else 200)


def _recipe(cluster: Cluster, form: ForkForm) -> Recipe:
    body = {name: value for name, value in form.cleaned_data.items() if value}
    for name in ("version", "decision"):
        if name in body:
            body[name] = int(body[name])
    path = f"/api/v1/clusters/{cluster.name}/fork"
    return Recipe(f"Fork {cluster.name}", path, "POST", body=body)
