"""The verdicts of filters on all rows, of which changed rows are entered."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.reuse.verdict_layer import moved
from apps.scheduler.framework.summary import NOTHING_REFUSED, Summary
from apps.scheduler.framework.verdicts import Passed, add_refusals

#: rows whose statuses are entered one by one; more than these are worth all statuses
_MAX_STEPS: Final = 16

#: the verdicts of the filters on one row, in their order
RowVerdicts = tuple[int, ...]


class FilterColumns:
    """What filters answer about each row, on top of the refusals of the filters before them.

    A filter that was not asked about a row, because one before it refused, has any verdict there.
    """

    def __init__(self, below: NodeStatuses, names: Sequence[str]) -> None:
        """``below``: the statuses after the filters before ``names``; must not change any more."""
        self.below = below
        self._names = names
        #: by filter: a column of its own, None while it passes all rows
        self._columns: list[Verdicts | None] = [None] * len(names)
        #: whether all of them are None, and what ``at`` returns then
        self.passes_all, self._passing = True, (0,) * len(names)
        #: by filter: verdict -> the id of its status
        self._numbers: list[dict[int, int]] = []
        #: how many rows have each of the statuses; None if not counted yet
        self._used: list[int] | None = None

    def replace(self, rows: Int64Array, answers: Sequence[Verdicts | None]) -> Int64Array | None:
        """Enter answers about k ``rows``; returns those that passed below and have another verdict.

        ``answers`` may end with the filter that refused the last row. None if a plugin has other
        statuses than before.
        """
        differs = np.zeros(len(rows), dtype=np.bool_)
        for place, answer in enumerate(answers):
            column = self._columns[place]
            if column is None and (answer is None or not answer.ids.any()):
                continue
            if column is None or answer is None:
                column = self._column(place, column or answer)
            elif column.statuses is not answer.statuses:
                return None
            new = 0 if answer is None else answer.ids
            changed = column.ids[rows] != new
            if changed.any():
                column.ids[rows] = new
                differs |= changed
        differs &= self.below.ids[rows] == NodeStatuses.FEASIBLE
        return rows[differs]

    def _column(self, place: int, like: Verdicts | None) -> Verdicts:
        assert like is not None
        column = self._columns[place]
        if column is None:
            ids = np.zeros(len(self.below.ids), dtype=like.ids.dtype)
            column = self._columns[place] = Verdicts(ids, like.statuses)
            self.passes_all = False
        return column

    def at(self, row: int) -> RowVerdicts:
        """The verdicts on a row."""
        if self.passes_all:
            return self._passing
        return tuple([0 if each is None else each.ids.item(row) for each in self._columns])

    def set(self, row: int, verdicts: RowVerdicts) -> None:
        """Enter what ``at`` returned for a row on which the filters answer the same."""
        for column, verdict in zip(self._columns, verdicts, strict=True):
            if column is not None:
                column.ids[row] = verdict

    def compose(self) -> Passed | None:
        """All statuses; None if no row is left before the last filter."""
        statuses, left = self.below.copy(), True
        self._numbers, self._used = [], None
        for name, column in zip(self._names, self._columns, strict=True):
            if not left:
                return None
            numbers: dict[int, int] = {}
            if column is not None:
                left = add_refusals(statuses, column, name, numbers)
            self._numbers.append(numbers)
        feasible = np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE)
        return Passed(statuses, feasible, _summary(statuses, len(feasible)))

    def update(self, passed: Passed, rows: Collection[int]) -> Passed | None:
        """``passed`` with the new verdicts of ``rows``, which passed below; None as ``compose``."""
        if len(rows) <= _MAX_STEPS and len(passed.feasible):
            updated = self._enter(passed, list(rows))
            if updated is not None:
                return updated
        return self.compose()

    def _enter(self, passed: Passed, rows: list[int]) -> Passed | None:
        """``update`` row by row; None if other statuses are used then."""
        ids = passed.statuses.ids
        old, new = ids[rows].tolist(), []
        for row in rows:
            number = self._number(row)
            if number is None:
                return None
            new.append(number)
        if self._used is None:
            self._used = np.bincount(ids + 1, minlength=len(passed.statuses.statuses) + 1).tolist()
        used = list(self._used)
        for before, after in zip(old, new, strict=True):
            used[before + 1] -= 1
            used[after + 1] += 1
        if 0 in used[1:]:
            return None
        self._used = used
        ids = ids.copy()
        ids[rows] = new
        return passed.replace(ids, moved(passed.feasible, rows, old, new))

    def _number(self, row: int) -> int | None:
        """The id of the row's status; None if no row had it."""
        for column, numbers in zip(self._columns, self._numbers, strict=True):
            verdict = 0 if column is None else int(column.ids[row])
            if verdict:
                return numbers.get(verdict)
        return NodeStatuses.FEASIBLE


def _summary(statuses: NodeStatuses, feasible: int) -> Summary:
    """The summary of statuses each of which some row has."""
    if len(statuses.statuses) == 1:
        return NOTHING_REFUSED
    evaluated = int(np.count_nonzero(statuses.ids >= NodeStatuses.FEASIBLE))
    used = tuple(status for status in statuses.statuses if status is not None)
    return Summary(evaluated - feasible, used)
