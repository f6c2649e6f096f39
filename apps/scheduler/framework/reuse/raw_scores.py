"""What Score returned for all rows, of which changed rows are entered one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from apps.scheduler.framework.node_columns import Int64Array, constant
from apps.scheduler.framework.reuse.score_plan import ScorePlan

#: what ``ScorePlan.with_sum`` returns
RowScores = tuple[int, ...]


class RawScores:
    """Columns over all rows of the snapshot, by plugin; they are not handed out.

    What is entered for a row stays beside the columns until one of them is read.
    """

    def __init__(self) -> None:
        self._columns: dict[str, Int64Array] = {}
        #: those of ``ScorePlan.changing``, and (rows,) int64 their weighted sum
        self._changing: list[Int64Array] = []
        self._sums = constant(0, 0)
        #: row -> the scores of ``_changing`` there, which the columns do not contain yet
        self._entered: dict[int, RowScores] = {}
        self._with_sum = ScorePlan((), {}, ()).with_sum

    def replace(self, plan: ScorePlan, columns: Mapping[str, Int64Array], rows: int) -> None:
        """All scores are new; ``rows`` is the number of rows."""
        self._entered.clear()
        self._columns = {name: column.copy() for name, column in columns.items()}
        self._changing = [self._columns[each.name] for each in plan.changing]
        self._with_sum = plan.with_sum
        self._sums = np.zeros(rows, dtype=np.int64)
        for each, column in zip(plan.changing, self._changing, strict=True):
            self._sums += column * each.weight

    def column(self, name: str) -> Int64Array:
        """(rows,) int64; changes with the next call of another method."""
        if self._entered:
            self._write()
        return self._columns[name]

    def enter(self, row: int, scores: RowScores) -> int | None:
        """Enter the scores of ``row``; returns what their sum gains, None if they are the same."""
        old = self._entered.get(row)
        if old is scores or old == scores:
            return None
        self._entered[row] = scores
        before: int = self._sums.item(row) if old is None else old[-1]
        return scores[-1] - before

    def enter_all(self, rows: Int64Array, name: str, scores: Int64Array, weight: int) -> Int64Array:
        """The same for k ``rows`` and one plugin: (k,) int64, what their sums gain."""
        column = self.column(name)
        gains: Int64Array = (scores - column[rows]) * weight
        column[rows] = scores
        self._sums[rows] += gains
        return gains

    def at(self, row: int) -> RowScores:
        """The scores of ``ScorePlan.changing`` for one row."""
        entered = self._entered.get(row)
        if entered is None:
            return self._with_sum([column.item(row) for column in self._changing])
        return entered

    def _write(self) -> None:
        rows = list(self._entered)
        *scores, sums = zip(*self._entered.values(), strict=True)
        for column, entered in zip(self._changing, scores, strict=True):
            column[rows] = entered
        self._sums[rows] = sums
        self._entered.clear()


def is_valid_row(scores: Sequence[int]) -> bool:
    """Whether all scores are in 0..100."""
    return not scores or (min(scores) >= 0 and max(scores) <= 100)
