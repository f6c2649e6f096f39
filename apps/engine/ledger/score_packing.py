"""Packs the scores of decisions that are recorded together.

From one decision of a kind to the next a few rows change. A column is made narrow once, and changed
for each decision, without building its array of 64-bit integers. Where many nodes have equal
scores, the columns of a kind become one column with the number of each node's combination: half as
many bytes to compress.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.ledger import columns
from apps.engine.ledger.columns import NarrowColumn
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.plugin_scores import ScoreColumn
from apps.scheduler.framework.reuse.live_scores import ScoreSnapshot

Packed = list[Any]

#: On fewer rows, or before a column was packed so often, to find the combinations takes longer than
#: they save.
LEAST_ROWS: Final = 500
LEAST_USES: Final = 3
#: Combinations that a byte distinguishes; combinations of scores that are looked for.
_MOST: Final = 256
_WIDEST: Final = 1 << 16


class Combinations(NamedTuple):
    """The raw scores of several columns, packed."""

    #: the columns
    places: list[int]
    #: the number of the combination of each row
    numbers: Packed
    #: for each column its scores by the number of the combination
    scores: list[Packed]


class ScorePacker:
    """Packs columns of scores; the arrays must not change while it is in use."""

    def __init__(self) -> None:
        #: id of an array -> the array, which keeps the id valid, and its packed form
        self._packed: dict[int, tuple[NDArray[Any], Packed]] = {}
        #: the same with its narrow copy
        self._narrow: dict[int, tuple[NDArray[Any], NarrowColumn]] = {}
        #: (id of an origin, index) -> the origin, and the column as it was at its last snapshot
        self._live: dict[tuple[int, int], tuple[object, _LiveColumn]] = {}
        #: id of an origin -> the origin, how often its columns were packed, and their combinations
        self._combined: dict[int, tuple[object, int, _LiveCombinations | None]] = {}

    def pack(self, array: NDArray[Any]) -> Packed:
        """An array; the same list for the same array."""
        known = self._packed.get(id(array))
        if known is None:
            known = self._packed[id(array)] = array, columns.pack(array)
        return known[1]

    def pack_all(
        self, scored: Sequence[ScoreColumn]
    ) -> tuple[list[tuple[Packed, Packed | None]], Combinations | None]:
        """What `pack_scores` returns of each column of a decision, and combinations.

        Of columns that are in combinations, the array is empty.
        """
        combinations = self._combine(scored)
        if combinations is None:
            return [self.pack_scores(column) for column in scored], None
        left = set(range(len(scored))).difference(combinations.places)
        return [
            self.pack_scores(column) if place in left else ([0, 0], None)
            for place, column in enumerate(scored)
        ], combinations

    def pack_scores(self, column: ScoreColumn) -> tuple[Packed, Packed | None]:
        """The raw scores, and the normalized ones unless they are equal."""
        origin = column.origin
        if origin is None:
            raw, normalized = self.pack(column.raw), None
            if column.normalized is not column.raw:
                normalized = self.pack(column.normalized)
        else:
            snapshot, source = origin
            if isinstance(source, int):
                return self._pack_column(snapshot, source), None
            raw, normalized = self._pack_feasible(snapshot, source)
        return raw, None if normalized == raw else normalized

    def _combine(self, scored: Sequence[ScoreColumn]) -> Combinations | None:
        """The combinations of the columns that change row by row; None if they are packed alone."""
        snapshots: list[ScoreSnapshot] = []
        places, indexes = [], []
        for place, column in enumerate(scored):
            origin = column.origin
            if origin is not None and isinstance(origin[1], int):
                snapshots.append(origin[0])
                places.append(place)
                indexes.append(origin[1])
        if len(places) < 2 or len(snapshots[0]) < LEAST_ROWS:
            return None
        snapshot = snapshots[0]
        if any(each is not snapshot for each in snapshots):
            return None
        key = id(snapshot.origin)
        _, uses, known = self._combined.get(key, (None, 0, None))
        if uses + 1 >= LEAST_USES and (known is None or not known.follows(snapshot, indexes)):
            known = _LiveCombinations(snapshot, indexes)
        self._combined[key] = snapshot.origin, uses + 1, known
        packed = None if known is None else known.pack(snapshot)
        return None if packed is None else Combinations(places, *packed)

    def _pack_column(self, snapshot: ScoreSnapshot, index: int) -> Packed:
        """A column of a snapshot, which has changed since its first array was built."""
        if not snapshot.count:
            return self._pack_inside(snapshot, snapshot.changes(index)[0], None)
        key = id(snapshot.origin), index
        known = self._live.get(key)
        # decisions are recorded in the order of their snapshots, as a rule
        if known is None or known[1].count > snapshot.count:
            known = self._live[key] = snapshot.origin, _LiveColumn(snapshot, index)
        packed = known[1].pack(snapshot)
        return columns.pack(snapshot.column(index)) if packed is None else packed

    def _pack_feasible(
        self, snapshot: ScoreSnapshot, whole: ScoreColumn
    ) -> tuple[Packed, Packed | None]:
        """The scores of the rows that are feasible then."""
        levels = whole.levels
        raw = self._pack_inside(snapshot, whole.raw, levels[0])
        if whole.normalized is whole.raw:
            return raw, None
        return raw, self._pack_inside(snapshot, whole.normalized, levels[1])

    def _pack_inside(self, snapshot: ScoreSnapshot, array: Int64Array, level: int | None) -> Packed:
        """An array of all rows at those that are feasible then; ``level``: its only value."""
        inside = snapshot.inside
        if inside is None or not len(snapshot):
            return self.pack(array[: len(snapshot)])
        if level is not None:
            return [len(snapshot), level]
        return self._narrowed(array).pack(inside)

    def _narrowed(self, array: Int64Array) -> NarrowColumn:
        known = self._narrow.get(id(array))
        if known is None:
            known = self._narrow[id(array)] = array, NarrowColumn(array)
        return known[1]


class _LiveColumn:
    """A column that follows the snapshots of one origin."""

    __slots__ = ("_column", "_index", "count")

    def __init__(self, snapshot: ScoreSnapshot, index: int) -> None:
        self._index = index
        self._column = NarrowColumn(snapshot.changes(index)[0])
        #: the changes that it contains
        self.count = 0

    def pack(self, snapshot: ScoreSnapshot) -> Packed | None:
        """The column at this snapshot or, if its type does not hold a value, None."""
        if snapshot.count > self.count:
            _, places, values = snapshot.changes(self._index, self.count)
            self._column.enter(places, values)
            self.count = snapshot.count
        return self._column.pack(snapshot.inside) if self._column.fits else None


class _LiveCombinations:
    """Several columns that follow the snapshots of one origin, as one."""

    __slots__ = ("_fits", "_indexes", "_known", "_numbers", "_packed", "count")

    def __init__(self, snapshot: ScoreSnapshot, indexes: list[int]) -> None:
        self._indexes = indexes
        #: the changes that it contains
        self.count = 0
        #: whether a byte holds all numbers
        self._fits = True
        #: scores -> the number of their combination, in the order of numbers
        self._known: dict[tuple[int, ...], int] = {}
        #: the scores by number, for so many combinations
        self._packed: tuple[int, list[Packed]] = 0, []
        self._number([snapshot.changes(index)[0] for index in indexes])

    def _number(self, bases: Sequence[Int64Array]) -> None:
        """Number the combinations of the columns as they were at first."""
        keys, width = np.zeros(len(bases[0]), dtype=np.int64), 1
        for base in bases:
            lowest = int(np.minimum.reduce(base))
            span = int(np.maximum.reduce(base)) - lowest + 1
            width *= span
            if width > _WIDEST:
                self._fits = False
                return
            keys = keys * span + (base - lowest)
        present = np.bincount(keys).nonzero()[0]
        if len(present) > _MOST:
            self._fits = False
            return
        number_of = np.zeros(int(present[-1]) + 1, dtype=np.uint8)
        number_of[present] = np.arange(len(present))
        self._numbers = number_of[keys]
        # some row of each combination
        rows = np.empty(len(present), dtype=np.int64)
        rows[self._numbers] = np.arange(len(keys))
        combinations = zip(*(base[rows].tolist() for base in bases), strict=True)
        self._known = {scores: number for number, scores in enumerate(combinations)}

    def follows(self, snapshot: ScoreSnapshot, indexes: list[int]) -> bool:
        """Whether it can become the columns at this snapshot."""
        return self._indexes == indexes and self.count <= snapshot.count

    def pack(self, snapshot: ScoreSnapshot) -> tuple[Packed, list[Packed]] | None:
        """Numbers and scores at this snapshot; None if there are too many combinations."""
        if self._fits and snapshot.count > self.count:
            self._enter(snapshot)
        if not self._fits:
            return None
        numbers, inside = self._numbers, snapshot.inside
        if inside is not None:
            numbers = numbers[inside]
        if self._packed[0] != len(self._known):
            scores = [np.array(each) for each in zip(*self._known, strict=True)]
            self._packed = len(self._known), [columns.pack(each) for each in scores]
        return [len(numbers), numbers.dtype.str, numbers.tobytes()], self._packed[1]

    def _enter(self, snapshot: ScoreSnapshot) -> None:
        """The changes up to this snapshot."""
        changes = [snapshot.changes(index, self.count) for index in self._indexes]
        places = changes[0][1]
        for place, *scores in zip(places, *(values for _, _, values in changes), strict=True):
            combination = tuple(scores)
            number = self._known.setdefault(combination, len(self._known))
            if number >= _MOST:
                self._fits = False
                return
            self._numbers[place] = number
        self.count = snapshot.count
