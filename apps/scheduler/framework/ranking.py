"""The totals of the feasible rows, and which of them are greatest."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

import numpy as np

from apps.scheduler.framework.live_column import LiveColumn, Moment
from apps.scheduler.framework.nodes import Int64Array

_NOTHING: Final[Int64Array] = np.empty(0, dtype=np.int64)
_NOTHING.setflags(write=False)


class Ranking:
    """Feasible rows by their totals."""

    __slots__ = ("_rows", "_ties", "_total", "best", "tied")

    def __init__(self, rows: Int64Array = _NOTHING, total: Int64Array = _NOTHING) -> None:
        """``rows``: (n,) int64, ascending; ``total``: (n,) int64."""
        self._rows = rows
        self._total: Int64Array | Moment = total
        #: the greatest total, None without rows
        self.best: int | None = int(total.max()) if len(total) else None
        self._ties: Int64Array | None = None
        #: the number of rows that have it
        self.tied = len(self.ties)

    @classmethod
    def at_moment(cls, rows: Int64Array, total: Moment, best: int, tied: int) -> Ranking:
        """A ranking whose arrays are built when they are first read."""
        ranking = cls.__new__(cls)
        ranking._rows, ranking._total, ranking._ties = rows, total, None
        ranking.best, ranking.tied = best, tied
        return ranking

    @property
    def total(self) -> Int64Array:
        """(n,) int64, aligned with the rows."""
        return self._total.array if isinstance(self._total, Moment) else self._total

    @property
    def ties(self) -> Int64Array:
        """(tied,) int64, the rows with the greatest total, ascending."""
        if self._ties is None:
            total = self.total
            self._ties = self._rows.take((total == self.best).nonzero()[0]) if len(total) else total
        return self._ties


#: of a decision without scores
NO_RANKING: Final = Ranking()


class LiveRanking:
    """A ranking that follows changes of totals."""

    __slots__ = ("_best", "_column", "_places", "_rows", "_total", "ties")

    def __init__(self, rows: Int64Array, total: Int64Array) -> None:
        """``rows``: (n,) int64, ascending, n > 0; ``total``: (n,) int64."""
        self._rows = rows
        self._column = LiveColumn(total)
        self._total = total.copy()
        #: row -> its place among ``rows``, -1 if it is not there; None if all rows are there
        self._places: Int64Array | None = None
        size = int(rows[-1]) + 1
        if size > len(rows):
            self._places = np.full(size, -1, dtype=np.int64)
            self._places[rows] = np.arange(len(rows))
        self._best = 0
        #: the rows with the greatest total, ascending
        self.ties: list[int] = []
        self._rank()

    def now(self) -> Ranking:
        """The ranking as it is now."""
        if not self.ties:
            self._rank()
        return Ranking.at_moment(self._rows, self._column.moment(), self._best, len(self.ties))

    def place_of(self, row: int) -> int:
        """The place of ``row`` among the feasible rows, -1 if it is not one of them."""
        places = self._places
        if places is None:
            return row if row < len(self._rows) else -1
        return int(places[row]) if row < len(places) else -1

    def add(self, row: int, gain: int) -> None:
        """The total of ``row`` gains so much; nothing happens if the row is not feasible."""
        place, total = self.place_of(row), self._total
        if place < 0:
            return
        old = int(total[place])
        total[place] = new = old + gain
        self._column.set(place, new)
        # Without ties the greatest total is not known any more.
        if not self.ties or not gain:
            return
        if new > self._best:
            self._best, self.ties = new, [row]
        elif old == self._best:
            del self.ties[bisect_left(self.ties, row)]
        elif new == self._best:
            self.ties.insert(bisect_left(self.ties, row), row)

    def _rank(self) -> None:
        self._best = int(self._total.max())
        self.ties = self._rows.take((self._total == self._best).nonzero()[0]).tolist()
