"""The totals of the feasible rows, and which of them are greatest."""

from __future__ import annotations

from typing import Final

import numpy as np

from apps.scheduler.framework.live_scores import Moment
from apps.scheduler.framework.nodes import Int64Array

_NOTHING: Final[Int64Array] = np.empty(0, dtype=np.int64)
_NOTHING.setflags(write=False)


class Ranking:
    """Feasible rows by their totals."""

    __slots__ = ("_moment", "_rows", "_ties", "_total", "best", "tied")

    def __init__(self, rows: Int64Array = _NOTHING, total: Int64Array = _NOTHING) -> None:
        """``rows``: (n,) int64, ascending; ``total``: (n,) int64."""
        self._rows = rows
        self._total: Int64Array | None = total
        self._moment: Moment | None = None
        #: the greatest total, None without rows
        self.best: int | None = int(total.max()) if len(total) else None
        self._ties: Int64Array | None = None
        #: the number of rows that have it
        self.tied = len(self.ties)

    @classmethod
    def at_moment(cls, rows: Int64Array, moment: Moment, best: int, tied: int) -> Ranking:
        """A ranking whose arrays are built when they are first read."""
        ranking = cls.__new__(cls)
        ranking._rows, ranking._moment = rows, moment
        ranking._total = ranking._ties = None
        ranking.best, ranking.tied = best, tied
        return ranking

    @property
    def total(self) -> Int64Array:
        """(n,) int64, aligned with the rows."""
        if self._total is None:
            assert self._moment is not None
            self._total = self._moment.column(-1)
        return self._total

    @property
    def ties(self) -> Int64Array:
        """(tied,) int64, the rows with the greatest total, ascending."""
        if self._ties is None:
            total = self.total
            self._ties = self._rows.take((total == self.best).nonzero()[0]) if len(total) else total
        return self._ties


#: of a decision without scores
NO_RANKING: Final = Ranking()
