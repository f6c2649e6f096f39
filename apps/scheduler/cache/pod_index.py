"""How many pods of each class run where: pods that plugins cannot tell apart are one class.

Selectors are asked once per class instead of once per pod. The counts that a selector leads to are
kept as columns over rows and as totals over topology domains, which follow every pod that comes or
goes; what one pod costs depends on the columns that count it, not on the number of pods or nodes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from apps.scheduler.cache.domains import Domains
from apps.scheduler.framework.nodes import Int64Array
from apps.scheduler.framework.types import PodInfo

K = TypeVar("K", bound=Hashable)

#: columns kept; the least recently used one is dropped first
_MAX_COLUMNS = 256
#: partings of one column kept; the oldest one is dropped first
_MAX_TOTALS = 16


class Name:
    """Names a column. It is hashed once, however often the column is asked for."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, *parts: Hashable) -> None:
        self._parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Name) and self._parts == other._parts)


@dataclass(slots=True, eq=False)
class PodClass(Generic[K]):
    """Pods with equal key; ``example`` is any of them."""

    key: K
    example: PodInfo
    #: row -> number of pods of the class there, never 0
    rows: dict[int, int] = field(default_factory=dict)
    #: the columns that count pods of this class, each with what one pod counts, never 0
    hits: list[tuple[_Column[K], int]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Column(Generic[K]):
    weigh: Callable[[PodClass[K]], int]
    #: (at least rows,) int64
    counts: Int64Array
    #: key of the parting -> the parting and the sums of ``counts`` over its domains
    totals: dict[Hashable, tuple[Domains, Int64Array]] = field(default_factory=dict)
    #: the classes that have this column among their hits
    classes: set[PodClass[K]] = field(default_factory=set)

    def add(self, row: int, amount: int) -> None:
        self.counts[row] += amount
        for domains, totals in self.totals.values():
            slot = domains.slots[row]
            if slot != domains.size:
                totals[slot] += amount

    def over(self, domains: Domains) -> Int64Array:
        known = self.totals.get(domains.key)
        if known is not None and known[0] is domains:
            return known[1]
        totals = domains.total(self.counts[: len(domains.slots)])
        self.totals.pop(domains.key, None)
        self.totals[domains.key] = (domains, totals)
        if len(self.totals) > _MAX_TOTALS:
            del self.totals[next(iter(self.totals))]
        return totals

    def make_room(self, rows: int) -> None:
        self.totals.clear()
        if len(self.counts) < rows:
            grown = np.zeros(2 * rows, dtype=np.int64)
            grown[: len(self.counts)] = self.counts
            self.counts = grown


class PodIndex(Generic[K]):
    """Pods of the snapshot by the keys that ``keys_of`` gives them: none, one or several.

    ``counts(name, weigh)`` is the sum of the weights of the pods on every row, and ``totals`` that
    of the rows of every domain. The weight may depend on nothing but the class's key, on what the
    key says about its example, and on the name.
    """

    def __init__(self, keys_of: Callable[[PodInfo], Iterable[K]]) -> None:
        self._keys_of = keys_of
        self._classes: dict[K, PodClass[K]] = {}
        self._columns: OrderedDict[Name, _Column[K]] = OrderedDict()
        self._rows = 0

    def __len__(self) -> int:
        return len(self._classes)

    def __iter__(self) -> Iterator[PodClass[K]]:
        return iter(self._classes.values())

    def counts(self, name: Name, weigh: Callable[[PodClass[K]], int]) -> Int64Array:
        """(rows,) int64; a view that changes with the next snapshot: copy it to keep it."""
        return self._column(name, weigh).counts[: self._rows]

    def totals(
        self, name: Name, weigh: Callable[[PodClass[K]], int], domains: Domains
    ) -> Int64Array:
        """(domains.size + 1,) int64, 0 outside; a view that changes with the next snapshot."""
        return self._column(name, weigh).over(domains)

    def resize(self, rows: int) -> None:
        """The snapshot has so many rows now."""
        self._rows = rows
        for column in self._columns.values():
            column.make_room(rows)

    def change(self, pod: PodInfo, row: int, sign: int) -> None:
        """``pod`` came to (+1) or left (-1) ``row``."""
        for key in self._keys_of(pod):
            known = self._classes.get(key)
            if known is None:
                known = self._classes[key] = PodClass(key, pod)
                self._appear(known)
            for column, weight in known.hits:
                column.add(row, sign * weight)
            number = known.rows.get(row, 0) + sign
            if number:
                known.rows[row] = number
                continue
            del known.rows[row]
            if not known.rows:
                del self._classes[key]
                self._vanish(known)

    def _appear(self, known: PodClass[K]) -> None:
        for column in self._columns.values():
            _weigh(column, known)

    def _vanish(self, known: PodClass[K]) -> None:
        for column, _ in known.hits:
            column.classes.discard(known)

    def _column(self, name: Name, weigh: Callable[[PodClass[K]], int]) -> _Column[K]:
        column = self._columns.get(name)
        if column is not None:
            self._columns.move_to_end(name)
            return column
        column = self._columns[name] = _Column(weigh, np.zeros(self._rows, dtype=np.int64))
        for known in self._classes.values():
            weight = _weigh(column, known)
            if weight:
                rows = np.fromiter(known.rows, dtype=np.intp, count=len(known.rows))
                numbers = np.fromiter(known.rows.values(), dtype=np.int64, count=len(known.rows))
                column.counts[rows] += weight * numbers
        if len(self._columns) > _MAX_COLUMNS:
            self._drop(self._columns.popitem(last=False)[1])
        return column

    def _drop(self, column: _Column[K]) -> None:
        for known in column.classes:
            known.hits = [hit for hit in known.hits if hit[0] is not column]


def _weigh(column: _Column[K], known: PodClass[K]) -> int:
    weight = column.weigh(known)
    if weight:
        known.hits.append((column, weight))
        column.classes.add(known)
    return weight
