"""Actions on one or many nodes: cordon, taint, label, annotate, drain, delete, conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.administration.clusters import drains, pressure
from apps.administration.clusters.bulk import BulkAction
from apps.administration.clusters.evictions import Evictions, plan_evictions, plan_not_ready
from apps.administration.clusters.undoing import undo_node_changes
from apps.administration.operations import service
from apps.administration.operations.drain import DEFAULT_TIMEOUT
from apps.cluster import kinds, limits, node_changes, queries
from apps.cluster.context import current_request_id
from apps.cluster.errors import BadRequest, Invalid, NotFound
from apps.cluster.models import Cluster
from apps.cluster.node_changes import BulkResult
from apps.dashboard.notices import add_undo_notice, get_next_address
from apps.dashboard.paging import parse_whole_number
from apps.dashboard.queries.nodes import (
    existing_names,
    matching_nodes,
    node_condition,
    stranded_pods,
)
from apps.dashboard.recipes.actions import bulk_recipes, drain_recipe
from apps.dashboard.rendering import Request, actor, cluster_page, render_page
from apps.dashboard.selections import Selection, read_selection, reject_action
from apps.dashboard.views.bulk import MAX_IN_REQUEST, check_action, start_bulk


@require_POST
@cluster_page
def change(request: Request, cluster: Cluster) -> HttpResponse:
    """Apply `action` to each `node`, or with `matching` to all nodes that `filter` matches.

    Deleting, draining and evicting ask for confirmation, others can be undone. Many nodes are an
    operation.
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
    if name == "taint" and "sure" not in request.POST:
        evictions = plan_evictions(cluster, names, node_changes.change_taint(action.text))
        if evictions:
            return _ask_to_evict(request, cluster, selection, evictions, back)
    if len(names) > MAX_IN_REQUEST:
        return start_bulk(request, cluster, action, names)
    if name == "delete":
        return _delete(request, cluster, names)
    _change(request, cluster, names, *_read_action(action), back)
    return redirect(back)


def _read_action(action: BulkAction) -> tuple[node_changes.Change, str]:
    """The change of a node, and what the notice says about the nodes."""
    text = action.text
    match action.name:
        case "cordon" | "uncordon":
            return node_changes.cordon(action.name == "cordon"), action.done_word
        case "taint":
            return node_changes.change_taint(text), _describe_change("taint", text)
        case "label":
            return node_changes.change_label(text), _describe_change("label", text)
        case "annotate":
            return node_changes.change_annotation(text), _describe_change("annotation", text)
    return node_changes.remove_taint(text), f"updated: taint {text.removesuffix('-')} removed"


def _ask_to_evict(
    request: Request, cluster: Cluster, selection: Selection, evictions: Evictions, back: str
) -> HttpResponse:
    context = {
        "cluster": cluster,
        "selection": selection,
        "text": request.POST.get("text", "").strip(),
        "evictions": evictions,
        "next": back,
    }
    return render_page(request, "evict_pods", context)


def _change(
    request: Request,
    cluster: Cluster,
    names: Sequence[str],
    update: node_changes.Change,
    words: str,
    back: str,
) -> None:
    result = node_changes.change_nodes(cluster, names, update, actor=actor(request))
    versions = result.versions
    if not versions:
        if result.done:
            messages.info(request, "Nothing changed: the selected nodes are already in this state.")
    else:
        changed = existing_names(cluster, names, versions=versions)
        summary = f"{_count_nodes(len(versions), changed)} {words}."
        undo = {
            "first": str(min(versions)),
            "last": str(max(versions)),
            "request": current_request_id(),
            "next": back,
        }
        add_undo_notice(request, summary, reverse("undo-nodes", args=[cluster.name]), undo)
    _show_refusals(request, result)


