"""How many pods of each class are on each row: equivalent pods (of equal key) are one class.

Selectors are evaluated once per class instead of once per pod. The counts of a selector are stored
as columns over rows and as totals over topology domains, and are updated for every pod that is
added or removed; the cost per pod depends on the columns that count it, not on the number of pods
or nodes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from apps.scheduler.cache.change_log import ChangeLog
from apps.scheduler.cache.domains import Domains
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.types import PodInfo

K = TypeVar("K", bound=Hashable)

#: size of all columns together at most; the least recently used one is dropped first
_MAX_BYTES = 48 * 1024 * 1024
_MIN_COLUMNS = 64
#: groupings stored for one column at most; the oldest one is dropped first
_MAX_TOTALS = 16


class Name:
    """Names a column. Its hash is computed only once."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, *parts: Hashable) -> None:
        self._parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Name) and self._parts == other._parts)


class Counted(Protocol[K]):
    """What a column counts. Equal names mean equal columns."""

    @property
    def name(self) -> Name: ...

    @property
    def tags(self) -> Collection[Hashable] | None:
        """Only classes with at least one of these tags count; None = any class may."""

    def weigh(self, known: PodClass[K]) -> int:
        """The weight of one pod of the class; may depend on nothing but the class's key."""


@dataclass(slots=True, eq=False)
class Sums:
    """Sums of weights by row or by domain; they follow the snapshot.

    There is a new object when the rows or their domains change.
    """

    #: int64; changed in place with the next snapshot: copy it to store it
    values: Int64Array
    #: the indexes into ``values`` that changed
    log: ChangeLog[int] = field(default_factory=ChangeLog)

    @property
    def position(self) -> int:
        """Increases with every change."""
        return self.log.position

    def add(self, place: int, amount: int) -> None:
        self.values[place] += amount
        self.log.append(place)


