"""Actions on one or many nodes: cordon, taint, label, annotate, drain, delete, conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.cluster import kinds, queries
from apps.cluster.errors import BadRequest, Invalid, NotFound
from apps.cluster.models import Cluster
from apps.controlplane.clusters import drains, node_changes
from apps.controlplane.clusters.bulk import BulkAction
from apps.controlplane.clusters.node_changes import BulkResult
from apps.controlplane.operations import service
from apps.controlplane.operations.drain import DEFAULT_TIMEOUT, LONGEST_TIMEOUT
from apps.dashboard.notices import add_undo_notice, get_next_address
from apps.dashboard.paging import parse_whole_number
from apps.dashboard.queries.nodes import count_stranded_pods, existing_names, matching_nodes
from apps.dashboard.recipes.actions import bulk_recipes, drain_recipe
from apps.dashboard.rendering import Request, actor, cluster_page, render_page
from apps.dashboard.selections import Selection, read_selection, reject_action
from apps.dashboard.views.bulk import MAX_IN_REQUEST, check_action, start_bulk


@require_POST
@cluster_page
def change(request: Request, cluster: Cluster) -> HttpResponse:
    """Apply `action` to each `node`, or with `matching` to all nodes that `filter` matches.

    Deleting and draining ask for confirmation, others can be undone. Many nodes are an operation.
    """
    back = get_next_address(request, reverse("nodes", args=[cluster.name]))
    selection = read_selection(request, "node", lambda query: matching_nodes(cluster, query))
    if not selection.names:
        messages.warning(request, "No nodes selected.")
        return redirect(back)
    if "commands" in request.POST:
        text = request.POST.get("text", "").strip()
        recipes = bulk_recipes(cluster.name, "nodes", selection.names, text)
        return render_page(request, "commands", {"recipes": recipes})
    try:
        return _apply(request, cluster, selection, back)
    except (BadRequest, Invalid) as error:
        return reject_action(request, back, "node", error)


def _apply(request: Request, cluster: Cluster, selection: Selection, back: str) -> HttpResponse:
    name, names = request.POST.get("action", ""), selection.names
    if name == "drain":
        return _drain_many(request, cluster, selection)
    action = BulkAction("nodes", name, request.POST.get("text", "").strip())
    if name == "delete" and "sure" not in request.POST:
        return _confirm_deletion(request, cluster, selection)
    check_action(request, cluster, action, names)
    if len(names) > MAX_IN_REQUEST:
        return start_bulk(request, cluster, action, names)
    if name == "delete":
        return _delete(request, cluster, names)
    _change(request, cluster, name, names, back)
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
        case "annotate":
            update = node_changes.change_annotation(text)
            words = _describe_change("annotation", text)
            undo |= {"action": action, "text": f"{text.partition('=')[0]}-"}
        case _:
            update, words = node_changes.remove_taint(text), f"updated: taint {text} removed"
    result = node_changes.change_nodes(cluster, names, update, actor=actor(request))
    summary = f"{_count_nodes(result.done, names)} {words}."
    if not result.done or text.endswith("-") or action == "untaint":
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
    if "commands" in request.POST:
        force = "force" in request.POST
        recipe = drain_recipe(cluster.name, name, _read_timeout(request), force)
        return render_page(request, "commands", {"recipes": [recipe]})
    if request.method == "POST":
        arguments = {
            "node": name,
            "force": "force" in request.POST,
            "timeout": _read_timeout(request),
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


def _confirm_deletion(request: Request, cluster: Cluster, selection: Selection) -> HttpResponse:
    present = existing_names(cluster, selection.names)
    if not present:
        raise NotFound("nodes", selection.names[0])
    context = {
        "cluster": cluster,
        "selection": replace(selection, names=present),
        "stranded": count_stranded_pods(cluster, present),
    }
    return render_page(request, "delete_nodes", context)


def _delete(request: Request, cluster: Cluster, names: Sequence[str]) -> HttpResponse:
    result = node_changes.delete_nodes(cluster, names, actor=actor(request))
    messages.success(request, f"{_count_nodes(result.done, names)} deleted.")
    _show_refusals(request, result)
    return redirect("nodes", cluster=cluster.name)


def _drain_many(request: Request, cluster: Cluster, selection: Selection) -> HttpResponse:
    """Show what leaves the nodes; start the drain after confirmation."""
    names = selection.names
    if len(names) == 1:
        return redirect("drain", cluster=cluster.name, name=names[0])
    if "sure" in request.POST:
        arguments = {"force": "force" in request.POST, "timeout": _read_timeout(request)}
        title = f"Drain {len(names):,} nodes"
        operation = service.start(
            "drain",
            title,
            actor=actor(request),
            cluster=cluster,
            arguments=arguments,
            payload={"names": list(names)},
        )
        return redirect("operation", number=operation.pk)
    context = {
        "cluster": cluster,
        "selection": selection,
        "plan": drains.plan_drain(cluster, *names),
        "timeout": DEFAULT_TIMEOUT,
        "running": service.running_drain(cluster),
    }
    return render_page(request, "drain_nodes", context)


def _read_timeout(request: Request) -> int:
    seconds = parse_whole_number(request.POST, "timeout") or DEFAULT_TIMEOUT
    return min(seconds, LONGEST_TIMEOUT)


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
