"""Actions on one or many nodes: cordon, taint, label, drain, delete, set a condition."""

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
from apps.dashboard.notices import add_undo_notice, get_next_address
from apps.dashboard.paging import parse_whole_number
from apps.dashboard.queries.nodes import count_stranded_pods, existing_names
from apps.dashboard.rendering import Request, actor, cluster_page, render_page

#: Maximum number of nodes of one action; more than a page of the list.
MAX_SELECTED = 1000


@require_POST
@cluster_page
def change(request: Request, cluster: Cluster) -> HttpResponse:
    """Apply `action` to each `node`. Deleting asks for confirmation, others can be undone."""
    names = request.POST.getlist("node")[:MAX_SELECTED]
    back = get_next_address(request, reverse("nodes", args=[cluster.name]))
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
            update = node_changes.cordon(action == "cordon")
            undo["action"] = "uncordon" if action == "cordon" else "cordon"
            # nodes that have this state already are not changed, so that undo leaves them alone
            names = existing_names(cluster, names, cordoned=action != "cordon")
            undo["node"] = names
            words = f"{action}ed"
        case "taint":
            update, words = node_changes.change_taint(text), _describe_change("taint", text)
            undo |= {"action": action, "text": f"{_strip_value(text)}-"}
        case "label":
            update, words = node_changes.change_label(text), _describe_change("label", text)
            undo |= {"action": action, "text": f"{text.partition('=')[0]}-"}
        case _:
            raise BadRequest(f"unknown action {action!r}")
    result = node_changes.change_nodes(cluster, names, update, actor=actor(request))
    summary = f"{_count_nodes(result.done, names)} {words}."
    if not result.done or text.endswith("-"):
        messages.success(request, summary)
    else:
        add_undo_notice(request, summary, reverse("change-nodes", args=[cluster.name]), undo)
    _show_refusals(request, result)


@require_POST
@cluster_page
def set_condition(request: Request, cluster: Cluster, name: str) -> HttpResponse:
    """Set one of the node's conditions."""
    condition, status = request.POST.get("type", ""), request.POST.get("status", "")
    update = node_changes.change_condition(condition, status, cluster.now())
    result = node_changes.change_nodes(
        cluster, [name], update, actor=actor(request), subresource="status"
    )
    if result.done:
        messages.success(request, f"Condition {condition} of node {name} set to {status}.")
    _show_refusals(request, result)
    return redirect("node", cluster=cluster.name, name=name)


@require_http_methods(["GET", "POST"])
@cluster_page
def drain(request: Request, cluster: Cluster, name: str) -> HttpResponse:
    """Preview the drain; POST starts it."""
    queries.get(cluster, kinds.NODE, "", name)
    if request.method == "POST":
        seconds = parse_whole_number(request.POST, "timeout") or DEFAULT_TIMEOUT
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
        "running": service.running_drain(cluster),
    }
    return render_page(request, "drain", context)


@require_GET
@cluster_page
def landings(request: Request, cluster: Cluster, name: str) -> HttpResponse:
    """Where the moving pods of a node would be scheduled: the slower part of the preview."""
    moving = drains.plan_drain(cluster, name).moving
    found = list(zip(moving, drains.preview_landings(cluster, name, moving), strict=True))
    nowhere = sum(not landing.node for _, landing in found)
    context = {"cluster": cluster, "landings": found, "nowhere": nowhere, "name": name}
    return render_page(request, "landings", context)


def _delete(request: Request, cluster: Cluster, names: Sequence[str]) -> HttpResponse:
    present = existing_names(cluster, names)
    if not present:
        raise NotFound("nodes", names[0])
    names = present
    if "sure" not in request.POST:
        context = {
            "cluster": cluster,
            "names": names,
            "stranded": count_stranded_pods(cluster, names),
        }
        return render_page(request, "delete_nodes", context)
    result = node_changes.delete_nodes(cluster, names, actor=actor(request))
    messages.success(request, f"{_count_nodes(result.done, names)} deleted.")
    _show_refusals(request, result)
    return redirect("nodes", cluster=cluster.name)


def _strip_value(taint: str) -> str:
    rest, _, effect = taint.rpartition(":")
    return f"{rest.partition('=')[0]}:{effect}"


def _describe_change(what: str, text: str) -> str:
    removed = text.endswith("-")
    return f"updated: {what} {text[:-1]} removed" if removed else f"updated: {what} {text} set"


def _count_nodes(done: int, names: Sequence[str]) -> str:
    if done == 1 and len(names) == 1:
        return f"Node {names[0]}"
    return f"{done:,} node{'' if done == 1 else 's'}"


def _show_refusals(request: Request, result: BulkResult) -> None:
    for refusal in result.refusals[:5]:
        messages.error(request, refusal)
