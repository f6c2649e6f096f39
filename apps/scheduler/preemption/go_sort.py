"""Sorts as `sort.Slice` of Go does, which kube-scheduler uses: a pattern-defeating quicksort.

It is not stable, so the order of equally important pods follows from its steps. Its steps also
decide where the comparison contradicts itself: see preemption.importance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

#: ranges up to this length are sorted by insertion
MAX_INSERTION: Final = 12
#: from this length on, the pivot is a median of medians, and pairs out of order are shifted
_LONG: Final = 50
_MAX_SHIFTS: Final = 5
#: swaps while choosing a pivot in a long range that is in descending order
_MAX_SWAPS: Final = 12
_UINT64: Final = 2**64 - 1


def sort(items: Iterable[T], less: Callable[[T, T], bool]) -> list[T]:
    """The items in the order of ``less``; it need not be consistent."""
    sorter = _Sorter(list(items), less)
    sorter.sort(0, len(sorter.items), len(sorter.items).bit_length())
    return sorter.items


class _Sorter(Generic[T]):
    """Ranges are from ``low`` to below ``high``."""

    def __init__(self, items: list[T], less: Callable[[T, T], bool]) -> None:
        self.items = items
        self._compare = less

    def sort(self, low: int, high: int, limit: int) -> None:
        """``limit``: so many partitions may be unbalanced before heapsort is used."""
        balanced = partitioned = True
        while high - low > MAX_INSERTION:
            if limit == 0:
                self._sort_heap(low, high)
                return
            if not balanced:
                self._break_patterns(low, high)
                limit -= 1
            pivot, swaps = self._choose_pivot(low, high)
            if swaps == _MAX_SWAPS:
                self.items[low:high] = self.items[low:high][::-1]
                pivot, swaps = high - 1 - (pivot - low), 0
            if balanced and partitioned and not swaps and self._shift_few(low, high):
                return
            if low > 0 and not self._less(low - 1, pivot):
                low = self._partition_equal(low, high, pivot)
                continue
            middle, partitioned = self._partition(low, high, pivot)
            left, right = middle - low, high - middle
            balanced = min(left, right) >= (high - low) // 8
            if left < right:
                self.sort(low, middle, limit)
                low = middle + 1
            else:
                self.sort(middle + 1, high, limit)
                high = middle
        self._sort_by_insertion(low, high)

    def _less(self, first: int, second: int) -> bool:
        return self._compare(self.items[first], self.items[second])

    def _swap(self, first: int, second: int) -> None:
        items = self.items
        items[first], items[second] = items[second], items[first]

    def _sort_by_insertion(self, low: int, high: int) -> None:
        for end in range(low + 1, high):
            self._shift_left(end, low)

    def _shift_left(self, place: int, low: int) -> None:
        while place > low and self._less(place, place - 1):
            self._swap(place, place - 1)
            place -= 1

    def _sort_heap(self, low: int, high: int) -> None:
        length = high - low
        for root in range((length - 1) // 2, -1, -1):
            self._sift_down(root, length, low)
        for last in range(length - 1, -1, -1):
            self._swap(low, low + last)
            self._sift_down(0, last, low)

    def _sift_down(self, root: int, end: int, low: int) -> None:
        while (child := 2 * root + 1) < end:
            if child + 1 < end and self._less(low + child, low + child + 1):
                child += 1
            if not self._less(low + root, low + child):
                return
            self._swap(low + root, low + child)
            root = child

    def _break_patterns(self, low: int, high: int) -> None:
        """Scatter three items, by a generator that starts with the length of the range."""
        length = random = high - low
        mask = (1 << length.bit_length()) - 1
        middle = low + length // 4 * 2
        for place in range(middle - 1, middle + 2):
            random ^= random << 13 & _UINT64
            random ^= random >> 7
            random ^= random << 17 & _UINT64
            other = random & mask
            self._swap(place, low + (other - length if other >= length else other))

    def _choose_pivot(self, low: int, high: int) -> tuple[int, int]:
        """The pivot, and how many of the compared items were out of order."""
        quarter, swaps = (high - low) // 4, 0
        places = [low + quarter, low + quarter * 2, low + quarter * 3]
        if high - low >= _LONG:
            for number, place in enumerate(places):
                places[number], more = self._median(place - 1, place, place + 1)
                swaps += more
        pivot, more = self._median(*places)
        return pivot, swaps + more

    def _median(self, first: int, second: int, third: int) -> tuple[int, int]:
        swaps = 0
        if self._less(second, first):
            first, second, swaps = second, first, swaps + 1
        if self._less(third, second):
            second, third, swaps = third, second, swaps + 1
        if self._less(second, first):
            first, second, swaps = second, first, swaps + 1
        return second, swaps

    def _shift_few(self, low: int, high: int) -> bool:
        """Shift a few items that are out of order; whether the range is sorted now."""
        place = low + 1
        for _ in range(_MAX_SHIFTS):
            while place < high and not self._less(place, place - 1):
                place += 1
            if place == high:
                return True
            if high - low < _LONG:
                return False
            self._swap(place, place - 1)
            if place - low >= 2:
                self._shift_left(place - 1, 0)
            if high - place >= 2:
                self._shift_right(place + 1, high)
        return False

    def _shift_right(self, place: int, high: int) -> None:
        while place < high and self._less(place, place - 1):
            self._swap(place, place - 1)
            place += 1

    def _partition(self, low: int, high: int, pivot: int) -> tuple[int, bool]:
        """The pivot's new place, and whether the range was partitioned before."""
        self._swap(low, pivot)
        left, right = low + 1, high - 1
        swapped = False
        while True:
            while left <= right and self._less(left, low):
                left += 1
            while left <= right and not self._less(right, low):
                right -= 1
            if left > right:
                break
            self._swap(left, right)
            left, right, swapped = left + 1, right - 1, True
        self._swap(right, low)
        return right, not swapped

    def _partition_equal(self, low: int, high: int, pivot: int) -> int:
        """The first place after the items that are not greater than the pivot."""
        self._swap(low, pivot)
        left, right = low + 1, high - 1
        while True:
            while left <= right and not self._less(low, left):
                left += 1
            while left <= right and self._less(low, right):
                right -= 1
            if left > right:
                return left
            self._swap(left, right)
            left, right = left + 1, right - 1
