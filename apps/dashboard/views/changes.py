"""Who changed what: the change log, and one change."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.models import Cluster
from apps.dashboard.forms.manifest import dump_yaml
from apps.dashboard.queries.changes import change_list, one_change
from apps.dashboard.rendering import Request, cluster_page, render_page
from apps.dashboard.text_diff import text_diff


@require_GET
@cluster_page
def changes(request: Request, cluster: Cluster) -> HttpResponse:
    found = change_list(cluster, request.GET)
    return render_page(request, "changes", {"cluster": cluster, "changes": found})


@require_GET
@cluster_page
def change(request: Request, cluster: Cluster, version: int) -> HttpResponse:
    """One change: the fields that differ, and the YAML before and after."""
    one = one_change(cluster, version)
    context = {
        "cluster": cluster,
        "one": one,
        "diff": text_diff(dump_yaml(one.before), dump_yaml(one.change.object))
        if one.before
        else None,
        "unified": request.GET.get("view") == "unified",
    }
    return render_page(request, "change", context)
