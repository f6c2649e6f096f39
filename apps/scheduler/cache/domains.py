"""Topology domains: the rows of the snapshot, grouped by the value of one node label."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from apps.scheduler.framework.lazy import lazy
from apps.scheduler.framework.node_columns import BoolArray, Int64Array, LabelColumn


@dataclass(frozen=True, eq=False)
class Domains:
    """One grouping of all rows; valid until a Node object changes, then there is a new one.

    Tables over domains have ``size + 1`` entries; the last is for rows that are in no domain, so
    ``table[slots]`` spreads a table over the rows.
    """

    #: identifies this grouping
    key: Hashable
    #: (rows,) intp: the row's domain = id of its label value; ``size`` if it is in none
    slots: Int64Array
    #: number of label values ever seen, domains without rows included
    size: int
    #: (size + 1,) int64: rows in each domain; the last entry counts the nodes in no domain
    rows: Int64Array

    @lazy
    def occupied(self) -> BoolArray:
        """(size + 1,) bool: domains that have a row; the last entry: some node is in no domain."""
        return self.rows > 0

    @lazy
    def inhabited(self) -> Int64Array:
        """Domains that have a row, ascending."""
        return np.flatnonzero(self.occupied[: self.size])

    @property
    def outside(self) -> int:
        """Number of nodes that are in no domain."""
        return int(self.rows[self.size])

    def rows_in(self, slot: int) -> Int64Array:
        """The rows of a domain, ascending."""
        starts, rows = self._rows_by_slot
        return rows[starts[slot] : starts[slot + 1]]

    @lazy
    def _rows_by_slot(self) -> tuple[Int64Array, Int64Array]:
        """Where each domain's rows start, and the rows by domain."""
        rows = np.argsort(self.slots, kind="stable")
        return np.searchsorted(self.slots[rows], np.arange(self.size + 2)), rows

    def least(self, table: Int64Array) -> int:
        """The smallest entry of a table over the domains that have a row; there must be one."""
        if len(self.inhabited) == self.size:
            return int(table[: self.size].min())
        return int(table[self.inhabited].min())

    def total(self, column: Int64Array) -> Int64Array:
        """(size + 1,) int64: the sum of ``column`` over the rows of each domain; 0 outside."""
        # Sums of whole numbers are exact in float64 up to 2**53.
        sums = np.bincount(self.slots, weights=column, minlength=self.size + 1).astype(np.int64)
        sums[self.size] = 0
        return sums


def by_label(
    key: Hashable,
    column: LabelColumn,
    alive: BoolArray,
    *,
    among: BoolArray | None = None,
    absent_is_empty: bool = False,
) -> Domains:
    """Group the rows by a label.

    Nodes without the label, and those not in ``among``, are in no domain. With ``absent_is_empty``
    nodes without the label are in the domain of the value "", if there is one.
    """
    size = len(column.values)
    slots = np.where(column.ids < 0, size, column.ids).astype(np.intp)
    if absent_is_empty and "" in column.values:
        slots[alive & (column.ids < 0)] = list(column.values).index("")
    if among is not None:
        slots[~among] = size
    rows = np.bincount(slots, minlength=size + 1)
    rows[size] -= np.count_nonzero(~alive)
    slots.setflags(write=False)
    return Domains(key, slots, size, rows)
