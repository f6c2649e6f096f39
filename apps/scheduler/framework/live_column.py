"""A column that changes row by row, and what it was at each moment, without a copy for each."""

from __future__ import annotations

from typing import Final

from apps.scheduler.framework.nodes import Int64Array

#: changes after which there is a new base
_MAX_CHANGES: Final = 128


class LiveColumn:
    """A base with the changes since then; ``base`` must not change any more."""

    __slots__ = ("_base", "_places", "_values")

    def __init__(self, base: Int64Array) -> None:
        base.setflags(write=False)
        self._base = base
        self._places: list[int] = []
        self._values: list[int] = []

    def set(self, place: int, value: int) -> None:
        """Change one entry."""
        if len(self._places) >= _MAX_CHANGES:
            # The lists stay what they are: moments refer to them.
            self._base = self.moment().array
            self._places, self._values = [], []
        self._places.append(place)
        self._values.append(value)

    def moment(self) -> Moment:
        """The column as it is now."""
        return Moment(self._base, self._places, self._values)


class Moment:
    """The column as it was; the array is built when it is first read."""

    __slots__ = ("_array", "_base", "_count", "_places", "_values")

    def __init__(self, base: Int64Array, places: list[int], values: list[int]) -> None:
        self._base = base
        self._places = places
        self._values = values
        self._count = len(places)
        self._array: Int64Array | None = None

    @property
    def array(self) -> Int64Array:
        """Read-only; the same object each time."""
        if self._array is None:
            self._array = self._build()
        return self._array

    def _build(self) -> Int64Array:
        if not self._count:
            return self._base
        array = self._base.copy()
        # Of several values for one place the last one stays.
        array[self._places[: self._count]] = self._values[: self._count]
        array.setflags(write=False)
        return array
