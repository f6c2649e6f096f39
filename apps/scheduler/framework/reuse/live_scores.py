"""Scores that change row by row, and what they were earlier, without a copy for each time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from apps.scheduler.framework.node_columns import BoolArray, Int64Array

#: changes after which there is a new base
_MAX_CHANGES: Final = 64
#: the total of a row that is not feasible now, less than any other
_OUT: Final = -(1 << 62)

#: a row, its scores as ``ScorePlan.with_sum`` returns them, and how much its total gains
RowChange = tuple[int, tuple[int, ...], int]


class ScoreSnapshot:
    """Columns as they were; each array is built when it is first read, and read-only.

    Changes give the values of all columns at a place; the first ones are those of the columns, the
    last one is the total. Where a total is ``_OUT``, the row was not feasible, and no array has it.
    """

    __slots__ = (
        "_bases",
        "_built",
        "_count",
        "_first_total",
        "_inside",
        "_out",
        "_places",
        "_values",
    )

    def __init__(
        self,
        bases: Sequence[Int64Array],
        places: list[int],
        values: list[tuple[int, ...]],
        first_total: int,
        out: int,
    ) -> None:
        """The first ``len(places)`` of the changes apply; ``out`` rows are not feasible.

        To the totals only those from ``first_total`` on apply.
        """
        self._bases = bases
        self._places = places
        self._values = values
        self._count = len(places)
        self._first_total = first_total
        self._out = out
        self._inside: BoolArray | None = None
        self._built: dict[int, Int64Array] = {}

    def __len__(self) -> int:
        """The number of feasible rows."""
        return len(self._bases[-1]) - self._out

    def column(self, index: int) -> Int64Array:
        """Aligned with the feasible rows; the same object each time."""
        if not self._count and not self._out:
            return self._bases[index]
        built = self._built.get(index)
        if built is None:
            built = self._built[index] = self.restrict(self.whole(index))
            built.setflags(write=False)
        return built

    def whole(self, index: int) -> Int64Array:
        """The column with the rows that are not feasible."""
        base, places, changes = self.changes(index)
        if not changes:
            return base
        built = base.copy()
        built[places] = changes
        built.setflags(write=False)
        return built

    @property
    def count(self) -> int:
        """The number of changes."""
        return self._count

    @property
    def origin(self) -> object:
        """The same object for snapshots with the same columns before their changes.

        The changes of the later ones begin with those of the earlier ones.
        """
        return self._places

    def changes(self, index: int, after: int = 0) -> tuple[Int64Array, list[int], list[int]]:
        """A column before the changes, their places, and the values there.

        Of several values for one place the last one stays. The column has all rows. The first
        ``after`` changes are left out.
        """
        first = self._first_total if index == -1 else after
        places = self._places[first : self._count]
        changes = [values[index] for values in self._values[first : self._count]]
        return self._bases[index], places, changes

    @property
    def inside(self) -> BoolArray | None:
        """Which of all rows are feasible; None if all are."""
        if self._out and self._inside is None:
            self._inside = self.whole(-1) != _OUT
        return self._inside

    def restrict(self, column: Int64Array) -> Int64Array:
        """A column of all rows at those that are feasible."""
        inside = self.inside
        return column if inside is None else column[inside]


class LiveScores:
    """Columns of the feasible rows and their totals; which rows have the greatest total.

    Rows that were feasible at first may leave and return.
    """

    __slots__ = (
        "_bases",
        "_first_total",
        "_is_ranked",
        "_places",
        "_row_places",
        "_rows",
        "_total",
        "_values",
        "best",
        "out",
        "ties",
    )

    def __init__(self, rows: Int64Array, columns: Sequence[Int64Array], total: Int64Array) -> None:
        """``rows``: (n,) int64, ascending, n > 0; the other arrays are aligned with them.

        The columns must not change any more.
        """
        self._rows = rows
        self._total = total.copy()
        total.setflags(write=False)
        self._bases = [*columns, total]
        #: changes: the place, and the values of all columns there
        self._places: list[int] = []
        self._values: list[tuple[int, ...]] = []
        #: the first change that the base of the totals does not contain
        self._first_total = 0
        #: row -> its place among ``rows``, -1 if it is not there; None if all rows are there
        self._row_places: Int64Array | None = None
        size = int(rows[-1]) + 1
        if size > len(rows):
            self._row_places = np.full(size, -1, dtype=np.int64)
            self._row_places[rows] = np.arange(len(rows))
        #: how many rows have left
        self.out = 0
        #: the greatest total, and the rows that have it, ascending
        self.best = 0
        self.ties: list[int] | Int64Array = []
        #: whether they have not changed since all rows were ranked
        self._is_ranked = False
        self._rank()

    def snapshot(self) -> ScoreSnapshot:
        """The columns as they are now, the totals last; ``best`` and ``ties`` are right then."""
        if not len(self.ties):
            self._rank()
        if len(self._places) > _MAX_CHANGES:
            # The lists stay what they are: earlier snapshots refer to them.
            now = self._now()
            self._bases = [now.whole(index) for index in (*range(len(self._bases) - 1), -1)]
            self._places, self._values, self._first_total = [], [], 0
        return self._now()

    def _now(self) -> ScoreSnapshot:
        return ScoreSnapshot(self._bases, self._places, self._values, self._first_total, self.out)

    def change_each(self, changes: Iterable[RowChange]) -> None:
        """Enter new scores one by one; rows that are not feasible are ignored."""
        total, all_there, rows = self._total, self._row_places is None, len(self._rows)
        for row, scores, gain in changes:
            place = row if all_there and row < rows else self.place_of(row)
            if place < 0:
                continue
            old: int = total.item(place)
            if old == _OUT:
                continue
            new = old + gain
            if new < self.best and old < self.best:
                # Most rows are not among the best, neither before nor after.
                total[place] = new
                self._places.append(place)
                self._values.append((*scores, new))
            else:
                self._enter(place, row, scores, old, new)

    def change_all(
        self, rows: Int64Array, columns: Sequence[Int64Array], gains: Int64Array
    ) -> None:
        """Enter new scores of k ``rows``, whose totals gain so much, (k,) int64.

        ``columns``: all scores of all rows, also those that are not feasible.
        """
        if self._row_places is not None:
            known = rows[: int(rows.searchsorted(len(self._row_places)))]
            places = self._row_places[known]
            gains = gains[: len(known)][places >= 0]
            places = places[places >= 0]
        else:
            places = rows[: int(rows.searchsorted(len(self._rows)))]
            gains = gains[: len(places)]
        total = self._total[places]
        self._total[places] = np.where(total == _OUT, _OUT, total + gains)
        self._rebase([column.take(self._rows) for column in columns])

    def leave(self, row: int) -> None:
        """A feasible row is not feasible any more."""
        place = self.place_of(row)
        self.out += 1
        zeros = (0,) * (len(self._bases) - 1)
        self._enter(place, row, zeros, int(self._total[place]), _OUT)

    def enter(self, row: int, scores: tuple[int, ...], total: int) -> None:
        """A row that has left is feasible again."""
        self.out -= 1
        self._enter(self.place_of(row), row, scores, _OUT, total)

    def _enter(self, place: int, row: int, scores: tuple[int, ...], old: int, new: int) -> None:
        self._total[place] = new
        self._places.append(place)
        self._values.append((*scores, new))
        # Without ties the greatest total is not known any more.
        if not len(self.ties) or new == old:
            return
        if new > self.best:
            self.best, self.ties = new, [row]
        elif old == self.best:
            self._tie(row, leaves=True)
        elif new == self.best:
            self._tie(row, leaves=False)

    def _tie(self, row: int, *, leaves: bool) -> None:
        ties = self.ties
        if isinstance(ties, list):
            place = bisect_left(ties, row)
            ties[place : place + leaves] = [] if leaves else [row]
        elif self._is_ranked:
            # Often all are ranked again before there is another change: a list would cost more.
            place = int(ties.searchsorted(row))
            between = [] if leaves else [[row]]
            self.ties = np.concatenate((ties[:place], *between, ties[place + leaves :]))
            self._is_ranked = False
        else:
            self.ties = ties.tolist()
            self._tie(row, leaves=leaves)

    def add(self, gains: Int64Array) -> None:
        """The totals gain so much, (n,) int64; no row may have left."""
        self._total += gains
        total = self._total.copy()
        total.setflags(write=False)
        self._bases = [*self._bases[:-1], total]
        self._first_total = len(self._places)
        self._rank()

    def _rebase(self, columns: Sequence[Int64Array]) -> None:
        """Start again from these columns and ``_total``; what earlier snapshots refer to stays."""
        total = self._total.copy()
        self._bases = [*columns, total]
        for base in self._bases:
            base.setflags(write=False)
        self._places, self._values, self._first_total = [], [], 0
        self._rank()

    def place_of(self, row: int) -> int:
        """The place of ``row`` in the columns; -1 if it was not feasible at first."""
        places = self._row_places
        if places is None:
            return row if row < len(self._rows) else -1
        return int(places[row]) if row < len(places) else -1

    def _rank(self) -> None:
        self.best = int(self._total.max())
        self.ties = self._rows.take((self._total == self.best).nonzero()[0])
        self._is_ranked = True
