"""Packs the scores of decisions that are recorded together.

From one decision of a kind to the next a few rows change. A column is made narrow once, and changed
for each decision, without building its array of 64-bit integers.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from apps.controlplane.ledger import columns
from apps.controlplane.ledger.columns import NarrowColumn
from apps.scheduler.framework.live_scores import Moment
from apps.scheduler.framework.nodes import Int64Array
from apps.scheduler.framework.scoring import ScoreColumn

Packed = list[Any]


class ScorePacker:
    """Packs columns of scores; the arrays must not change while it is in use."""

    def __init__(self) -> None:
        #: id of an array -> the array, which keeps the id valid, and its packed form
        self._packed: dict[int, tuple[NDArray[Any], Packed]] = {}
        #: the same with its narrow copy
        self._narrow: dict[int, tuple[NDArray[Any], NarrowColumn]] = {}
        #: (id of an origin, index) -> the origin, and the column as it was at its last moment
        self._live: dict[tuple[int, int], tuple[object, _LiveColumn]] = {}

    def pack(self, array: NDArray[Any]) -> Packed:
        """An array; the same list for the same array."""
        known = self._packed.get(id(array))
        if known is None:
            known = self._packed[id(array)] = array, columns.pack(array)
        return known[1]

    def pack_scores(self, column: ScoreColumn) -> tuple[Packed, Packed | None]:
        """The raw scores, and the normalized ones unless they are equal."""
        origin = column.origin
        if origin is None:
            raw, normalized = self.pack(column.raw), None
            if column.normalized is not column.raw:
                normalized = self.pack(column.normalized)
        else:
            moment, source = origin
            if isinstance(source, int):
                return self._pack_column(moment, source), None
            raw, normalized = self._pack_feasible(moment, source)
        return raw, None if normalized == raw else normalized

    def _pack_column(self, moment: Moment, index: int) -> Packed:
        """A column of a moment, which has changed since its first array was built."""
        if not moment.count:
            return self._pack_inside(moment, moment.changes(index)[0], None)
        key = id(moment.origin), index
        known = self._live.get(key)
        # decisions are recorded in the order of their moments, as a rule
        if known is None or known[1].count > moment.count:
            known = self._live[key] = moment.origin, _LiveColumn(moment, index)
        packed = known[1].pack(moment)
        return columns.pack(moment.column(index)) if packed is None else packed

    def _pack_feasible(self, moment: Moment, whole: ScoreColumn) -> tuple[Packed, Packed | None]:
        """The scores of the rows that are feasible then."""
        levels = whole.levels
        raw = self._pack_inside(moment, whole.raw, levels[0])
        if whole.normalized is whole.raw:
            return raw, None
        return raw, self._pack_inside(moment, whole.normalized, levels[1])

    def _pack_inside(self, moment: Moment, array: Int64Array, level: int | None) -> Packed:
        """An array of all rows at those that are feasible then; ``level``: its only value."""
        inside = moment.inside
        if inside is None or not len(moment):
            return self.pack(array[: len(moment)])
        if level is not None:
            return [len(moment), level]
        return self._narrowed(array).pack(inside)

    def _narrowed(self, array: Int64Array) -> NarrowColumn:
        known = self._narrow.get(id(array))
        if known is None:
            known = self._narrow[id(array)] = array, NarrowColumn(array)
        return known[1]


class _LiveColumn:
    """A column that follows the moments of one origin."""

    __slots__ = ("_column", "_index", "count")

    def __init__(self, moment: Moment, index: int) -> None:
        self._index = index
        self._column = NarrowColumn(moment.changes(index)[0])
        #: the changes that it contains
        self.count = 0

    def pack(self, moment: Moment) -> Packed | None:
        """The column at this moment or, if its type does not hold a value, None."""
        if moment.count > self.count:
            _, places, values = moment.changes(self._index, self.count)
            self._column.enter(places, values)
            self.count = moment.count
        return self._column.pack(moment.inside) if self._column.fits else None
