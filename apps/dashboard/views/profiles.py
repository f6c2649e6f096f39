"""The revisions of a cluster's scheduler configuration."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from apps.cluster.models import Cluster
from apps.controlplane import queries
from apps.controlplane.profiles import revisions as revisions
from apps.controlplane.profiles.plugins import known_plugins
from apps.dashboard.forms.profile import ProfileForm
from apps.dashboard.forms.yaml_problems import show_causes
from apps.dashboard.paging import whole_number
from apps.dashboard.queries.profiles import compare, one_profile, profile_list
from apps.dashboard.queries.profiles import revision as wanted
from apps.dashboard.rendering import Request, cluster_page, page
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


@require_GET
@cluster_page
def compare_profiles(request: Request, cluster: Cluster) -> HttpResponse:
    """Two revisions: `?before=` and `?after=`; the active one and the one before it by default."""
    rows = profile_list(cluster)
    active = next(row.revision.revision for row in rows if row.revision.active)
    after = whole_number(request.GET, "after") or active
    before = whole_number(request.GET, "before") or max(after - 1, 1)
    found = compare(cluster, before, after)
    context = {
        "cluster": cluster,
        "comparison": found,
        "diff": found.text,
        "unified": request.GET.get("view") == "unified",
        "revisions": [row.revision for row in rows],
    }
    return page(request, "compare_profiles", context)


@require_http_methods(["GET", "POST"])
@cluster_page
def new_profile(request: Request, cluster: Cluster) -> HttpResponse:
    """A new revision, starting from the active one, or from an older version's conversion."""
    if "convert" in request.POST:
        return _converted(request, cluster)
    start = whole_number(request.GET, "like")
    active = wanted(cluster, start) if start else revisions.get_active(cluster)
    form = ProfileForm(request.POST or None, active=active)
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
            show_causes(form, "configuration", refusal.causes)
        else:
            messages.success(request, f"Revision {made.revision} is now active.")
            return redirect("profile", cluster=cluster.name, revision=made.revision)
    context = {"cluster": cluster, "form": form}
    return page(request, "new_profile", context, status=422 if form.errors else 200)


def _converted(request: Request, cluster: Cluster) -> HttpResponse:
    """The form again, with what was typed here or on the import page turned into v1."""
    active = revisions.get_active(cluster)
    typed = request.POST.get("configuration") or request.POST.get("manifest", "")
    try:
        made = convert(typed, known_plugins())
    except ConfigError as refusal:
        form = ProfileForm({"configuration": typed}, active=active)
        show_causes(form, "configuration", refusal.causes)
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


@require_http_methods(["GET", "POST"])
@cluster_page
def activate(request: Request, cluster: Cluster, revision: int) -> HttpResponse:
    """Say what the scheduler will do differently; make the revision active on POST."""
    if request.method == "POST":
        wanted(cluster, revision)
        revisions.activate(cluster, revision)
        messages.success(request, f"Revision {revision} is now active.")
        return redirect("profiles", cluster=cluster.name)
    found = compare(cluster, revisions.get_active(cluster).revision, revision)
    waiting = queries.count_pods_by_queue(cluster)
    context = {"cluster": cluster, "comparison": found, "waiting": sum(waiting.values())}
    return page(request, "activate_profile", context)
