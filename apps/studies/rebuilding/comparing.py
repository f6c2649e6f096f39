"""Compares a recorded decision with a recomputed one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apps.scheduler.decision import Decision
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import PostFilterResult

Facts = dict[str, Any]


def compare(recorded: Decision, recomputed: Decision) -> list[str]:
    """The differences as "name: recorded -> recomputed"; empty if the decisions are equal.

    Compares everything up to the selection of the node, and preemption. Later steps are not
    recomputed: if a pod was rejected after its node had been selected (by Permit, or during
    binding), the result and the message are not compared.
    """
    ours, theirs = _collect_facts(recorded), _collect_facts(recomputed)
    if recorded.rejection is not None and recomputed.rejection is None:
        for name in ("result", "message", "unschedulable plugins", "nominating", "rejection"):
            ours.pop(name), theirs.pop(name)
    return list(_compare_facts(ours, theirs))


def why_not_now(node: str, now: Decision) -> str:
    """Why the recomputed decision cannot choose a node; "" if the node lost by its score alone."""
    if node not in now.nodes:
        return f"{node} does not exist"
    reason = _refusal(now, node)
    if reason:
        return f"{node} is rejected now: {reason}"
    return "" if _is_feasible(now, node) else f"{node} is not evaluated now"


def why_now(recorded: Decision, now: Decision, node: str) -> str:
    """Why the recomputed decision chose its node, and not the recorded one; that can be ""."""
    reason = _refusal(recorded, now.node)
    if reason:
        return f"{now.node} was rejected in the record: {reason}"
    if not _is_feasible(recorded, now.node):
        return f"{now.node} was not evaluated in the record"
    if node:
        return _compare_scores(recorded, now, node) or "the draw fell otherwise"
    return f"{now.node} is feasible now"


def _compare_facts(ours: Facts, theirs: Facts) -> Iterator[str]:
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            yield f"{name}: {_abbreviate(ours.get(name))} -> {_abbreviate(theirs.get(name))}"


def _collect_facts(decision: Decision) -> Facts:
    facts: Facts = {
        "pod": decision.pod_key,
        "profile": decision.profile,
        "attempt": decision.attempt,
        "result": decision.result.value,
        "node": decision.node,
        "message": (decision.filter_message, decision.message),
        "nodes": [name for name in decision.nodes if name],
        "start": decision.start,
        "evaluated": decision.evaluated,
        "fast path": decision.nominated_fast_path,
        "batch": decision.hint,
        "pre-filter": decision.pre_filter,
        "pre-filter nodes": decision.pre_filter_nodes,
        "skipped": (decision.filter_skipped, decision.score_skipped),
        "unschedulable plugins": decision.unschedulable_plugins,
        "pending plugins": decision.pending_plugins,
        "statuses": _map_statuses(decision, decision.node_statuses),
        "ties": [decision.nodes[row] for row in decision.ties],
        "draw": decision.draw,
        "total": decision.total.tolist(),
        "post-filter status": decision.post_filter_status,
        "nominating": decision.nominating and decision.nominating.nominated_node,
        "rejection": decision.rejection,
        "devices": _collect_devices(decision),
        **_collect_post_filter(decision, decision.post_filter),
    }
    for plugin, column in decision.scores.items():
        facts[f"scores of {plugin}"] = (
            column.weight,
            column.raw.tolist(),
            column.normalized.tolist(),
        )
    return facts


def _collect_devices(decision: Decision) -> list[tuple[Any, ...]]:
    """What each claim has; share IDs and the names of claims that are created are random."""
    return [
        (each.is_known, result.request, result.driver, result.pool, result.device)
        for each in decision.claims
        for result in each.allocation.devices.results
    ]


def _collect_post_filter(decision: Decision, result: PostFilterResult | None) -> Facts:
    if result is None:
        return {}
    return {
        "candidates": list(result.candidates),
        "candidate ties": list(result.ties),
        "decided by": result.decided_by,
        "offset": result.offset,
        "node statuses": _map_statuses(decision, result.node_statuses),
    }


def _map_statuses(decision: Decision, statuses: NodeStatuses | None) -> Facts | None:
    """Node name -> status; None without statuses."""
    if statuses is None:
        return None
    return {name: statuses.at(row) for row, name in enumerate(decision.nodes) if name}


def _abbreviate(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}…"


def _is_feasible(decision: Decision, node: str) -> bool:
    return node in decision.nodes and decision.nodes.index(node) in decision.feasible


def _refusal(decision: Decision, node: str) -> str:
    """Who rejected a node, and why; "" if it was feasible, or is unknown."""
    try:
        status = decision.status_of(node)
    except KeyError:
        return ""
    if status is None or status.is_success:
        return ""
    return f"{status.plugin}: {status.message}" if status.plugin else status.message


def _compare_scores(recorded: Decision, now: Decision, node: str) -> str:
    """Which plugin favors the node of the replay more than in the record."""
    try:
        ours, theirs = now.scores_of(now.node), now.scores_of(node)
    except KeyError:
        return ""
    try:
        old, old_theirs = recorded.scores_of(now.node), recorded.scores_of(node)
    except KeyError:
        old, old_theirs = {}, {}
    totals = [sum(each[2] for each in scores.values()) for scores in (ours, theirs)]
    gains = {
        plugin: (ours[plugin][2] - theirs[plugin][2])
        - (old.get(plugin, (0, 0, 0))[2] - old_theirs.get(plugin, (0, 0, 0))[2])
        for plugin in ours
    }
    if totals[0] == totals[1] or not gains:
        return ""
    plugin = max(gains, key=lambda name: gains[name])
    return (
        f"{now.node} scores {totals[0]}, {node} {totals[1]}; "
        f"{plugin} gives {ours[plugin][2]} and {theirs[plugin][2]}"
    )
