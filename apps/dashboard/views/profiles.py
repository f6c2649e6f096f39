"""The revisions of a cluster's scheduler configuration."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.cluster.errors import Invalid
from apps.cluster.models import Cluster
from apps.dashboard.forms.profile import describe_stranded_pods
from apps.dashboard.paging import parse_whole_number
from apps.dashboard.queries.profiles import compare, one_profile, profile_list
from apps.dashboard.rendering import Request, cluster_page, render_page
from apps.engine import queries
from apps.engine.profiles import drafts, revisions
from apps.engine.profiles.editing.files import write_for_kube_scheduler
from apps.engine.profiles.gates import list_gates
from apps.engine.profiles.private_keys import visible_to


@require_GET
@cluster_page
def profiles(request: Request, cluster: Cluster) -> HttpResponse:
    context = {
        "cluster": cluster,
        "profiles": profile_list(cluster),
        "drafts": drafts.drafts_of(cluster),
    }
    return render_page(request, "profiles", context)


@require_GET
@cluster_page
def profile(request: Request, cluster: Cluster, revision: int) -> HttpResponse:
    """A revision; with `?download=1` its configuration as a file for kube-scheduler."""
    if request.GET.get("download"):
        text = revisions.get_revision(cluster, revision).configuration
        text = write_for_kube_scheduler(visible_to(request.user, cluster.pk, text))
        name = f"{cluster.name}-{revision}.yaml"
        disposition = f'attachment; filename="{name}"'
        headers = {"Content-Disposition": disposition}
        return HttpResponse(text, content_type="application/yaml", headers=headers)
    one = one_profile(cluster, revision)
    text = visible_to(request.user, cluster.pk, one.revision.configuration)
    return render_page(request, "profile", {"cluster": cluster, "one": one, "text": text})


@require_GET
@cluster_page
def feature_gates(request: Request, cluster: Cluster) -> HttpResponse:
    """The feature gates of a revision (`?revision=`, by default the active one)."""
    everything = bool(request.GET.get("all"))
    number = parse_whole_number(request.GET, "revision") or 0
    gates = list_gates(cluster, number, everything=everything)
    context = {"cluster": cluster, "gates": gates, "everything": everything}
    return render_page(request, "feature_gates", context)


@require_POST
@cluster_page
def rename(request: Request, cluster: Cluster, revision: int) -> HttpResponse:
    """Set the name and the note of a revision."""
    name, note = request.POST.get("name", "").strip(), request.POST.get("note", "").strip()
    try:
        revisions.rename(cluster, revision, name=name, note=note[:200])
    except Invalid as refusal:
        messages.error(request, refusal.causes[0].message)
    return redirect("profile", cluster=cluster.name, revision=revision)


@require_POST
@cluster_page
def delete_draft(request: Request, cluster: Cluster, name: str) -> HttpResponse:
    drafts.delete_draft(cluster, name)
    messages.success(request, f"Draft {name} deleted.")
    return redirect("profiles", cluster=cluster.name)


@require_GET
@cluster_page
def compare_profiles(request: Request, cluster: Cluster) -> HttpResponse:
    """Two revisions, `?before=` and `?after=`; by default the active one and its predecessor."""
    rows = profile_list(cluster)
    active = next(row.revision.revision for row in rows if row.revision.active)
    after = parse_whole_number(request.GET, "after") or active
    before = parse_whole_number(request.GET, "before") or max(after - 1, 1)
    comparison = compare(cluster, before, after, reader=request.user)
    context = {
        "cluster": cluster,
        "comparison": comparison,
        "diff": comparison.text,
        "unified": request.GET.get("view") == "unified",
        "revisions": [row.revision for row in rows],
    }
    return render_page(request, "compare_profiles", context)


@require_http_methods(["GET", "POST"])
@cluster_page
def activate(request: Request, cluster: Cluster, revision: int) -> HttpResponse:
    """Show what the scheduler will do differently; POST activates the revision."""
    if request.method == "POST":
        revisions.activate(cluster, revision)
        messages.success(request, f"Revision {revision} is now active.")
        return redirect("profiles", cluster=cluster.name)
    before = revisions.get_active(cluster).revision
    comparison = compare(cluster, before, revision, reader=request.user)
    pending = sum(queries.count_pending_pods(cluster).values())
    stranded = queries.count_stranded_pods(cluster, revisions.load_configuration(comparison.after))
    context = {
        "cluster": cluster,
        "comparison": comparison,
        "pending": pending,
        "retried": pending - sum(stranded.values()),
        "stranded": [describe_stranded_pods(name, count) for name, count in stranded.items()],
    }
    return render_page(request, "activate_profile", context)
