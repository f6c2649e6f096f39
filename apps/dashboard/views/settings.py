"""The settings of a cluster."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from apps.administration.clusters import settings as cluster_settings
from apps.cluster.errors import Invalid
from apps.cluster.models import Cluster
from apps.cluster.settings import CHANGEABLE
from apps.dashboard.forms.object_form import show_error
from apps.dashboard.forms.settings import ClusterSettingsForm
from apps.dashboard.recipes.actions import settings_recipe
from apps.dashboard.rendering import Request, cluster_page, posted, render_page, render_recipes


@require_http_methods(["GET", "POST"])
@cluster_page
def settings(request: Request, cluster: Cluster) -> HttpResponse:
    """The settings that can be changed while the cluster runs."""
    current = {each.name: getattr(cluster, each.name) for each in CHANGEABLE}
    form = ClusterSettingsForm(*posted(request), initial=current)
    if "commands" in request.POST:
        return render_recipes(request, form, lambda: [settings_recipe(cluster.name, form.values())])
    if request.method == "POST" and form.is_valid():
        try:
            cluster_settings.change_settings(cluster, form.values())
        except Invalid as refusal:
            show_error(form, refusal)
        else:
            messages.success(request, f"Settings of cluster {cluster.name} updated.")
            return redirect("cluster", cluster=cluster.name)
    context = {"cluster": cluster, "form": form}
    return render_page(request, "cluster_settings", context, status=422 if form.errors else 200)
