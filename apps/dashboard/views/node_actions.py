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
from apps.cluster.models import Cluster
from apps.controlplane.clusters import drains, node_changes
from apps.controlplane.clusters.node_changes import BulkResult
from apps.controlplane.operations import service
from apps.controlplane.operations.drain import DEFAULT_TIMEOUT, LONGEST_TIMEOUT
from apps.dashboard.notices import done_with_undo, go_on_to
from apps.dashboard.paging import whole_number
from apps.dashboard.queries.nodes import existing_names, stranded_by
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
        messages.warning(request, "No nodes selected.")
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
            # an undo then brings back what was: it does not touch those that were so before
            names = existing_names(cluster, names, cordoned=action != "cordon")
            undo["node"] = names
            words = f"{action}ed"
        case "taint":
            wanted, words = node_changes.change_taint(text), _set_or_removed("taint", text)
            undo |= {"action": action, "text": f"{_without_value(text)}-"}
        case "label":
            wanted, words = node_changes.change_label(text), _set_or_removed("label", text)
            undo |= {"action": action, "text": f"{text.partition('=')[0]}-"}
        case _:
            raise BadRequest(f"unknown action {action!r}")
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
    """Set one of the node's conditions."""
    condition, status = request.POST.get("type", ""), request.POST.get("status", "")
    wanted = node_changes.change_condition(condition, status, cluster.now())
    found = node_changes.change_nodes(
        cluster, [name], wanted, actor=actor(request), subresource="status"
    )
    if found.done:
        messages.success(request, f"Condition {condition} of node {name} set to {status}.")
    _tell_refusals(request, found)
    return redirect("node", cluster=cluster.name, name=name)


@require_http_methods(["GET", "POST"])
@cluster_page
def drain(request: Request, cluster: Cluster, name: str) -> HttpResponse:
    """Show which pods would move where; start to drain on POST."""
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
        return redirect("operation", number=operation.pk)
    plan = drains.plan_drain(cluster, name)
    context = {
        "cluster": cluster,
        "name": name,
        "plan": plan,
        "timeout": DEFAULT_TIMEOUT,
        "at_work": service.running_drain(cluster),
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
    present = existing_names(cluster, names)
    if not present:
        raise NotFound("nodes", names[0])
    names = present
    if "sure" not in request.POST:
        context = {"cluster": cluster, "names": names, "stranded": stranded_by(cluster, names)}
        return page(request, "delete_nodes", context)
    found = node_changes.delete_nodes(cluster, names, actor=actor(request))
    messages.success(request, f"{_nodes(found.done, names)} deleted.")
    _tell_refusals(request, found)
    return redirect("nodes", cluster=cluster.name)


def _without_value(taint: str) -> str:
    rest, _, effect = taint.rpartition(":")
    return f"{rest.partition('=')[0]}:{effect}"


def _set_or_removed(what: str, text: str) -> str:
    removed = text.endswith("-")
    return f"updated: {what} {text[:-1]} removed" if removed else f"updated: {what} {text} set"


def _nodes(done: int, names: Sequence[str]) -> str:
    if done == 1 and len(names) == 1:
        return f"Node {names[0]}"
    return f"{done:,} node{'' if done == 1 else 's'}"


def _tell_refusals(request: Request, found: BulkResult) -> None:
    for refusal in found.refusals[:5]:
        messages.error(request, refusal)
