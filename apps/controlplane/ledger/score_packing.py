"""Packs the scores of decisions that follow each other, without building the array of each.

From one decision of a kind to the next a few rows change. The narrow copy of a column is brought
from one moment to the next by these changes; only its bytes are copied for each decision.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.controlplane.ledger import columns
from apps.controlplane.ledger.columns import NarrowColumn
from apps.scheduler.framework.live_scores import OUT, Moment
from apps.scheduler.framework.scoring import ScoreColumn


class _Course:
    """The columns of moments that differ only in the number of changes."""

    def __init__(self, moment: Moment) -> None:
        #: keeps the id of its bases valid
        self._first = moment
        #: index -> column, and how many changes it has
        self._columns: dict[int, tuple[NarrowColumn, int]] = {}
        self._inside: NDArray[np.bool_] | None = None
        self._inside_count = 0

    def column(self, moment: Moment, index: int) -> NDArray[Any]:
        """With the rows that are not feasible."""
        column, count = self._columns.get(index) or (None, 0)
        if column is None or count > moment.count:
            column, count = NarrowColumn(moment.bases[index]), 0
        for place, value in moment.changes(index, count):
            column[place] = value
        self._columns[index] = column, moment.count
        return column.array

    def inside(self, moment: Moment) -> NDArray[np.bool_]:
        """Which rows are feasible."""
        inside, count = self._inside, self._inside_count
        if inside is None or count > moment.count:
            inside, count = moment.bases[-1] != OUT, 0
        for place, total in moment.changes(-1, count):
            inside[place] = total != OUT
        self._inside, self._inside_count = inside, moment.count
        return inside


class ScorePacker:
    """Packs columns of scores as `columns.pack` does; for decisions of one batch, in any order.

    Arrays must not change while the packer is in use.
    """

    def __init__(self) -> None:
        self._courses: dict[int, _Course] = {}
        #: id of an array -> the array and its packed form
        self._packed: dict[int, tuple[NDArray[Any], list[Any]]] = {}
        #: id of an array -> the array and its narrow copy
        self._narrow: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}

    def pack_scores(self, column: ScoreColumn) -> tuple[list[Any], list[Any] | None]:
        """The raw scores, and the normalized ones unless they are equal."""
        if column.origin is None:
            raw, whole = column.raw, column
            pack = self.pack
        else:
            moment, source = column.origin
            if not isinstance(source, ScoreColumn):
                return self._pack_moment(moment, source), None
            raw, whole = source.raw, source
            pack = partial(self._pack_restricted, moment)
        packed = pack(raw)
        if whole.normalized is raw:
            return packed, None
        normalized = pack(whole.normalized)
        return packed, None if normalized == packed else normalized

    def pack(self, array: NDArray[Any]) -> list[Any]:
        """An array; the same list for the same array."""
        known = self._packed.get(id(array))
        if known is None:
            known = self._packed[id(array)] = array, columns.pack(array)
        return known[1]

    def _pack_moment(self, moment: Moment, index: int) -> list[Any]:
        """A column of a moment, at the rows that are feasible then."""
        if not (moment.count or moment.out):
            return self.pack(moment.bases[index])
        return self._pack_feasible(moment, self._course(moment).column(moment, index))

    def _pack_restricted(self, moment: Moment, whole: NDArray[Any]) -> list[Any]:
        """An array of all rows at those that are feasible then."""
        if len(packed := self.pack(whole)) == 2 and len(moment):
            return [len(moment), packed[1]]
        known = self._narrow.get(id(whole))
        if known is None:
            known = self._narrow[id(whole)] = whole, NarrowColumn(whole).array
        return self._pack_feasible(moment, known[1])

    def _pack_feasible(self, moment: Moment, column: NDArray[Any]) -> list[Any]:
        if moment.out:
            column = column[self._course(moment).inside(moment)]
        return columns.pack(column)

    def _course(self, moment: Moment) -> _Course:
        course = self._courses.get(id(moment.bases))
        if course is None:
            course = self._courses[id(moment.bases)] = _Course(moment)
        return course
