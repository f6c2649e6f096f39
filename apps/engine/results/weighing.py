"""The scores of a decision under other weights.

Normalized scores do not depend on weights, so totals follow from the recorded columns exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from apps.engine.results.comparison import format_points
from apps.engine.results.scores import ScoreMatrix

#: Names of nodes in a sentence.
_MAX_NAMES = 3


@dataclass(frozen=True, slots=True)
class TieRule:
    """How one of the nodes with the greatest total is chosen."""

    #: the first by name, or a draw
    by_name: bool
    #: the node that was chosen, "" if there was none; and the nodes that had the greatest total
    node: str = ""
    tied: frozenset[str] = frozenset()

    def choose(self, tied: Sequence[str]) -> str:
        """The node that is chosen from these; "" if the draw is not known.

        A draw among the nodes of the recorded one falls as recorded.
        """
        if len(tied) == 1:
            return tied[0]
        if self.by_name:
            return min(tied)
        return self.node if frozenset(tied) == self.tied else ""

    def excludes_recorded(self, tied: Sequence[str]) -> bool:
        """Whether the recorded node cannot be chosen from these."""
        return self.node not in tied or (self.by_name and min(tied) != self.node)


def recorded_rule(matrix: ScoreMatrix, *, by_name: bool) -> TieRule:
    """The rule of a recorded decision with this matrix."""
    node = matrix.nodes[0] if matrix.chosen else ""
    return TieRule(by_name, node, frozenset(matrix.nodes[: matrix.tied]))


def reweigh(matrix: ScoreMatrix, weights: Mapping[str, int], rule: TieRule) -> ScoreMatrix:
    """The matrix with other weights; plugins that are not named keep theirs, and all their order.

    `chosen` is False if several nodes have the greatest total and the draw is not known.
    """
    if not len(matrix.nodes):
        return matrix
    columns = [(each, weights.get(each.name, each.weight)) for each in matrix.plugins]
    total = np.zeros(len(matrix.nodes), dtype=np.int64)
    for plugin, weight in columns:
        total += plugin.normalized * weight
    best = np.flatnonzero(total == total.max())
    node = rule.choose([matrix.nodes[place] for place in best.tolist()])
    names = np.array(matrix.nodes)
    order = np.lexsort((names, names != node, -total))
    total = total[order]
    return ScoreMatrix(
        nodes=names[order].tolist(),
        ranks=np.searchsorted(-total, -total) + 1,
        total=total,
        plugins=[
            replace(
                plugin,
                weight=weight,
                raw=plugin.raw[order],
                normalized=plugin.normalized[order],
                weighted=plugin.normalized[order] * weight,
            )
            for plugin, weight in columns
        ],
        tied=len(best),
        chosen=bool(node),
    )


def describe_outcome(matrix: ScoreMatrix, rule: TieRule) -> str:
    """Which node is chosen with a matrix instead of the recorded one: "b instead of a: 9 to 7."."""
    best = int(matrix.total[0])
    if not matrix.chosen:
        return _describe_draw(matrix, rule, best)
    node = matrix.nodes[0]
    if rule.node and node != rule.node:
        return f"{node} instead of {rule.node}: {best:,} to {_total_of(matrix, rule.node)}."
    return f"{node} is chosen, with {format_points(best)}{_describe_lead(matrix, best)}."


def name_some(names: Sequence[str]) -> str:
    """ "a, b and c"; "a, b, c and 4 more"."""
    first, more = list(names[:_MAX_NAMES]), len(names) - _MAX_NAMES
    if more > 0:
        return f"{', '.join(first)} and {more:,} more"
    return " and ".join(filter(None, (", ".join(first[:-1]), first[-1])))


def _describe_lead(matrix: ScoreMatrix, best: int) -> str:
    if len(matrix.nodes) == 1:
        return ""
    if matrix.tied > 1:
        return f", as many as {name_some(matrix.nodes[1 : matrix.tied])}"
    return f", {best - int(matrix.total[1]):,} more than {matrix.nodes[1]}"


def _describe_draw(matrix: ScoreMatrix, rule: TieRule, best: int) -> str:
    tied = matrix.nodes[: matrix.tied]
    said = (
        f"{matrix.tied:,} nodes have the most points, {best:,} each: {name_some(tied)}. "
        "One of them would be drawn; which one is not known, because the recorded draw was among "
        "other nodes."
    )
    if not rule.node or rule.node in tied:
        return said
    return f"{said} {rule.node} has {_total_of(matrix, rule.node)}."


def _total_of(matrix: ScoreMatrix, node: str) -> str:
    place = matrix.find_place(node)
    return "no score" if place is None else f"{int(matrix.total[place]):,}"
