"""Flink's sort of records in memory, which decides the order of records that compare as equal. Flink: QuickSort, HeapSort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_INSERTION_SORT: Final = 13
"""Fewer numbers than this are sorted by insertion."""


def sorted_order(ranks: Sequence[int]) -> list[int]:
    """Returns the positions of ``ranks`` in ascending order of rank; equal ranks are in the order of Flink's sort.

    >>> sorted_order([3, 1, 2, 1])
    [1, 3, 2, 0]
    """
    sort = _QuickSort(ranks)
    count = len(ranks)
    sort.sort(0, count, 4 * (count - 1).bit_length())
    return sort.order


class _QuickSort:
    """Sorts positions by their ranks."""

    __slots__ = ("order", "_ranks")

    def __init__(self, ranks: Sequence[int]) -> None:
        self.order = list(range(len(ranks)))
        self._ranks = list(ranks)

    def _swap(self, i: int, j: int) -> None:
        ranks, order = self._ranks, self.order
        ranks[i], ranks[j] = ranks[j], ranks[i]
        order[i], order[j] = order[j], order[i]

    def _fix(self, i: int, j: int) -> None:
        if self._ranks[i] > self._ranks[j]:
            self._swap(i, j)

    def sort(self, begin: int, end: int, depth: int) -> None:
        """Sorts from ``begin`` up to ``end``, by a heap if more than ``depth`` divisions are not enough."""
        while end - begin >= _INSERTION_SORT:
            depth -= 1
            if depth < 0:
                self._heap_sort(begin, end)
                return
            middle = begin + end >> 1
            self._fix(middle, begin)
            self._fix(middle, end - 1)
            self._fix(begin, end - 1)
            low, high = self._divide(begin, end)
            if low - begin < end - high:
                self.sort(begin, low, depth)
                begin = high
            else:
                self.sort(high, end, depth)
                end = low
        ranks = self._ranks
        for i in range(begin, end):
            j = i
            while j > begin and ranks[j - 1] > ranks[j]:
                self._swap(j, j - 1)
                j -= 1

    def _divide(self, begin: int, end: int) -> tuple[int, int]:
        """Moves what is equal to the first number between the smaller and the larger ones; returns where it is."""
        ranks = self._ranks
        pivot = ranks[begin]
        i, j, left, right = begin, end, begin, end
        while True:
            i += 1
            while i < j and ranks[i] <= pivot:
                if ranks[i] == pivot:
                    left += 1
                    if left != i:
                        self._swap(left, i)
                i += 1
            j -= 1
            while j > i and ranks[j] >= pivot:
                if ranks[j] == pivot:
                    right -= 1
                    if right != j:
                        self._swap(right, j)
                j -= 1
            if i >= j:
                break
            self._swap(i, j)
        j = i
        while left >= begin:
            i -= 1
            self._swap(left, i)
            left -= 1
        while right < end:
            self._swap(right, j)
            right += 1
            j += 1
        return i, j

    def _heap_sort(self, begin: int, end: int) -> None:
        count = end - begin
        top = 1 << count.bit_length() - 1
        while top > 1:
            for each in range(top >> 1, top):
                self._down_heap(begin - 1, each, count + 1)
            top >>= 1
        for i in range(end - 1, begin, -1):
            self._swap(begin, i)
            self._down_heap(begin - 1, 1, i - begin + 1)

    def _down_heap(self, base: int, i: int, count: int) -> None:
        ranks = self._ranks
        child = i << 1
        while child < count:
            if child + 1 < count and ranks[base + child] < ranks[base + child + 1]:
                child += 1
            if ranks[base + i] >= ranks[base + child]:
                return
            self._swap(base + i, base + child)
            i, child = child, child << 1
