"""One decision explained: the chosen node, and any node that a user asks about."""

from __future__ import annotations

from dataclasses import dataclass

from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.engine.results.comparison import Comparison, compare_nodes, compare_with_runner_up
from apps.engine.results.scores import score_matrix
from apps.scheduler.decision import Decision
from apps.scheduler.explaining.devices import DeviceMatrix, compare_devices
from apps.scheduler.framework.claim_allocations import ClaimAllocation
from apps.scheduler.plugins.dynamicresources.plugin import DynamicResources
from apps.studies.explanations.nodes_not_chosen import NodeExplanation, explain_node
from apps.studies.explanations.states import GAPS, StateSource, evaluate_before, states


@dataclass(frozen=True, slots=True)
class DecisionExplanation:
    """The explanation of a decision."""

    sentence: str
    #: the selected node compared with the runner-up; None if none was selected or scored
    here: Comparison | None
    #: the requested nodes, in order
    nodes: tuple[NodeExplanation, ...] = ()
    #: two nodes side by side, if both were feasible
    beside: Comparison | None = None
    #: the claims of the pod, with their devices on the selected node
    claims: tuple[ClaimAllocation, ...] = ()
    #: which device, and why not another one: of `node`, of the selected node, or of all nodes.
    #: None for a pod without claims to allocate, or if the state is not known
    devices: DeviceMatrix | None = None


def explain_decision(
    row: SchedulingDecision,
    *,
    node: str = "",
    against: str = "",
    decision: Decision | None = None,
    source: StateSource = states,
) -> DecisionExplanation:
    """Explain a row of the ledger; `node` and `against` name nodes to explain.

    `decision` is the row's decision, for a caller that has read it already; `source` has its state.
    """
    if decision is None:
        decision = read(row).decision
    matrix = score_matrix(decision)
    here = compare_with_runner_up(decision, matrix)
    requested = [name for name in dict.fromkeys((node, against)) if name]
    return DecisionExplanation(
        _describe_outcome(row, decision, here),
        here,
        tuple(explain_node(row, decision, matrix, name, source) for name in requested),
        compare_nodes(matrix, node, against) if len(requested) == 2 else None,
        decision.claims,
        _compare_devices(row, decision, node or decision.node, source),
    )


def _compare_devices(
    row: SchedulingDecision, decision: Decision, node: str, source: StateSource
) -> DeviceMatrix | None:
    if not decision.claims and DynamicResources.name not in decision.unschedulable_plugins:
        return None
    if node and node not in decision.nodes:
        return None
    try:
        with source.before(row) as state:
            evaluation = evaluate_before(state, row)
            if evaluation is None:
                return None
            line = state.scheduler.snapshot.row_of(node) if node else None
            matrix = compare_devices(evaluation, line)
            return matrix if matrix.requests else None
    except GAPS:
        return None


def _describe_outcome(row: SchedulingDecision, decision: Decision, here: Comparison | None) -> str:
    if here is not None and row.node:
        return here.sentence
    if here is not None and decision.rejection is not None:
        by = decision.rejection.plugin or "the binding"
        return f"{here.sentence} It was refused there by {by}: {decision.rejection.message}."
    if row.node:
        return f"{row.node} was chosen; nothing was scored."
    return " ".join(filter(None, (row.message, row.post_filter_message))) or "It was not scheduled."
