"""A heap with named items: besides push and pop, an item can be found, moved and removed.

Removal is lazy: an item's tuple stays in the heap until it reaches the top, where it is recognized
by its serial number. When there are more stale than valid tuples the heap is rebuilt, so every
operation costs O(log n) amortized.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")

#: anything with a total order; equal ranks are ordered by the item's name
Rank = Any


class KeyedHeap(Generic[T]):
    """`key` names an item, `rank` orders it; the rank is computed when the item is added."""

    def __init__(self, key: Callable[[T], str], rank: Callable[[T], Rank]) -> None:
        self._key = key
        self._rank = rank
        self._heap: list[tuple[Rank, str, int]] = []
        self._items: dict[str, tuple[int, T]] = {}
        self._serial = 0

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: str) -> bool:
        return key in self._items

    def __iter__(self) -> Iterator[T]:
        """The items in no particular order."""
        return (item for _, item in self._items.values())

    def get(self, key: str) -> T | None:
        entry = self._items.get(key)
        return entry[1] if entry else None

    def put(self, item: T) -> None:
        """Add the item, or replace the one of this name and update its position."""
        self._serial += 1
        key = self._key(item)
        self._items[key] = (self._serial, item)
        heapq.heappush(self._heap, (self._rank(item), key, self._serial))
        self._drop_stale_entries()

    def delete(self, key: str) -> T | None:
        """Remove and return the item of this name; None if there is none."""
        entry = self._items.pop(key, None)
        self._drop_stale_entries()
        return entry[1] if entry else None

    def peek(self) -> T | None:
        while self._heap:
            _, key, serial = self._heap[0]
            item = self._items.get(key)
            if item and item[0] == serial:
                return item[1]
            heapq.heappop(self._heap)
        return None

    def pop(self) -> T | None:
        while self._heap:
            _, key, serial = heapq.heappop(self._heap)
            item = self._items.get(key)
            if item and item[0] == serial:
                del self._items[key]
                return item[1]
        return None

    def in_order(self) -> list[T]:
        """All items in the order in which they would be popped."""
        return [self._items[key][1] for _, key, _ in sorted(self._valid_entries())]

    def _valid_entries(self) -> Iterator[tuple[Rank, str, int]]:
        for entry in self._heap:
            item = self._items.get(entry[1])
            if item and item[0] == entry[2]:
                yield entry

    def _drop_stale_entries(self) -> None:
        if len(self._heap) > 2 * len(self._items) + 16:
            self._heap = list(self._valid_entries())
            heapq.heapify(self._heap)
