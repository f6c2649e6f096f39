"""Ranges of sizes and costs, as the estimate computes with them: 64 bits, without overflow."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

MOST: Final = 2**64 - 1


def _capped(value: int) -> int:
    return min(value, MOST)


def _scaled(value: int, factor: float) -> int:
    return _capped(math.ceil(float(value) * factor))


class Range(NamedTuple):
    """The least and the most that a size or a cost can be."""

    least: int
    most: int

    def plus(self, other: Range) -> Range:
        return Range(_capped(self.least + other.least), _capped(self.most + other.most))

    def times(self, other: Range) -> Range:
        return Range(_capped(self.least * other.least), _capped(self.most * other.most))

    def scaled(self, factor: float) -> Range:
        """Times a factor, rounded up."""
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))

    def union(self, other: Range) -> Range:
        return Range(min(self.least, other.least), max(self.most, other.most))


def exactly(value: int) -> Range:
    return Range(value, value)


UNKNOWN: Final = Range(0, MOST)
ZERO: Final = exactly(0)
ONE: Final = exactly(1)


class Entries(NamedTuple):
    """The sizes of the keys and of the values of a list or a map."""

    is_list: bool
    keys: Range
    values: Range

    def union(self, other: Entries | None) -> Entries | None:
        if other is None:
            return None
        return Entries(self.is_list, self.keys.union(other.keys), self.values.union(other.values))
