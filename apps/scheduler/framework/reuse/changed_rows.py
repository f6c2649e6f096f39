"""The rows of a snapshot that changed since some moment, as a table of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.overlay import RecomputingOverlay

if TYPE_CHECKING:
    from apps.scheduler.cache.snapshot import Snapshot


class ChangedRows:
    """Valid until the snapshot is next updated; the table is built when it is first used."""

    def __init__(self, snapshot: Snapshot, listed: Sequence[int] | None) -> None:
        """``listed``: ascending; None if all rows count as changed."""
        self._snapshot = snapshot
        self.listed = listed
        self._part: ChangedRows | None = None

    def __len__(self) -> int:
        return len(self._snapshot) if self.listed is None else len(self.listed)

    @lazy
    def rows(self) -> Int64Array:
        """(k,) int64, ascending."""
        if self.listed is None:
            return self._snapshot.snapshot_rows
        return np.array(self.listed, dtype=np.int64)

    @lazy
    def amounts(self) -> list[int]:
        """By row, if the rows are listed: see ``Snapshot.amounts_of``."""
        assert self.listed is not None
        return self._snapshot.amounts_of(self.listed)

    @lazy
    def nodes(self) -> RecomputingOverlay:
        """The k rows, for plugins."""
        return RecomputingOverlay(self._snapshot, self.rows)

    @lazy
    def every(self) -> Int64Array:
        """(k,) int64, the rows of ``nodes``."""
        return np.arange(len(self), dtype=np.int64)

    def only(self, rows: list[int]) -> ChangedRows:
        """The part with these of the rows, ascending; the same object for the same rows."""
        if rows == self.listed:
            return self
        if self._part is None or self._part.listed != rows:
            self._part = ChangedRows(self._snapshot, rows)
        return self._part
