"""The scores of all feasible nodes as one matrix: sorted, narrowed, shaded, and as JSON.

The page shows a few rows of it; the browser may ask for the whole once, and sort it by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.dashboard.paging import NumberedPage, numbered_page
from apps.dashboard.tables import Sorting, asked_sorting
from apps.scheduler.decision import Decision

Column = NDArray[np.int64]

#: Rows the server shows.
SIZE = 25
#: What a cell shows: the score as the plugin gave it, within 0 to 100, or times its weight.
VALUES = ("weighted", "normalized", "raw")
#: Shades a cell may have; the greatest value of a column has the last one.
SHADES = 6


@dataclass(frozen=True, slots=True)
class PluginScores:
    """One plugin's scores, aligned with the nodes of its matrix."""

    name: str
    weight: int
    raw: Column
    normalized: Column

    @property
    def weighted(self) -> Column:
        return self.normalized * self.weight

    @property
    def spread(self) -> int:
        """By how many points of the total this plugin tells nodes apart."""
        return int(np.ptp(self.weighted)) if len(self.raw) else 0


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """Feasible nodes, best first; of equal totals the chosen node first, then by name."""

    nodes: Sequence[str]
    #: (nodes,) int64, from 1; equal totals share a rank
    ranks: Column
    #: (nodes,) int64
    total: Column
    #: Those whose weighted scores differ most between nodes first.
    plugins: Sequence[PluginScores]
    #: How many nodes have the greatest total: the first ones.
    tied: int
    #: Whether the first node is the one that was taken.
    chosen: bool

    def column(self, name: str, value: str) -> Column:
        """The numbers a plugin's cells show."""
        found = next(plugin for plugin in self.plugins if plugin.name == name)
        numbers: Column = getattr(found, value)
        return numbers


@dataclass(frozen=True, slots=True)
class Cell:
    """What one plugin gave one node."""

    shown: int
    shade: int
    raw: int
    normalized: int
    weighted: int


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One node's row."""

    rank: int
    node: str
    total: int
    shade: int
    cells: Sequence[Cell]
    tied: bool
    chosen: bool


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """The rows the address asks for."""

    matrix: ScoreMatrix
    page: NumberedPage[ScoreRow]
    sorting: Sorting[str]
    value: str


def score_matrix(decision: Decision) -> ScoreMatrix:
    """The matrix of a decision; empty when nothing was scored."""
    if not len(decision.total):
        none = np.empty(0, dtype=np.int64)
        return ScoreMatrix([], none, none, [], 0, False)
    names = np.array([decision.nodes[row] for row in decision.feasible])
    order = np.lexsort((names, names != decision.node, -decision.total))
    total = decision.total[order]
    plugins = [
        PluginScores(name, column.weight, column.raw[order], column.normalized[order])
        for name, column in decision.scores.items()
    ]
    nodes = names[order].tolist()
    return ScoreMatrix(
        nodes=nodes,
        ranks=np.searchsorted(-total, -total) + 1,
        total=total,
        plugins=sorted(plugins, key=lambda plugin: (-plugin.spread, plugin.name)),
        tied=len(decision.ties),
        chosen=nodes[0] == decision.node,
    )


def score_table(matrix: ScoreMatrix, query: Mapping[str, str]) -> ScoreTable:
    """The page of rows that `?q=`, `?only=`, `?sort=`, `?value=` and `?page=` ask for."""
    value = query.get("value", "")
    value = value if value in VALUES else VALUES[0]
    names = [plugin.name for plugin in matrix.plugins]
    keys = {name: name for name in ("rank", "node", "total", *names)}
    sorting = asked_sorting(query, keys, default="rank")
    rows = _sorted(matrix, _narrowed(matrix, query), sorting, value)
    page = numbered_page(rows.tolist(), query, size=SIZE)
    shades = [shades_of(getattr(plugin, value)) for plugin in matrix.plugins]
    totals = shades_of(matrix.total)
    made = [_row(matrix, place, value, shades, totals) for place in page.rows]
    return ScoreTable(matrix, page.showing(made), sorting, value)


def shades_of(numbers: Column) -> Column:
    """A column's shades: 0 for its least value to SHADES - 1; all 0 where nothing differs."""
    span = int(np.ptp(numbers)) if len(numbers) else 0
    if not span:
        return np.zeros(len(numbers), dtype=np.int64)
    shades: Column = (numbers - numbers.min()) * (SHADES - 1) // span
    return shades


def as_json(matrix: ScoreMatrix) -> dict[str, Any]:
    """The whole matrix. A column whose values are all equal is one number."""
    return {
        "nodes": list(matrix.nodes),
        "ranks": matrix.ranks.tolist(),
        "total": _packed(matrix.total),
        "tied": matrix.tied,
        "chosen": matrix.chosen,
        "plugins": [
            {
                "name": plugin.name,
                "weight": plugin.weight,
                "raw": _packed(plugin.raw),
                "normalized": _packed(plugin.normalized),
            }
            for plugin in matrix.plugins
        ],
    }


def _packed(numbers: Column) -> int | list[int]:
    if len(numbers) and not np.ptp(numbers):
        return int(numbers[0])
    packed: list[int] = numbers.tolist()
    return packed


def _narrowed(matrix: ScoreMatrix, query: Mapping[str, str]) -> Column:
    """The places of the rows that are wanted, best first."""
    places = np.arange(matrix.tied if query.get("only") == "tied" else len(matrix.nodes))
    if text := query.get("q", "").strip():
        places = places[[text in matrix.nodes[place] for place in places.tolist()]]
    return places


def _sorted(matrix: ScoreMatrix, places: Column, sorting: Sorting[str], value: str) -> Column:
    """The same places by another column; equal ones stay best first."""
    if sorting.name == "rank":
        return places[::-1] if sorting.downwards else places
    if sorting.name == "node":
        names = np.array(matrix.nodes)[places] if len(places) else places
        order = np.argsort(names, kind="stable")
        return places[order[::-1] if sorting.downwards else order]
    by_total = sorting.name == "total"
    numbers = matrix.total if by_total else matrix.column(sorting.name, value)
    sign = -1 if sorting.downwards else 1
    return places[np.argsort(sign * numbers[places], kind="stable")]


def _row(
    matrix: ScoreMatrix, place: int, value: str, shades: Sequence[Column], totals: Column
) -> ScoreRow:
    cells = []
    for plugin, shade in zip(matrix.plugins, shades, strict=True):
        raw, normalized = int(plugin.raw[place]), int(plugin.normalized[place])
        shown = {"raw": raw, "normalized": normalized, "weighted": normalized * plugin.weight}
        cells.append(Cell(shown[value], int(shade[place]), **shown))
    return ScoreRow(
        rank=int(matrix.ranks[place]),
        node=matrix.nodes[place],
        total=int(matrix.total[place]),
        shade=int(totals[place]),
        cells=cells,
        tied=place < matrix.tied,
        chosen=matrix.chosen and place == 0,
    )
