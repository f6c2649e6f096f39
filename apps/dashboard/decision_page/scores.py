"""The table of scores: the rows of a decision's matrix that the address selects.

A page shows a few rows; a browser with scripts fetches the whole matrix once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.dashboard.paging import NumberedPage, numbered_page
from apps.dashboard.tables import Sorting, read_sorting
from apps.engine.results.scores import VALUES, Column, Score, ScoreMatrix, compute_shades

#: Rows of a page.
SIZE = 25


@dataclass(frozen=True, slots=True)
class Cell:
    """One plugin's score of one node."""

    score: Score
    shown: int
    shade: int

    @property
    def title(self) -> str:
        """All values of the score; the cell shows one of them."""
        score = self.score
        return f"raw {score.raw:,}, normalized {score.normalized}, weighted {score.weighted:,}"


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
    """A page of rows; `value` is which of VALUES its cells show."""

    matrix: ScoreMatrix
    page: NumberedPage[ScoreRow]
    sorting: Sorting[str]
    value: str


def score_table(matrix: ScoreMatrix, query: Mapping[str, str]) -> ScoreTable:
    """The page of rows that `?q=`, `?only=`, `?sort=`, `?value=` and `?page=` select."""
    value = query.get("value", "")
    value = value if value in VALUES else VALUES[0]
    sorting = read_sorting(query, {key: key for key in matrix.sort_keys}, default="rank")
    places = matrix.find(query.get("q", "").strip(), tied=query.get("only") == "tied")
    places = matrix.sort(places, sorting.name, value=value, descending=sorting.descending)
    page = numbered_page(places.tolist(), query, size=SIZE)
    return ScoreTable(matrix, page.showing(_rows(matrix, page.rows, value)), sorting, value)


def _rows(matrix: ScoreMatrix, places: Sequence[int], value: str) -> list[ScoreRow]:
    shades = [
        compute_shades(plugin.column(value), plugin.highest(value)) for plugin in matrix.plugins
    ]
    totals = compute_shades(matrix.total, matrix.highest_total)
    return [
        ScoreRow(
            rank=int(matrix.ranks[place]),
            node=matrix.nodes[place],
            total=int(matrix.total[place]),
            shade=int(totals[place]),
            cells=_cells(matrix, place, value, shades),
            tied=place < matrix.tied,
            chosen=matrix.chosen and place == 0,
        )
        for place in places
    ]


def _cells(matrix: ScoreMatrix, place: int, value: str, shades: Sequence[Column]) -> list[Cell]:
    return [
        Cell(score, int(getattr(score, value)), int(shade[place]))
        for score, shade in zip(matrix.scores_at(place), shades, strict=True)
    ]
