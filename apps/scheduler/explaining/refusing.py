"""All plugins that refuse one node, with exact figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apps.scheduler.explaining.evaluation import Evaluation, FilteredNode, Refusal
from apps.scheduler.framework import guard
from apps.scheduler.framework.explanation import Detail, RefusalExplainer
from apps.scheduler.framework.status import Status, unresolvable
from apps.scheduler.plugins.helper.node_text import list_names
from apps.scheduler.plugins.nodeaffinity.plugin import REASON_POD, NodeAffinity


def refusals_at(evaluation: Evaluation, row: int) -> list[Refusal]:
    """The plugins that refuse a node, in the order of the profile, the decisive one first.

    A rejection by PreFilter applies to every node.
    """
    if not evaluation.outcome.is_success:
        return [
            Refusal(evaluation.outcome.plugin, evaluation.outcome, (_describe(evaluation.outcome),))
        ]
    spot, crowded = evaluation.spot(row), None
    refusals = []
    names_allowed = evaluation.narrowed.node_names
    if names_allowed is not None and evaluation.snapshot.names[row] not in names_allowed:
        refusals.append(_outside(names_allowed))
    for name in evaluation.framework.filters.names:
        refusal = _ask(spot, name)
        if refusal is None and spot.nominated:
            crowded = crowded or _with_nominated(spot)
            refusal = _ask(crowded, name)
            refusal = replace(refusal, for_nominated=True) if refusal is not None else None
        if refusal is not None:
            refusals.append(refusal)
    # Refusals without nominated pods come first, as in filtering.
    return sorted(refusals, key=lambda each: each.for_nominated)


def _ask(spot: FilteredNode, name: str) -> Refusal | None:
    if name in spot.state.skip_filter:
        return None
    evaluation = spot.evaluation
    status = evaluation.framework.filters.run_filter_plugin(
        name, spot.state, evaluation.pod, spot.nodes
    ).at(0)
    if status is None:
        return None
    return Refusal(name, status, tuple(_details(spot, name, status)) or (_describe(status),))


def _details(spot: FilteredNode, name: str, status: Status) -> Sequence[Detail]:
    """The details from the plugin; empty if the plugin fails to explain its refusal."""
    evaluation = spot.evaluation
    plugin = evaluation.framework.plugins[name]
    if not isinstance(plugin, RefusalExplainer):
        return ()
    try:
        return list(plugin.explain_refusal(spot.state, evaluation.pod, spot.nodes, status))
    except Exception as raised:
        guard.failure(name, "ExplainRefusal", raised)
        return ()


def _with_nominated(spot: FilteredNode) -> FilteredNode:
    evaluation = spot.evaluation
    nodes = evaluation.snapshot.select(spot.nodes.snapshot_rows)
    state = spot.state.clone()
    for pod in spot.nominated:
        evaluation.framework.filters.add_pod(state, evaluation.pod, pod, nodes)
    return replace(spot, info=nodes.info(0), nodes=nodes, state=state)


def _outside(allowed: frozenset[str]) -> Refusal:
    named = list_names(sorted(allowed)) or "nodes that do not exist"
    sentence = f"the pod's required node affinity names only {named}"
    detail = Detail(sentence, {"allowed": sorted(allowed)})
    return Refusal(NodeAffinity.name, unresolvable(REASON_POD), (detail,))


def _describe(status: Status) -> Detail:
    return Detail(status.message, {"reasons": list(status.reasons)})
