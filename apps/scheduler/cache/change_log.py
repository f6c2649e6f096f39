"""A log of changed keys, for updating what was computed from the objects."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

#: at least so many entries are stored; a reader that is further behind starts again
_KEPT = 8192


class ChangeLog(Generic[K]):
    """Which keys changed, in order; a reader stores a position and reads what came after it."""

    def __init__(self) -> None:
        self._keys: list[K] = []
        self._start = 0
        #: the position after the last change
        self.position = 0

    def append(self, key: K) -> None:
        self._keys.append(key)
        self.position += 1
        if len(self._keys) > 2 * _KEPT:
            del self._keys[:_KEPT]
            self._start += _KEPT

    def forget(self) -> None:
        """Any key may have changed: readers start again."""
        self.position += 1
        self._keys.clear()
        self._start = self.position

    def since(self, position: int) -> list[K] | None:
        """The distinct keys changed since ``position``; None if they are no longer stored."""
        if position < self._start:
            return None
        return list(dict.fromkeys(self._keys[position - self._start :]))


class LogReader(Generic[K]):
    """One reader's position in a log."""

    def __init__(self, log: ChangeLog[K]) -> None:
        self._log = log
        self._position = -1

    def news(self) -> list[K] | None:
        """The distinct keys changed since the last call.

        None on the first call, and when too much has changed: any key may have changed.
        """
        position = self._log.position
        if position == self._position:
            return []
        news = self._log.since(self._position) if self._position >= 0 else None
        self._position = position
        return news
