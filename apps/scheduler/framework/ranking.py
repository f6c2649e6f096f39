"""The totals of the feasible rows, and which of them are greatest."""

from __future__ import annotations

from typing import Final

import numpy as np

from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.reuse.live_scores import ScoreSnapshot

_NOTHING: Final[Int64Array] = np.empty(0, dtype=np.int64)
_NOTHING.setflags(write=False)


class Ranking:
    """Feasible rows by their totals."""

    __slots__ = ("_rows", "_snapshot", "_ties", "_total", "best", "tied")

    def __init__(
        self,
        rows: Int64Array = _NOTHING,
        total: Int64Array | None = _NOTHING,
        snapshot: ScoreSnapshot | None = None,
        best: int | None = None,
        tied: int = 0,
    ) -> None:
        """``rows``: (n,) int64, ascending; ``total``: (n,) int64.

        Without ``total`` it is read from ``snapshot`` when it is needed; ``best`` and ``tied`` are
        those of this snapshot.
        """
        self._rows = rows
        self._total = total
        self._snapshot = snapshot
        self._ties: Int64Array | None = None
        #: the greatest total, None without rows, and the number of rows that have it
        self.best, self.tied = best, tied
        if total is not None and len(total):
            self.best = int(total.max())
            self.tied = len(self.ties)

    @property
    def total(self) -> Int64Array:
        """(n,) int64, aligned with the rows."""
        if self._total is None:
            assert self._snapshot is not None
            self._total = self._snapshot.column(-1)
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