@require_POST
@cluster_page
def undo(request: Request, cluster: Cluster) -> HttpResponse:
    """Undo a change of nodes, and say what was restored and what was not."""
    back = get_next_address(request, reverse("nodes", args=[cluster.name]))
    first, last = (parse_whole_number(request.POST, name) for name in ("first", "last"))
    if first is None or last is None:
        raise BadRequest("first and last: the versions of the change are required")
    request_id = request.POST.get("request", "")
    try:
        result = undo_node_changes(cluster, first, last, request_id, actor=actor(request))
    except BadRequest as refusal:
        messages.error(request, refusal.message)
        return redirect(back)
    context = {"cluster": cluster, "result": result}
    text = render_to_string("dashboard/inc/undone.html", context, request)
    is_complete = bool(result.names) and not result.kept and not result.evictions
    (messages.success if is_complete else messages.warning)(request, text)
    return redirect(back)


@require_POST
@cluster_page
def set_condition(request: Request, cluster: Cluster, name: str) -> HttpResponse:
    """Set one of the node's conditions."""
    condition, status = request.POST.get("type", ""), request.POST.get("status", "")
    update = node_changes.change_condition(condition, status, cluster.now())
    before = node_condition(cluster, name, condition)
    not_ready = condition == "Ready" and status != "True"
    evictions = plan_not_ready(cluster, name, status) if not_ready else Evictions()
    result = node_changes.change_nodes(
        cluster, [name], update, actor=actor(request), subresource="status"
    )
    if result.versions:
        text = f"Condition {condition} of node {name} set to {status}."
        text = " ".join(filter(None, (text, _describe_evictions(cluster, evictions))))
        fields = {"type": condition, "status": before}
        if before in node_changes.STATUSES:
            address = reverse("set-condition", args=[cluster.name, name])
            add_undo_notice(request, text, address, fields)
        else:
            messages.success(request, text)
    _show_refusals(request, result)
    return redirect("node", cluster=cluster.name, name=name)


@require_POST
@cluster_page
def set_usage(request: Request, cluster: Cluster, name: str) -> HttpResponse:
    """Set what the node uses besides its pods, and when its kubelet evicts them."""
    given = {field: request.POST.get(field, "").strip() for field in pressure.FIELDS}
    try:
        update = pressure.simulate(given)
    except Invalid as refusal:
        messages.error(request, " ".join(cause.message for cause in refusal.causes))
        return redirect("node", cluster=cluster.name, name=name)
    result = node_changes.change_nodes(cluster, [name], update, actor=actor(request))
    if result.versions:
        messages.success(request, f"Mock usage of node {name} set.")
    _show_refusals(request, result)
    return redirect("node", cluster=cluster.name, name=name)


def _describe_evictions(cluster: Cluster, evictions: Evictions) -> str:
    """What happens to the pods of a node that is not ready; "" if none is evicted."""
    if not evictions:
        return ""
    if not cluster.controllers:
        return "The controllers are off, so its pods are not evicted."
    soonest = min(pod.seconds for pod in evictions.pods)
    number, lost = len(evictions.pods), evictions.lost
    text = f"{number} pod{'' if number == 1 else 's'} will be evicted after {soonest:,.0f} s"
    if not lost:
        return f"{text}; their controllers recreate them."
    names = ", ".join(pod.key for pod in lost[:5])
    more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
    return f"{text}. No controller recreates {names}{more}, and undo does not, either."


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
    pairs = list(zip(moving, drains.preview_landings(cluster, name, moving), strict=True))
    nowhere = sum(not landing.node for _, landing in pairs)
    context = {"cluster": cluster, "landings": pairs, "nowhere": nowhere, "name": name}
    return render_page(request, "landings", context)


def _confirm_deletion(request: Request, cluster: Cluster, selection: Selection) -> HttpResponse:
    present = existing_names(cluster, selection.names)
    if not present:
        raise NotFound("nodes", selection.names[0])
    context = {
        "cluster": cluster,
        "selection": replace(selection, names=present),
        "stranded": stranded_pods(cluster, present),
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
    """The timeout of a drain; the default where the form has none."""
    if not request.POST.get("timeout"):
        return DEFAULT_TIMEOUT
    seconds = parse_whole_number(request.POST, "timeout")
    if seconds is None or not limits.DRAIN_SECONDS.admits(seconds):
        raise BadRequest(f"timeout: must be {limits.DRAIN_SECONDS} seconds")
    return seconds


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
