"""Columns cached across cycles, of which only changed rows are computed again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.cache.interning import RowLog
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns

#: cached columns at most; with 5,000 nodes an int64 column is 40 KB
_MAX_COLUMNS = 512


@dataclass(slots=True)
class _Memo:
    column: NDArray[Any]
    #: position in the log up to which the column is current
    position: int


class Memos:
    """See NodeColumns.memo. Returned columns never change: an update creates a copy."""

    def __init__(self) -> None:
        self._memos: OrderedDict[Hashable, _Memo] = OrderedDict()
        #: the last overlay of changed rows, for other columns with the same position
        self._lagging: tuple[RowLog, int, int, Int64Array | None, NodeColumns] | None = None

    def clear(self) -> None:
        """Remove all columns, e.g. because there are more rows now."""
        self._memos.clear()
        self._lagging = None

    def get(
        self,
        key: Hashable,
        compute: Callable[[NodeColumns], NDArray[Any]],
        nodes: NodeColumns,
        log: RowLog,
    ) -> NDArray[Any]:
        memo = self._memos.get(key)
        if memo is None:
            memo = self._memos[key] = _Memo(_freeze(compute(nodes)), log.position)
            if len(self._memos) > _MAX_COLUMNS:
                self._memos.popitem(last=False)
        elif memo.position != log.position:
            self._memos.move_to_end(key)
            rows, changed = self._changed_rows(nodes, log, memo.position)
            if rows is None:
                memo.column = _freeze(compute(nodes))
            else:
                column = memo.column.copy()
                column[..., rows] = compute(changed)
                memo.column = _freeze(column)
            memo.position = log.position
        return memo.column

    def _changed_rows(
        self, nodes: NodeColumns, log: RowLog, position: int
    ) -> tuple[Int64Array | None, NodeColumns]:
        """The rows changed since ``position`` as a table; (None, all) if they are too many."""
        last = self._lagging
        if last is None or last[0] is not log or last[1:3] != (position, log.position):
            logged = log.since(position, limit=len(nodes) // 4)
            rows = None if logged is None else np.array(logged, dtype=np.int64)
            changed = nodes if rows is None else nodes.select(rows)
            last = self._lagging = (log, position, log.position, rows, changed)
        return last[3:]


def _freeze(column: NDArray[Any]) -> NDArray[Any]:
    column.setflags(write=False)
    return column
