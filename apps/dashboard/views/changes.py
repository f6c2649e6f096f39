"""Who changed what: the change log, and one change."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.models import Cluster
from apps.dashboard.forms.manifest import as_yaml
from apps.dashboard.queries.changes import change_list, one_change
from apps.dashboard.rendering import Request, cluster_page, page
from apps.dashboard.text_diff import text_diff


@require_GET
@cluster_page
def changes(request: Request, cluster: Cluster) -> HttpResponse:
    found = change_list(cluster, request.GET)
    return page(request, "changes", {"cluster": cluster, "changes": found})


@require_GET
@cluster_page
def change(request: Request, cluster: Cluster, version: int) -> HttpResponse:
    """One change: the fields it touched, and the YAML before and after."""
    one = one_change(cluster, version)
    context = {
        "cluster": cluster,
        "one": one,
        "diff": text_diff(as_yaml(one.before), as_yaml(one.change.object)) if one.before else None,
        "unified": request.GET.get("view") == "unified",
    }
    return page(request, "change", context)
