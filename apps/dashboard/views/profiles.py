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
from apps.controlplane.plugins import known_plugins
from apps.dashboard.forms.profile import ProfileForm
from apps.dashboard.rendering import Request, cluster_page, page
from apps.dashboard.selectors.profiles import one_profile, profile_list
from apps.scheduler.config import ConfigError
from apps.scheduler.config.convert import convert


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
    """A new revision, starting from the active one, or from an older version's conversion."""
    if "convert" in request.POST:
        return _converted(request, cluster)
    form = ProfileForm(request.POST or None, active=revisions.active(cluster))
    if request.method == "POST" and form.is_valid():
        try:
            made = revisions.add_revision(
                cluster,
                form.cleaned_data["configuration"],
                user=request.user.get_username(),
                legacy=form.cleaned_data["legacy"],
                note=form.cleaned_data["note"],
            )
        except ConfigError as refusal:
            _show_causes(form, refusal)
        else:
            messages.success(request, f"Revision {made.revision} is active.")
            return redirect("profile", cluster=cluster.name, revision=made.revision)
    context = {"cluster": cluster, "form": form}
    return page(request, "new_profile", context, status=422 if form.errors else 200)


def _converted(request: Request, cluster: Cluster) -> HttpResponse:
    """The form again, with what was typed here or on the import page turned into v1."""
    active = revisions.active(cluster)
    typed = request.POST.get("configuration") or request.POST.get("manifest", "")
    try:
        made = convert(typed, known_plugins=known_plugins())
    except ConfigError as refusal:
        form = ProfileForm({"configuration": typed}, active=active)
        _show_causes(form, refusal)
        return page(request, "new_profile", {"cluster": cluster, "form": form}, status=422)
    form = ProfileForm(active=active)
    form.initial.update(
        {
            "configuration": made.configuration_yaml,
            "legacy": made.legacy,
            "note": request.POST.get("note", ""),
        }
    )
    context = {"cluster": cluster, "form": form, "notes": made.notes, "converted": True}
    return page(request, "new_profile", context)


def _show_causes(form: ProfileForm, refusal: ConfigError) -> None:
    for cause in refusal.causes:
        form.add_error("configuration", str(cause))


@require_POST
@cluster_page
def activate(request: Request, cluster: Cluster, revision: int) -> HttpResponse:
    try:
        revisions.activate(cluster, revision)
    except SchedulerProfile.DoesNotExist:
        raise NotFound("profiles", str(revision)) from None
    messages.success(request, f"Revision {revision} is active.")
    return redirect("profiles", cluster=cluster.name)
