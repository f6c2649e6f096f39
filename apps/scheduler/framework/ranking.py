"""The totals of the feasible rows, and which of them are greatest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from apps.scheduler.framework.nodes import Int64Array

#: totals that change at once and are entered one by one
_MAX_STEPS: Final = 8


class Ranking:
    """Arrays are read-only: an update writes into copies."""

    __slots__ = ("_best", "_places", "_rows", "ties", "total")

    def __init__(self, rows: Int64Array, total: Int64Array) -> None:
        """``rows``: (n,) int64, ascending; ``total``: (n,) int64."""
        self._rows = rows
        self.total = total
        #: row -> its place among ``rows``, -1 if it is not there; None if all rows are there
        self._places: Int64Array | None = None
        size = int(rows[-1]) + 1 if len(rows) else 0
        if size > len(rows):
            self._places = np.full(size, -1, dtype=np.int64)
            self._places[rows] = np.arange(len(rows))
        self._rank()

    def place_of(self, row: int) -> int:
        """The place of ``row`` among the feasible rows, -1 if it is not one of them."""
        places = self._places
        if places is None:
            return row if row < len(self._rows) else -1
        return int(places[row]) if row < len(places) else -1

    def with_gains(self, gains: Mapping[int, int]) -> Ranking:
        """A ranking with other totals; ``gains``: place -> what its total gains."""
        after = Ranking.__new__(Ranking)
        after._rows, after._places = self._rows, self._places
        after._best, after.ties = self._best, self.ties
        after.total = total = self.total.copy()
        if len(gains) > _MAX_STEPS:
            places = list(gains)
            total[places] += list(gains.values())
            after._rank()
        else:
            for place, gain in gains.items():
                after._change(place, gain)
            if not len(after.ties):
                after._rank()
        total.setflags(write=False)
        after.ties.setflags(write=False)
        return after

    def _rank(self) -> None:
        if len(self._rows):
            self._best = int(self.total.max())
            self.ties = self._rows.take((self.total == self._best).nonzero()[0])
        else:
            self._best, self.ties = 0, self._rows
        self.ties.setflags(write=False)

    def _change(self, place: int, gain: int) -> None:
        """Afterwards ``ties`` is empty if the greatest total is not known any more."""
        old = int(self.total[place])
        self.total[place] = new = old + gain
        ties, best = self.ties, self._best
        if not len(ties) or not gain:
            return
        if old == best:
            at = int(ties.searchsorted(self._rows[place]))
            self.ties = np.concatenate((ties[:at], ties[at + 1 :]))
            if new > best:
                self._best, self.ties = new, self._rows[place : place + 1]
        elif new > best:
            self._best, self.ties = new, self._rows[place : place + 1]
        elif new == best:
            at = int(ties.searchsorted(self._rows[place]))
            self.ties = np.concatenate((ties[:at], self._rows[place : place + 1], ties[at:]))
