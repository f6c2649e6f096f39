"""The weights that a decision depended on: with others, another node is chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from apps.engine.results.flips import Flip, find_flips
from apps.engine.results.scores import ScoreMatrix
from apps.engine.results.weighing import TieRule, name_some, reweigh


@dataclass(frozen=True, slots=True)
class DecidingWeights:
    """Recorded weights of one or two plugins, and what happens with others."""

    #: plugin -> its recorded weight
    recorded: Mapping[str, int]
    #: the node that is chosen with other weights; "" if one of several would be drawn
    node: str
    sentence: str


def find_deciding_weights(matrix: ScoreMatrix, rule: TieRule) -> Iterator[DecidingWeights]:
    """Single plugins with the nearest weight that changes the node, then pairs that do not count.

    The members of a pair have no such weight alone, so each pair is minimal.
    """
    nearest: dict[str, Flip] = {}
    for flip in find_flips(matrix, rule):
        nearest.setdefault(flip.plugin, flip)
    for flip in nearest.values():
        yield DecidingWeights({flip.plugin: flip.recorded_weight}, flip.node, flip.sentence)
    if rule.node not in matrix.nodes:
        return
    others = {
        each.name: each.weight
        for each in matrix.plugins
        if each.weight and each.spread and each.name not in nearest
    }
    for pair in combinations(sorted(others), 2):
        again = reweigh(matrix, dict.fromkeys(pair, 0), rule)
        tied = again.nodes[: again.tied]
        if rule.excludes_recorded(tied):
            node = again.nodes[0] if again.chosen else ""
            winner = node or f"One of {name_some(tied)}"
            text = f"{winner} wins when {pair[0]} and {pair[1]} weigh 0."
            yield DecidingWeights({name: others[name] for name in pair}, node, text)
