"""The scores of a decision as one matrix, plugins by feasible nodes: its order and its shades.

A matrix is ordered once, here: nodes by descending total; plugins by descending spread of their
scores. Other orders are permutations of it (`ScoreMatrix.sort`). All columns are (nodes,) int64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.decision import Decision

Column = NDArray[np.int64]

#: The values of a score: times its weight, from 0 to 100, as returned by Score.
VALUES = ("weighted", "normalized", "raw")
#: Shades of a cell, from a score of zero to the highest possible one.
SHADES = 6
#: The highest score after NormalizeScore.
MAX_NORMALIZED = 100


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one node by one plugin."""

    plugin: str
    weight: int
    raw: int
    normalized: int
    weighted: int


@dataclass(frozen=True, slots=True)
class PluginScores:
    """One plugin's scores, aligned with the nodes of its matrix."""

    name: str
    weight: int
    #: what Score returned, any int64
    raw: Column
    #: after NormalizeScore, from 0 to 100
    normalized: Column
    #: normalized times weight
    weighted: Column

    ANSWER: ClassVar = ("plugin", "weight", "raw", "normalized")

    @property
    def plugin(self) -> str:
        return self.name

    @property
    def spread(self) -> int:
        """The difference between the greatest and the smallest weighted score."""
        return int(self.weighted.max()) - int(self.weighted.min()) if len(self.weighted) else 0

    def column(self, value: str) -> Column:
        """The column of one of VALUES."""
        return {"weighted": self.weighted, "normalized": self.normalized, "raw": self.raw}[value]

    def highest(self, value: str) -> int:
        """The highest possible value of a column; 0 if there is no limit."""
        return {"weighted": MAX_NORMALIZED * self.weight, "normalized": MAX_NORMALIZED}.get(
            value, 0
        )

    def at(self, place: int) -> Score:
        """The score of the node at a place of the matrix."""
        numbers = (int(self.column(value)[place]) for value in ("raw", "normalized", "weighted"))
        return Score(self.name, self.weight, *numbers)


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """Columns with an entry for each node of `nodes`; empty if no node was scored."""

    #: by descending total; among equal totals the selected node first, then by name
    nodes: Sequence[str]
    #: from 1; equal totals share a rank
    ranks: Column
    total: Column
    #: by descending range of their weighted scores, then by name
    plugins: Sequence[PluginScores]
    #: number of nodes with the highest total; they come first
    tied: int
    #: whether the first node was selected
    chosen: bool

    ANSWER: ClassVar = ("nodes", "ranks", "total", "tied", "chosen", "plugins")

    def cut(self, first: int | None) -> ScoreMatrix:
        """The columns of the first nodes, or of all."""
        return replace(
            self,
            nodes=self.nodes[:first],
            ranks=self.ranks[:first],
            total=self.total[:first],
            plugins=[
                replace(each, raw=each.raw[:first], normalized=each.normalized[:first])
                for each in self.plugins
            ],
        )

    @property
    def highest_total(self) -> int:
        """The total of a node with the highest score of every plugin."""
        return sum(plugin.highest("weighted") for plugin in self.plugins)

    def find_place(self, node: str) -> int | None:
        """The node's place, from 0; None for a node without scores."""
        return self.nodes.index(node) if node in self.nodes else None

    def scores_at(self, place: int) -> list[Score]:
        """Every plugin's score of the node at a place."""
        return [plugin.at(place) for plugin in self.plugins]

    def find(self, text: str = "", *, tied: bool = False) -> Column:
        """The places of nodes whose name contains the text; `tied`: with the greatest total."""
        places = np.arange(self.tied if tied else len(self.nodes))
        return places[[text in self.nodes[place] for place in places.tolist()]] if text else places

    @property
    def sort_keys(self) -> tuple[str, ...]:
        """What `sort` sorts by."""
        return ("rank", "node", "total", *(plugin.name for plugin in self.plugins))

    def sort(self, places: Column, key: str, *, value: str, descending: bool = False) -> Column:
        """The places by one of `sort_keys`, a plugin's scores as one of VALUES.

        Places with equal scores keep their order.
        """
        if key == "rank":
            return places[::-1] if descending else places
        keys = self._keys(key, value)[places]
        # positions among the distinct values: names and the least int64 have no negative
        positions = np.unique(keys, return_inverse=True)[1].astype(np.int64)
        return places[np.argsort(-positions if descending else positions, kind="stable")]

    def _keys(self, key: str, value: str) -> NDArray[np.generic]:
        if key == "node":
            return np.array(self.nodes)
        if key == "total":
            return self.total
        return next(plugin for plugin in self.plugins if plugin.name == key).column(value)


def score_matrix(decision: Decision) -> ScoreMatrix:
    """The matrix of a decision; empty if nothing was scored."""
    if not len(decision.total):
        none = np.empty(0, dtype=np.int64)
        return ScoreMatrix((), none, none, (), 0, False)
    names = np.array([decision.nodes[row] for row in decision.feasible.tolist()])
    order = np.lexsort((names, names != decision.node, -decision.total))
    total, nodes = decision.total[order], names[order].tolist()
    plugins = [
        PluginScores(
            name,
            column.weight,
            column.raw[order],
            column.normalized[order],
            column.weighted[order],
        )
        for name, column in decision.scores.items()
    ]
    return ScoreMatrix(
        nodes=nodes,
        ranks=np.searchsorted(-total, -total) + 1,
        total=total,
        plugins=sorted(plugins, key=lambda plugin: (-plugin.spread, plugin.name)),
        tied=len(decision.ties),
        chosen=nodes[0] == decision.node,
    )


def rank_names(names: Sequence[str]) -> Column:
    """The position of each name among all of them in order, from 0."""
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[np.argsort(np.array(names))] = np.arange(len(names))
    return ranks


def compute_shades(numbers: Column, highest: int = 0) -> Column:
    """A column's shades, in proportion: 0 for zero, SHADES - 1 for `highest` or the greatest value.

    Values below zero, which only raw scores have, move the first shade to the least one.
    """
    if not len(numbers):
        return np.zeros(0, dtype=np.int64)
    least = min(0, int(numbers.min()))
    length = max(highest, int(numbers.max())) - least
    # as floats, since the differences of int64 numbers may exceed an int64
    above = numbers.astype(np.float64) - least
    shades: Column = np.floor(above * (SHADES - 1) / max(1, length)).astype(np.int64)
    return np.clip(shades, 0, SHADES - 1)
