"""What the scores of a decision were computed from, in the state that the decision saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from apps.cluster.errors import NotFound
from apps.engine.models import SchedulingDecision
from apps.engine.results.scores import ScoreMatrix, score_matrix
from apps.scheduler.decision import Decision
from apps.scheduler.explaining.scores import ScoredEvaluation, ScoreInputs, recorded_inputs
from apps.scheduler.framework.explanation import Detail
from apps.studies.explanations.states import (
    GAPS,
    NO_POD,
    StateSource,
    describe_gap,
    evaluate_before,
    states,
)

#: The columns of the file of all inputs.
INPUT_COLUMNS = ("node", "plugin", "step", "sentence", "figures")


@dataclass(frozen=True, slots=True)
class NodeInputs:
    """The scores of one feasible node with their inputs."""

    node: str
    total: int
    rank: int
    is_chosen: bool
    #: those that differ most between nodes first
    scores: Sequence[ScoreInputs]


def explain_scores(
    row: SchedulingDecision,
    decision: Decision,
    nodes: Sequence[str] = (),
    plugin: str = "",
    source: StateSource = states,
) -> list[NodeInputs]:
    """The inputs of the scores of `nodes`, by default of all feasible ones in order of rank.

    `plugin` selects the scores of one plugin or extender. `decision` is the decision of `row`,
    `source` has its state. Raises NotFound for a node or a plugin without scores in this decision.
    """
    matrix = score_matrix(decision)
    plugins = [each.name for each in matrix.plugins if plugin in ("", each.name)]
    if plugin and not plugins:
        raise NotFound("scores", plugin)
    places = [_find_place(matrix, node) for node in nodes] or range(len(matrix.nodes))

    def explain(scores: ScoreSource) -> list[NodeInputs]:
        return [_explain(matrix, scores, place, plugins) for place in places]

    try:
        with source.before(row) as state:
            evaluation = evaluate_before(state, row)
            if evaluation is not None:
                return explain(ScoredEvaluation(evaluation, decision))
            gap = NO_POD
    except GAPS as failure:
        gap = describe_gap(failure)
    return explain(_Ledger(decision, gap))


def list_inputs(explained: Sequence[NodeInputs]) -> Iterator[dict[str, Any]]:
    """A row of INPUT_COLUMNS for each detail and for the points of each score."""
    for node in explained:
        for score in node.scores:
            for detail in score.inputs:
                yield _row(score, "input", detail)
            if score.gap:
                yield _row(score, "gap", Detail(score.gap))
            for detail in score.normalization:
                yield _row(score, "normalization", detail)
            points = {
                "raw": score.raw,
                "normalized": score.normalized,
                "weight": score.weight,
                "weighted": score.weighted,
            }
            yield _row(score, "points", Detail(score.sentence, points))


def _row(score: ScoreInputs, step: str, detail: Detail) -> dict[str, Any]:
    return {
        "node": score.node,
        "plugin": score.plugin,
        "step": step,
        "sentence": detail.sentence,
        "figures": dict(detail.figures),
    }


def _find_place(matrix: ScoreMatrix, node: str) -> int:
    place = matrix.find_place(node)
    if place is None:
        raise NotFound("feasible nodes", node)
    return place


def _explain(
    matrix: ScoreMatrix, source: ScoreSource, place: int, plugins: Sequence[str]
) -> NodeInputs:
    node, chosen = matrix.nodes[place], matrix.chosen and place == 0
    scores = [source.inputs(node, plugin) for plugin in plugins]
    return NodeInputs(node, int(matrix.total[place]), int(matrix.ranks[place]), chosen, scores)


@dataclass(frozen=True, slots=True)
class _Ledger:
    """The scores without their inputs."""

    decision: Decision
    gap: str

    def inputs(self, node: str, plugin: str) -> ScoreInputs:
        return recorded_inputs(self.decision, node, plugin, self.gap)


ScoreSource = ScoredEvaluation | _Ledger
