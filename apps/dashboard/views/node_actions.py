"""What one does to nodes: cordon, taint, label, break, mend, drain, delete; one or many."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.cluster import kinds, queries
from apps.cluster.errors import BadRequest, NotFound
from apps.cluster.models import Cluster, Node
from apps.controlplane.clusters import drains, node_changes
from apps.controlplane.clusters.node_changes import BulkResult
from apps.controlplane.operations import service
from apps.controlplane.operations.drain import DEFAULT_TIMEOUT, LONGEST_TIMEOUT
from apps.dashboard.notices import done_with_undo, go_on_to
from apps.dashboard.paging import whole_number
from apps.dashboard.queries.nodes import stranded_by
from apps.dashboard.rendering import Request, actor, cluster_page, page

#: Nodes that are changed at once at most: a page of the list, and more.
MOST_CHOSEN = 1000


@require_POST
@cluster_page
def change(request: Request, cluster: Cluster) -> HttpResponse:
    """Do `action` to each `node`; deleting asks first, and what is cheap to undo offers that."""
    names = request.POST.getlist("node")[:MOST_CHOSEN]
    back = go_on_to(request, reverse("nodes", args=[cluster.name]))
    if not names:
        messages.warning(request, "No node was chosen.")
        return redirect(back)
    action = request.POST.get("action", "")
    try:
        if action == "delete":
            return _delete(request, cluster, names)
        _change(request, cluster, action, names, back)
    except BadRequest as refusal:
        messages.error(request, refusal.message)
    return redirect(back)


def _change(
    request: Request, cluster: Cluster, action: str, names: Sequence[str], back: str
) -> None:
    text = request.POST.get("text", "").strip()
    undo: dict[str, str | Sequence[str]] = {"node": names, "next": back}
    match action:
        case "cordon" | "uncordon":
            wanted = node_changes.cordon(action == "cordon")
            undo["action"] = "uncordon" if action == "cordon" else "cordon"
            names = _those_that_change(cluster, names, action == "cordon")
            undo["node"] = names
            words = f"{action}ed"
        case "taint":
            wanted, words = node_changes.change_taint(text), f"tainted with {text}"
            undo |= {"action": action, "text": f"{_without_value(text)}-"}
        case "label":
            wanted, words = node_changes.change_label(text), f"labelled {text}"
            undo |= {"action": action, "text": f"{text.partition('=')[0]}-"}
        case _:
            raise BadRequest(f"nothing is called {action!r} here")
    found = node_changes.change_nodes(cluster, names, wanted, actor=actor(request))
    said = f"{_nodes(found.done, names)} {words}."
    if not found.done or text.endswith("-"):
        messages.success(request, said)
    else:
        done_with_undo(request, said, reverse("change-nodes", args=[cluster.name]), undo)
    _tell_refusals(request, found)


@require_POST
@cluster_page
def set_condition(request: Request, cluster: Cluster, name: str) -> HttpResponse:
    """Break or mend the node: write one of its conditions."""
    condition, status = request.POST.get("type", ""), request.POST.get("status", "")
    wanted = node_changes.change_condition(condition, status, cluster.now())
    found = node_changes.change_nodes(
        cluster, [name], wanted, actor=actor(request), subresource="status"
    )
    if found.done:
        messages.success(request, f"{condition} of {name} is {status}.")
    _tell_refusals(request, found)
    return redirect("node", cluster=cluster.name, name=name)


@require_http_methods(["GET", "POST"])
@cluster_page
def drain(request: Request, cluster: Cluster, name: str) -> HttpResponse:
    """Say what would move where; begin to drain on POST."""
    queries.get(cluster, kinds.NODE, "", name)
    if request.method == "POST":
        seconds = whole_number(request.POST, "timeout") or DEFAULT_TIMEOUT
        arguments = {
            "node": name,
            "force": "force" in request.POST,
            "timeout": min(seconds, LONGEST_TIMEOUT),
        }
        operation = service.start(
            "drain", f"Drain {name}", actor=actor(request), cluster=cluster, arguments=arguments
        )
        return redirect("task", number=operation.pk)
    plan = drains.plan_drain(cluster, name)
    context = {
        "cluster": cluster,
        "name": name,
        "plan": plan,
        "timeout": DEFAULT_TIMEOUT,
        "at_work": service.drain_at_work(cluster),
    }
    return page(request, "drain", context)


@require_GET
@cluster_page
def landings(request: Request, cluster: Cluster, name: str) -> HttpResponse:
    """Where the moving pods of a node would land: the slower half of the preview."""
    moving = drains.plan_drain(cluster, name).moving
    found = list(zip(moving, drains.preview_landings(cluster, name, moving), strict=True))
    nowhere = sum(not landing.node for _, landing in found)
    context = {"cluster": cluster, "landings": found, "nowhere": nowhere, "name": name}
    return page(request, "landings", context)


def _delete(request: Request, cluster: Cluster, names: Sequence[str]) -> HttpResponse:
    present = list(Node.objects.filter(cluster=cluster, name__in=names).order_by("name"))
    if not present:
        raise NotFound("nodes", names[0])
    names = [node.name for node in present]
    if "sure" not in request.POST:
        context = {"cluster": cluster, "names": names, "stranded": stranded_by(cluster, names)}
        return page(request, "delete_nodes", context)
    found = node_changes.delete_nodes(cluster, names, actor=actor(request))
    messages.success(request, f"{_nodes(found.done, names)} deleted.")
    _tell_refusals(request, found)
    return redirect("nodes", cluster=cluster.name)


def _those_that_change(cluster: Cluster, names: Sequence[str], cordoned: bool) -> list[str]:
    """Those of the nodes that are not as wanted yet, so that an undo brings back what was."""
    rows = Node.objects.filter(cluster=cluster, name__in=names, unschedulable=not cordoned)
    return list(rows.values_list("name", flat=True))


def _without_value(taint: str) -> str:
    rest, _, effect = taint.rpartition(":")
    return f"{rest.partition('=')[0]}:{effect}"


def _nodes(done: int, names: Sequence[str]) -> str:
    if done == 1 and len(names) == 1:
        return f"{names[0]} is"
    return f"{done:,} node is" if done == 1 else f"{done:,} nodes are"


def _tell_refusals(request: Request, found: BulkResult) -> None:
    for refusal in found.refusals[:5]:
        messages.error(request, refusal)
