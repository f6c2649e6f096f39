"""Dictionary encoding, and the log of changed rows by which columns are updated."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

T = TypeVar("T", bound=Hashable)

#: changes of rows that a log stores at least
_STORED: Final = 4096


class Interner(Generic[T]):
    """Maps values to small consecutive ids, in order of first appearance; ids are permanent."""

    def __init__(self, *first: T) -> None:
        self.values: list[T] = list(first)
        #: value -> its id; read-only for others
        self.ids: dict[T, int] = {value: number for number, value in enumerate(first)}

    def __len__(self) -> int:
        return len(self.values)

    def id(self, value: T) -> int:
        """The id of ``value``, a new one if it was never seen."""
        number = self.ids.get(value)
        if number is None:
            number = self.ids[value] = len(self.values)
            self.values.append(value)
        return number

    def find(self, value: T) -> int:
        """The id of ``value``, -1 if it was never seen."""
        return self.ids.get(value, -1)


class RowLog:
    """Which rows changed, in order; a reader stores a position and reads what came after it.

    At least the last 4096 changes are stored.
    """

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._start = 0
        #: the position after the last change
        self.position = 0

    def append(self, row: int) -> None:
        rows = self._rows
        rows.append(row)
        self.position += 1
        if len(rows) > 2 * _STORED:
            self._start += len(rows) - _STORED
            del rows[:-_STORED]

    @property
    def last(self) -> int:
        """The row of the last change; there must be one."""
        return self._rows[-1]

    def since(self, position: int, limit: int) -> list[int] | None:
        """The distinct rows changed since ``position``, ascending; None if more than ``limit``.

        None too if the log no longer contains that position.
        """
        if position < self._start:
            return None
        rows = self._rows[position - self._start :]
        if len(rows) <= 1:
            return rows
        distinct = set(rows)
        return None if len(distinct) > limit else sorted(distinct)