@dataclass(slots=True, eq=False)
class PodClass(Generic[K]):
    """Pods with equal keys; ``example`` is one of them."""

    key: K
    example: PodInfo
    #: row -> number of pods of the class there, never 0
    rows: dict[int, int] = field(default_factory=dict)
    #: the columns that count pods of this class, each with the weight of one pod, never 0
    hits: list[tuple[_Column[K], int]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Column(Generic[K]):
    counted: Counted[K]
    #: (rows,) int64, a part of an array that may be longer
    counts: Sums
    #: key of the grouping -> the grouping and the sums of ``counts`` over its domains
    totals: dict[Hashable, tuple[Domains, Sums]] = field(default_factory=dict)
    #: the classes that have this column among their hits
    classes: set[PodClass[K]] = field(default_factory=set)

    def add_class(self, known: PodClass[K]) -> int:
        """Count pods of this class from now on; returns the weight of one pod."""
        weight = self.counted.weigh(known)
        if weight:
            known.hits.append((self, weight))
            self.classes.add(known)
        return weight

    def add(self, row: int, amount: int) -> None:
        self.counts.add(row, amount)
        for domains, totals in self.totals.values():
            slot = int(domains.slots[row])
            if slot != domains.size:
                totals.add(slot, amount)

    def totals_by(self, domains: Domains) -> Sums:
        known = self.totals.get(domains.key)
        if known is not None and known[0] is domains:
            return known[1]
        totals = Sums(domains.total(self.counts.values))
        self.totals.pop(domains.key, None)
        self.totals[domains.key] = (domains, totals)
        if len(self.totals) > _MAX_TOTALS:
            del self.totals[next(iter(self.totals))]
        return totals

    def resize(self, rows: int) -> None:
        self.totals.clear()
        values = self.counts.values
        whole = values if values.base is None else values.base
        if len(whole) < rows:
            grown = np.zeros(2 * rows, dtype=np.int64)
            grown[: len(values)] = values
            whole = grown
        self.counts = Sums(whole[:rows])


class PodIndex(Generic[K]):
    """Pods of the snapshot by the keys that ``keys_of`` returns: none, one or several.

    ``tags_of`` returns the tags of a key. For a column only the classes with one of its tags are
    considered.
    """

    def __init__(
        self,
        keys_of: Callable[[PodInfo], Iterable[K]],
        tags_of: Callable[[K], Iterable[Hashable]],
    ) -> None:
        self._keys_of = keys_of
        self._tags_of = tags_of
        self._classes: dict[K, PodClass[K]] = {}
        self._columns: OrderedDict[Name, _Column[K]] = OrderedDict()
        #: tag -> the classes that have it
        self._classes_by_tag: dict[Hashable, dict[PodClass[K], None]] = {}
        #: tag -> the columns with it; None -> the columns without tags
        self._columns_by_tag: dict[Hashable, dict[_Column[K], None]] = {}
        self._rows = 0

    def __len__(self) -> int:
        return len(self._classes)

    def __iter__(self) -> Iterator[PodClass[K]]:
        return iter(self._classes.values())

    def counts(self, counted: Counted[K]) -> Sums:
        """(rows,) int64, the sum of the weights of the pods on every row."""
        return self._column(counted).counts

    def totals(self, counted: Counted[K], domains: Domains) -> Sums:
        """(domains.size + 1,) int64, the same by domain; 0 outside."""
        return self._column(counted).totals_by(domains)

    def resize(self, rows: int) -> None:
        """The snapshot now has ``rows`` rows."""
        self._rows = rows
        for column in self._columns.values():
            column.resize(rows)

    def change(self, pod: PodInfo, row: int, sign: int) -> None:
        """``pod`` was added to (+1) or removed from (-1) ``row``."""
        for key in self._keys_of(pod):
            known = self._classes.get(key)
            if known is None:
                known = self._classes[key] = PodClass(key, pod)
                self._add_class(known)
            for column, weight in known.hits:
                column.add(row, sign * weight)
            number = known.rows.get(row, 0) + sign
            if number:
                known.rows[row] = number
                continue
            del known.rows[row]
            if not known.rows:
                del self._classes[key]
                self._remove_class(known)

    def validate(self) -> None:
        """Raise AssertionError if a sum is not what the pods add up to; for tests."""
        for column in self._columns.values():
            counts = np.zeros(self._rows, dtype=np.int64)
            for known in self._classes.values():
                weight = column.counted.weigh(known)
                for row, number in known.rows.items():
                    counts[row] += weight * number
            assert np.array_equal(column.counts.values, counts)
            for domains, totals in column.totals.values():
                if len(domains.slots) == self._rows:
                    assert np.array_equal(totals.values, domains.total(counts))

    def _add_class(self, known: PodClass[K]) -> None:
        asking = dict(self._columns_by_tag.get(None, ()))
        for tag in self._tags_of(known.key):
            self._classes_by_tag.setdefault(tag, {})[known] = None
            asking.update(self._columns_by_tag.get(tag, ()))
        for column in asking:
            column.add_class(known)

    def _remove_class(self, known: PodClass[K]) -> None:
        for column, _ in known.hits:
            column.classes.discard(known)
        for tag in self._tags_of(known.key):
            _discard(self._classes_by_tag, tag, known)

    def _column(self, counted: Counted[K]) -> _Column[K]:
        column = self._columns.get(counted.name)
        if column is not None:
            self._columns.move_to_end(counted.name)
            return column
        column = _Column(counted, Sums(np.zeros(self._rows, dtype=np.int64)))
        self._columns[counted.name] = column
        for tag in (None,) if counted.tags is None else counted.tags:
            self._columns_by_tag.setdefault(tag, {})[column] = None
        for known in self._classes_with(counted.tags):
            weight = column.add_class(known)
            if weight:
                rows = np.fromiter(known.rows, dtype=np.intp, count=len(known.rows))
                numbers = np.fromiter(known.rows.values(), dtype=np.int64, count=len(known.rows))
                column.counts.values[rows] += weight * numbers
        if len(self._columns) > max(_MIN_COLUMNS, _MAX_BYTES // (16 * self._rows + 1)):
            self._drop(self._columns.popitem(last=False)[1])
        return column

    def _classes_with(self, tags: Collection[Hashable] | None) -> Iterable[PodClass[K]]:
        if tags is None:
            return self._classes.values()
        classes: dict[PodClass[K], None] = {}
        for tag in tags:
            classes.update(self._classes_by_tag.get(tag, ()))
        return classes

    def _drop(self, column: _Column[K]) -> None:
        tags = column.counted.tags
        for tag in (None,) if tags is None else tags:
            _discard(self._columns_by_tag, tag, column)
        for known in column.classes:
            known.hits = [hit for hit in known.hits if hit[0] is not column]


V = TypeVar("V")


def _discard(groups: dict[Hashable, dict[V, None]], tag: Hashable, value: V) -> None:
    group = groups.get(tag)
    if group is not None:
        group.pop(value, None)
        if not group:
            del groups[tag]
