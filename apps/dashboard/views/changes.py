"""Who changed what: the change log, and one change."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.access import confidential
from apps.cluster.models import Cluster
from apps.dashboard.forms.manifest import dump_yaml
from apps.dashboard.queries.changes import change_list, one_change
from apps.dashboard.queries.film import film_around
from apps.dashboard.rendering import Request, recorded_page, render_page
from apps.dashboard.text_diff import text_diff
from apps.studies.history.causes import read_consequences


@require_GET
@recorded_page
def changes(request: Request, cluster: Cluster) -> HttpResponse:
    hidden = confidential.hidden_kinds(request.user, cluster)
    shown = change_list(cluster, request.GET, hidden=hidden)
    context = {"cluster": cluster, "changes": shown}
    return render_page(request, "changes", context, status=422 if shown.problem else 200)


@require_GET
@recorded_page
def change(request: Request, cluster: Cluster, version: int) -> HttpResponse:
    """One change: the fields that differ, and the YAML before and after."""
    one = one_change(cluster, version)
    confidential.require_reading(request.user, cluster, one.change.kind)
    context = {
        "cluster": cluster,
        "one": one,
        "diff": text_diff(dump_yaml(one.before), dump_yaml(one.change.object))
        if one.before
        else None,
        "unified": request.GET.get("view") == "unified",
        "film": film_around(cluster, one.change.at) if one.change.kind == "Node" else "",
    }
    return render_page(request, "change", context)


@require_GET
@recorded_page
def consequences(request: Request, cluster: Cluster, version: int) -> HttpResponse:
    """The pods that a change of a node, or its request, has ended."""
    change = one_change(cluster, version).change
    confidential.require_reading(request.user, cluster, change.kind)
    found = read_consequences(cluster, change)
    context = {"cluster": cluster, "change": change, "found": found}
    return render_page(request, "consequences", context)
