"""The revisions of a cluster's scheduler configuration."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from apps.cluster.models import Cluster
from apps.controlplane import queries
from apps.controlplane.profiles import revisions
from apps.controlplane.profiles.plugins import known_plugins
from apps.dashboard.forms.profile import ProfileForm
from apps.dashboard.forms.yaml_problems import show_causes
from apps.dashboard.paging import parse_whole_number
from apps.dashboard.queries.profiles import compare, get_revision, one_profile, profile_list
from apps.dashboard.recipes.actions import profile_recipe
from apps.dashboard.rendering import Request, cluster_page, posted, render_page, render_recipes
from apps.scheduler.config import ConfigError
from apps.scheduler.config.convert import convert


@require_GET
@cluster_page
def profiles(request: Request, cluster: Cluster) -> HttpResponse:
    return render_page(request, "profiles", {"cluster": cluster, "profiles": profile_list(cluster)})


@require_GET
@cluster_page
def profile(request: Request, cluster: Cluster, revision: int) -> HttpResponse:
    return render_page(
        request, "profile", {"cluster": cluster, "one": one_profile(cluster, revision)}
    )


@require_GET
@cluster_page
def compare_profiles(request: Request, cluster: Cluster) -> HttpResponse:
    """Two revisions, `?before=` and `?after=`; by default the active one and its predecessor."""
    rows = profile_list(cluster)
    active = next(row.revision.revision for row in rows if row.revision.active)
    after = parse_whole_number(request.GET, "after") or active
    before = parse_whole_number(request.GET, "before") or max(after - 1, 1)
    found = compare(cluster, before, after)
    context = {
        "cluster": cluster,
        "comparison": found,
        "diff": found.text,
        "unified": request.GET.get("view") == "unified",
        "revisions": [row.revision for row in rows],
    }
    return render_page(request, "compare_profiles", context)


@require_http_methods(["GET", "POST"])
@cluster_page
def new_profile(request: Request, cluster: Cluster) -> HttpResponse:
    """A new revision, starting from the active one, another one or a converted configuration."""
    if "convert" in request.POST:
        return _convert(request, cluster)
    start = parse_whole_number(request.GET, "like")
    active = get_revision(cluster, start) if start else revisions.get_active(cluster)
    form = ProfileForm(*posted(request), active=active)
    if "commands" in request.POST:
        return render_recipes(
            request, form, lambda: [profile_recipe(cluster.name, **form.cleaned_data)]
        )
    if request.method == "POST" and form.is_valid():
        try:
            added = revisions.add_revision(
                cluster,
                form.cleaned_data["configuration"],
                user=request.user.get_username(),
                legacy=form.cleaned_data["legacy"],
                note=form.cleaned_data["note"],
            )
        except ConfigError as refusal:
            show_causes(form, "configuration", refusal.causes)
        else:
            messages.success(request, f"Revision {added.revision} is now active.")
            for name, count in queries.count_stranded_pods(cluster, added).items():
                messages.warning(request, _describe_stranded(name, count))
            return redirect("profile", cluster=cluster.name, revision=added.revision)
    context = {"cluster": cluster, "form": form}
    return render_page(request, "new_profile", context, status=422 if form.errors else 200)


def _convert(request: Request, cluster: Cluster) -> HttpResponse:
    """The form with the configuration of the form, or of the import page, converted to v1."""
    active = revisions.get_active(cluster)
    text = request.POST.get("configuration") or request.POST.get("manifest", "")
    try:
        conversion = convert(text, known_plugins())
    except ConfigError as refusal:
        form = ProfileForm({"configuration": text}, active=active)
        show_causes(form, "configuration", refusal.causes)
        return render_page(request, "new_profile", {"cluster": cluster, "form": form}, status=422)
    form = ProfileForm(active=active)
    form.initial.update(
        {
            "configuration": conversion.configuration_yaml,
            "legacy": conversion.legacy,
            "note": request.POST.get("note", ""),
        }
    )
    context = {"cluster": cluster, "form": form, "notes": conversion.notes, "converted": True}
    return render_page(request, "new_profile", context)


@require_http_methods(["GET", "POST"])
@cluster_page
def activate(request: Request, cluster: Cluster, revision: int) -> HttpResponse:
    """Show what the scheduler will do differently; POST activates the revision."""
    if request.method == "POST":
        get_revision(cluster, revision)
        revisions.activate(cluster, revision)
        messages.success(request, f"Revision {revision} is now active.")
        return redirect("profiles", cluster=cluster.name)
    found = compare(cluster, revisions.get_active(cluster).revision, revision)
    waiting = queries.count_pods_by_queue(cluster)
    stranded = queries.count_stranded_pods(cluster, found.after)
    context = {
        "cluster": cluster,
        "comparison": found,
        "waiting": sum(waiting.values()),
        "stranded": [_describe_stranded(name, count) for name, count in stranded.items()],
    }
    return render_page(request, "activate_profile", context)


def _describe_stranded(name: str, count: int) -> str:
    pods = "1 pending pod waits" if count == 1 else f"{count:,} pending pods wait"
    return f"{pods} for scheduler {name}, which no profile of this revision has."
