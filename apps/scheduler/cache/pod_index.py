"""How many pods of each class run where: pods that plugins cannot tell apart are one class.

Selectors are asked once per class instead of once per pod, and the counts that a selector leads to
are kept as columns which follow every pod that comes or goes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

import numpy as np

from apps.scheduler.framework.nodes import Int64Array
from apps.scheduler.framework.types import PodInfo

#: columns kept; the least recently used one is dropped first
_MAX_COLUMNS = 256


@dataclass(slots=True, eq=False)
class PodClass:
    """Pods with equal key; ``example`` is any of them."""

    example: PodInfo
    #: row -> number of pods of the class there, never 0
    rows: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Column:
    weigh: Callable[[PodInfo], int]
    counts: Int64Array
    #: class key -> weight of one pod
    weights: dict[Hashable, int]


class PodIndex:
    """Pods of the snapshot by ``key_of``; pods whose key is None are left out.

    ``column(key, weigh)`` is the sum of the weights of the pods on every row. The weight may depend
    on nothing but what ``key_of`` covers, and on ``key``.
    """

    def __init__(self, key_of: Callable[[PodInfo], Hashable | None]) -> None:
        self._key_of = key_of
        self._classes: dict[Hashable, PodClass] = {}
        self._columns: OrderedDict[Hashable, _Column] = OrderedDict()
        self._rows = 0

    def __len__(self) -> int:
        return len(self._classes)

    def classes(self) -> Iterator[PodClass]:
        return iter(self._classes.values())

    def resize(self, rows: int) -> None:
        """The snapshot has so many rows now."""
        self._rows = rows
        for column in self._columns.values():
            grown = np.zeros(rows, dtype=np.int64)
            grown[: len(column.counts)] = column.counts
            column.counts = grown

    def change(self, pod: PodInfo, row: int, sign: int) -> None:
        """``pod`` came to (+1) or left (-1) ``row``."""
        key = self._key_of(pod)
        if key is None:
            return
        known = self._classes.get(key)
        if known is None:
            known = self._classes[key] = PodClass(pod)
        known.rows[row] = known.rows.get(row, 0) + sign
        for column in self._columns.values():
            weight = column.weights.get(key)
            if weight is None:
                weight = column.weights[key] = column.weigh(pod)
            if weight:
                column.counts[row] += sign * weight
        if known.rows[row] == 0:
            del known.rows[row]
            if not known.rows:
                self._forget(key)

    def _forget(self, key: Hashable) -> None:
        del self._classes[key]
        for column in self._columns.values():
            column.weights.pop(key, None)

    def column(self, key: Hashable, weigh: Callable[[PodInfo], int]) -> Int64Array:
        """(rows,) int64; a view that changes with the next snapshot: copy it to keep it."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = self._count(weigh)
            if len(self._columns) > _MAX_COLUMNS:
                self._columns.popitem(last=False)
        else:
            self._columns.move_to_end(key)
        return column.counts

    def _count(self, weigh: Callable[[PodInfo], int]) -> _Column:
        counts = np.zeros(self._rows, dtype=np.int64)
        weights: dict[Hashable, int] = {}
        for key, known in self._classes.items():
            weight = weights[key] = weigh(known.example)
            if weight:
                for row, number in known.rows.items():
                    counts[row] += weight * number
        return _Column(weigh, counts, weights)
