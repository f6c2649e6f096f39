"""Why a node was not chosen, from the state that the decision saw and not from the present one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from apps.engine.models import SchedulingDecision
from apps.engine.results.comparison import Comparison, compare_nodes, format_points
from apps.engine.results.refusals import RefusalGroup, find_refusal
from apps.engine.results.scores import ScoreMatrix
from apps.scheduler.decision import Decision
from apps.scheduler.explaining.evaluation import Refusal
from apps.scheduler.explaining.refusing import refusals_at
from apps.studies.explanations.states import (
    GAPS,
    NO_POD,
    StateSource,
    describe_gap,
    evaluate_before,
    states,
)


class Outcome(StrEnum):
    CHOSEN = "chosen"
    FEASIBLE = "feasible"
    REFUSED = "refused"
    NOT_EVALUATED = "not evaluated"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class NodeExplanation:
    """The result of one decision for one node."""

    node: str
    outcome: Outcome
    sentence: str
    #: the plugins that reject the node in the rebuilt state, the deciding one first
    refusals: tuple[Refusal, ...] = ()
    #: a feasible node compared with the selected one
    comparison: Comparison | None = None
    #: why a rejected node has no figures; "" if it has
    gap: str = ""


def explain_node(
    row: SchedulingDecision,
    decision: Decision,
    matrix: ScoreMatrix,
    node: str,
    source: StateSource = states,
) -> NodeExplanation:
    """Why `node` was not chosen, or that it was; `matrix` is the decision's."""
    if node not in decision.nodes:
        sentence = f"There was no node {node} in the cluster at the time of this decision."
        return NodeExplanation(node, Outcome.UNKNOWN, sentence)
    if decision.nodes.index(node) in decision.feasible:
        return _explain_feasible(decision, matrix, node)
    group = find_refusal(decision, node)
    if group is None:
        sentence = f"{node} was not evaluated: the attempt ended before the filters."
        return NodeExplanation(node, Outcome.NOT_EVALUATED, sentence)
    refusals, gap = _find_refusals(row, node, source)
    if not group.is_evaluated:
        return NodeExplanation(
            node, Outcome.NOT_EVALUATED, f"{node} was {group.reason}.", refusals, gap=gap
        )
    sentence = _describe_refusal(node, group, refusals)
    return NodeExplanation(node, Outcome.REFUSED, sentence, refusals, gap=gap)


def _explain_feasible(decision: Decision, matrix: ScoreMatrix, node: str) -> NodeExplanation:
    if node == decision.node:
        points = f" with {format_points(int(matrix.total[0]))}" if matrix.chosen else ""
        return NodeExplanation(node, Outcome.CHOSEN, f"{node} was chosen{points}.")
    beside = compare_nodes(matrix, node, decision.node) if decision.node else None
    if beside is None:
        return NodeExplanation(node, Outcome.FEASIBLE, f"{node} was feasible; nothing was scored.")
    sentence = f"{node} was feasible, at rank {beside.rank:,}. {beside.sentence}"
    return NodeExplanation(node, Outcome.FEASIBLE, sentence, comparison=beside)


def _describe_refusal(node: str, group: RefusalGroup, refusals: tuple[Refusal, ...]) -> str:
    deciding = next((each for each in refusals if each.plugin == group.plugin), None)
    if deciding is None or not deciding.details:
        return f"{node} was rejected by {group.source}: {group.reason}."
    sentences = "; ".join(detail.sentence for detail in deciding.details)
    return f"{node} was rejected by {group.source}: {sentences}."


def _find_refusals(
    row: SchedulingDecision, node: str, source: StateSource
) -> tuple[tuple[Refusal, ...], str]:
    """The refusals of a node in the rebuilt state; without them, why there are none."""
    try:
        with source.before(row) as state:
            evaluation = evaluate_before(state, row)
            if evaluation is None:
                return (), NO_POD
            line = state.scheduler.snapshot.row_of(node)
            return (tuple(refusals_at(evaluation, line)), "") if line >= 0 else ((), "")
    except GAPS as failure:
        return (), describe_gap(failure)
