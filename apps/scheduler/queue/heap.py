"""A heap whose items have names: besides push and pop, an item can be looked up, moved and removed.

Removal is lazy: an item's tuple stays in the heap until it comes to the top, where it is recognised
by its serial number. When the dead outnumber the living the heap is built anew, so every operation
costs O(log n) amortised.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")

#: Anything with a total order; equal keys are ordered by the item's name.
Rank = Any


class KeyedHeap(Generic[T]):
    """`key` names an item, `rank` orders it; the rank is taken when the item is put in."""

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
        found = self._items.get(key)
        return found[1] if found else None

    def put(self, item: T) -> None:
        """Add the item, or give the one of this name its new value and place."""
        self._serial += 1
        key = self._key(item)
        self._items[key] = (self._serial, item)
        heapq.heappush(self._heap, (self._rank(item), key, self._serial))
        self._drop_the_dead()

    def delete(self, key: str) -> T | None:
        """Remove and return the item of this name; None if there is none."""
        found = self._items.pop(key, None)
        self._drop_the_dead()
        return found[1] if found else None

    def peek(self) -> T | None:
        while self._heap:
            _, key, serial = self._heap[0]
            found = self._items.get(key)
            if found and found[0] == serial:
                return found[1]
            heapq.heappop(self._heap)
        return None

    def pop(self) -> T | None:
        item = self.peek()
        if item is not None:
            heapq.heappop(self._heap)
            del self._items[self._key(item)]
        return item

    def in_order(self) -> list[T]:
        """All items in the order in which they would be popped."""
        return [self._items[key][1] for _, key, _ in sorted(self._living())]

    def _living(self) -> Iterator[tuple[Rank, str, int]]:
        for entry in self._heap:
            found = self._items.get(entry[1])
            if found and found[0] == entry[2]:
                yield entry

    def _drop_the_dead(self) -> None:
        if len(self._heap) > 2 * len(self._items) + 16:
            self._heap = list(self._living())
            heapq.heapify(self._heap)
