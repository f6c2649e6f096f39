"""The revisions of a cluster's scheduler configuration."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.cluster.errors import NotFound
from apps.cluster.models import Cluster
from apps.controlplane import profiles as revisions
from apps.controlplane.models import SchedulerProfile
from apps.dashboard.forms.profile import ProfileForm
from apps.dashboard.rendering import Request, cluster_page, page
from apps.dashboard.selectors.profiles import one_profile, profile_list
from apps.scheduler.config import ConfigError


@require_GET
@cluster_page
def profiles(request: Request, cluster: Cluster) -> HttpResponse:
    return page(request, "profiles", {"cluster": cluster, "profiles": profile_list(cluster)})


@require_GET
@cluster_page
def profile(request: Request, cluster: Cluster, revision: int) -> HttpResponse:
    return page(request, "profile", {"cluster": cluster, "one": one_profile(cluster, revision)})


@require_http_methods(["GET", "POST"])
@cluster_page
def new_profile(request: Request, cluster: Cluster) -> HttpResponse:
    """A new revision, starting from the active one."""
    form = ProfileForm(request.POST or None, active=revisions.active(cluster))
    if request.method == "POST" and form.is_valid():
        try:
            made = revisions.add_revision(
                cluster,
                form.cleaned_data["configuration"],
                user=request.user.get_username(),
                note=form.cleaned_data["note"],
            )
        except ConfigError as refusal:
            for cause in refusal.causes:
                form.add_error("configuration", str(cause))
        else:
            messages.success(request, f"Revision {made.revision} is active.")
            return redirect("profile", cluster=cluster.name, revision=made.revision)
    context = {"cluster": cluster, "form": form}
    return page(request, "new_profile", context, status=422 if form.errors else 200)


@require_POST
@cluster_page
def activate(request: Request, cluster: Cluster, revision: int) -> HttpResponse:
    try:
        revisions.activate(cluster, revision)
    except SchedulerProfile.DoesNotExist:
        raise NotFound("profiles", str(revision)) from None
    messages.success(request, f"Revision {revision} is active.")
    return redirect("profiles", cluster=cluster.name)
