"""The smallest changes of one weight with which another node is chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from apps.engine.results.scores import Column, PluginScores, ScoreMatrix, rank_names
from apps.engine.results.weighing import TieRule, name_some

#: The weights that are examined are from 0 to this one.
MAX_WEIGHT = 100
_WEIGHTS = np.arange(MAX_WEIGHT + 1, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Flip:
    """The nearest weight of a plugin with which the recorded node is not chosen."""

    plugin: str
    recorded_weight: int
    weight: int
    #: the same nodes win up to this weight
    last_weight: int
    #: they win with every weight beyond `last_weight`, too (below 0 there are none)
    is_open: bool
    #: the nodes with the greatest total, by name
    tied: Sequence[str]
    #: empty if one of several would be drawn
    node: str
    total: int
    #: the total of the recorded node with this weight
    recorded_node_total: int

    ANSWER: ClassVar = (..., "distance", "sentence")

    @property
    def distance(self) -> int:
        """By how much the weight changes."""
        return abs(self.weight - self.recorded_weight)

    @property
    def sentence(self) -> str:
        """As `node-7 wins when NodeResourcesFit weighs 3 or more.`"""
        winner = self.node or f"One of {name_some(self.tied)}"
        return f"{winner} wins when {self.plugin} weighs {self._weights}."

    @property
    def _weights(self) -> str:
        if self.is_open and self.weight:
            return f"{self.weight} or {'more' if self.weight > self.recorded_weight else 'less'}"
        low, high = sorted((self.weight, self.last_weight))
        return f"{low}" if low == high else f"{low} to {high}"


def find_flips(matrix: ScoreMatrix, rule: TieRule) -> list[Flip]:
    """For each plugin the nearest higher and lower weight with which the recorded node loses.

    The smallest change first. Empty if no node was chosen by score.
    """
    place = matrix.find_place(rule.node) if rule.node else None
    if place is None:
        return []
    ranks = rank_names(matrix.nodes) if rule.by_name else None
    flips = [
        flip
        for plugin in matrix.plugins
        for flip in _find_flips(matrix, plugin, rule, place, ranks)
    ]
    return sorted(flips, key=lambda flip: (flip.distance, flip.plugin, flip.weight))


def _find_flips(
    matrix: ScoreMatrix, plugin: PluginScores, rule: TieRule, place: int, ranks: Column | None
) -> Iterator[Flip]:
    """The flips of one plugin; `place` is that of the recorded node."""
    winners = _Winners(matrix, plugin)
    loses = winners.exclude(place, ranks)
    for weights in (_WEIGHTS[plugin.weight < _WEIGHTS], _WEIGHTS[plugin.weight > _WEIGHTS][::-1]):
        # the recorded node loses with every weight beyond the first with which it loses
        losing = weights[loses[weights]].tolist()
        if losing:
            yield _build_flip(matrix, plugin, rule, winners, losing)


def _build_flip(
    matrix: ScoreMatrix,
    plugin: PluginScores,
    rule: TieRule,
    winners: _Winners,
    losing: Sequence[int],
) -> Flip:
    """The flip at the first of these weights, proven by the totals of all nodes with it."""
    weight = last = losing[0]
    for each in losing:
        if not winners.are_equal(each, weight):
            break
        last = each
    total = matrix.total + plugin.normalized * (weight - plugin.weight)
    best = int(total.max())
    tied = [matrix.nodes[place] for place in np.flatnonzero(total == best).tolist()]
    tied.sort()
    return Flip(
        plugin.name,
        plugin.weight,
        weight,
        last,
        is_open=last == 0 or (last == MAX_WEIGHT and winners.win_beyond()),
        tied=tied,
        node=rule.choose(tied),
        total=best,
        recorded_node_total=int(total[matrix.nodes.index(rule.node)]),
    )


class _Winners:
    """The nodes with the greatest total for each weight of one plugin.

    Of the nodes with the same normalized score, only those with the most points from the other
    plugins can win, with any weight. So all weights together cost as much as a few.
    """

    def __init__(self, matrix: ScoreMatrix, plugin: PluginScores) -> None:
        rest = matrix.total - plugin.weighted
        self._values, self._classes = np.unique(plugin.normalized, return_inverse=True)
        best = np.full(len(self._values), np.iinfo(np.int64).min)
        np.maximum.at(best, self._classes, rest)
        #: (nodes,) bool, whether the node wins when its normalized score does
        self._leads: NDArray[np.bool_] = rest == best[self._classes]
        #: (normalized scores, weights) bool
        self._wins: NDArray[np.bool_] = self._find_best(best)

    def exclude(self, place: int, ranks: Column | None) -> NDArray[np.bool_]:
        """Whether the node at a place cannot be chosen, for each weight; (weights,) bool.

        `ranks` of the names, if the first one by name is chosen.
        """
        if not self._leads[place]:
            return np.ones(len(_WEIGHTS), dtype=np.bool_)
        wins: NDArray[np.bool_] = self._wins[self._classes[place]]
        if ranks is None:
            return ~wins
        first = np.full(len(self._values), len(ranks))
        np.minimum.at(first, self._classes[self._leads], ranks[self._leads])
        chosen = np.where(self._wins, first[:, None], len(ranks)).min(axis=0)
        excluded: NDArray[np.bool_] = ~wins | (chosen != ranks[place])
        return excluded

    def are_equal(self, weight: int, other: int) -> bool:
        """Whether the same nodes win with both weights."""
        return bool((self._wins[:, weight] == self._wins[:, other]).all())

    def win_beyond(self) -> bool:
        """Whether the nodes that win with MAX_WEIGHT win with any greater weight."""
        return bool(self._wins[-1, MAX_WEIGHT]) and int(self._wins[:, MAX_WEIGHT].sum()) == 1

    def _find_best(self, best: Column) -> NDArray[np.bool_]:
        totals = best[:, None] + self._values[:, None] * _WEIGHTS
        wins: NDArray[np.bool_] = totals == totals.max(axis=0)
        return wins
