"""The iteration order of a ``java.util.HashMap``, which is visible in a job's output if Flink iterates over such a map.

The low bits of an entry's spread hash select its bin. Iteration visits bins in order, and inside a bin the entries in
insertion order. The table doubles when it is three quarters full, and, below 64 bins, also when a bin gets its ninth
entry. It never shrinks. In a larger table Java turns a bin with nine entries into a tree, which has another order;
here the bin stays a list.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

DEFAULT_CAPACITY: Final = 16
_LONGEST_LIST: Final = 8
_LEAST_TREE_CAPACITY: Final = 64


def spread(java_hash: int) -> int:
    """Spreads a hash code: the upper half is combined with the lower half."""
    bits = java_hash & 0xFFFFFFFF
    return bits ^ (bits >> 16)


def table_size_for(capacity: int) -> int:
    """Returns the initial size, a power of two, for a requested ``capacity``."""
    return 1 << (capacity - 1).bit_length() if capacity > 1 else 1


def capacity_for(expected: int) -> int:
    """Returns the number of bins of a map that is created for this number of entries.

    Flink: CollectionUtil.newHashMapWithExpectedSize.

    >>> capacity_for(2), capacity_for(3), capacity_for(6), capacity_for(7)
    (4, 4, 8, 16)
    """
    return table_size_for(expected + 1 if expected <= 2 else -(-expected * 4 // 3))


def capacity_after(largest: int, capacity: int = DEFAULT_CAPACITY) -> int:
    """Returns the number of bins of a map after at most ``largest`` entries at a time, with initial ``capacity``.

    Assumes that no bin got a ninth entry.
    """
    while 4 * largest > 3 * capacity:
        capacity *= 2
    return capacity


def in_order_of_bins(items: Iterable[T], hash_of: Callable[[T], int], capacity: int) -> list[T]:
    """Sorts ``items``, given in insertion order, into the iteration order of a map with ``capacity`` bins."""
    mask = capacity - 1
    return sorted(items, key=lambda item: spread(hash_of(item)) & mask)


class JavaBins(Generic[K]):
    """The bins of a map's keys, which determine the iteration order; the values are stored elsewhere."""

    __slots__ = ("_spreads", "_in_bin", "_capacity", "_order")

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        # In insertion order, which is also the order inside every bin.
        self._spreads: dict[K, int] = {}
        self._in_bin: dict[int, int] = {}
        self._capacity = capacity
        # Cached from the first use, while the table does not double.
        self._order: list[K] | None = None

    @property
    def threshold(self) -> int:
        """The number of keys above which the table doubles."""
        return self._capacity * 3 // 4

    def add(self, key: K, java_hash: int) -> None:
        """Adds a new key."""
        spread_hash = self._spreads[key] = spread(java_hash)
        index = spread_hash & self._capacity - 1
        crowd = self._in_bin[index] = self._in_bin.get(index, 0) + 1
        if crowd > _LONGEST_LIST and self._capacity < _LEAST_TREE_CAPACITY:
            self.double()
        if len(self._spreads) > self.threshold:
            self.double()
        elif self._order is not None:
            self._order.insert(bisect_right(self._order, index, key=self._bin_of), key)

    def remove(self, key: K) -> None:
        """Removes an existing key."""
        index = self._spreads[key] & self._capacity - 1
        if self._order is not None:
            del self._order[self._order.index(key, bisect_left(self._order, index, key=self._bin_of))]
        del self._spreads[key]
        self._in_bin[index] -= 1

    def clear(self) -> None:
        """Removes all keys; the table size stays."""
        self._spreads.clear()
        self._in_bin.clear()
        self._order = None

    def in_order(self) -> Sequence[K]:
        """Returns all keys in Java's order; valid until the next change."""
        if self._order is None:
            self._order = sorted(self._spreads, key=self._bin_of) if len(self._spreads) > 1 else list(self._spreads)
        return self._order

    def _bin_of(self, key: K) -> int:
        return self._spreads[key] & self._capacity - 1

    def double(self) -> None:
        """Doubles the table; each bin is split in two, in order."""
        self._order = None
        self._capacity *= 2
        mask = self._capacity - 1
        self._in_bin = {}
        for number in self._spreads.values():
            self._in_bin[number & mask] = self._in_bin.get(number & mask, 0) + 1


class JavaHashMap(Generic[K, V]):
    """A dictionary with Java's iteration order; ``hash_of`` returns Java's hash code of a key.

    >>> from flowsim.values.java_hash_code import java_hash
    >>> numbers = JavaHashMap[str, int](java_hash)
    >>> for name in ("window-timers", "user-timers", "cleanup"):
    ...     numbers.put(name, len(name))
    >>> list(numbers)
    ['cleanup', 'window-timers', 'user-timers']
    """

    __slots__ = ("_entries", "_hash_of", "_bins")

    def __init__(self, hash_of: Callable[[K], int]) -> None:
        self._entries: dict[K, V] = {}
        self._hash_of = hash_of
        # None until there are more entries at a time than fit into one list: earlier ones have no effect.
        self._bins: JavaBins[K] | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    def get(self, key: K) -> V | None:
        return self._entries.get(key)

    def put(self, key: K, value: V) -> None:
        """Sets a value; an existing entry keeps its position."""
        entries = self._entries
        is_new = key not in entries
        entries[key] = value
        if is_new and self._bins is not None:
            self._bins.add(key, self._hash_of(key))
        elif len(entries) > _LONGEST_LIST and self._bins is None:
            self._bins = JavaBins()
            for each in entries:
                self._bins.add(each, self._hash_of(each))

    def remove(self, key: K) -> V | None:
        """Removes and returns the value, or None."""
        if key not in self._entries:
            return None
        if self._bins is not None:
            self._bins.remove(key)
        return self._entries.pop(key)

    def __iter__(self) -> Iterator[K]:
        """Iterates over the keys in Java's order."""
        if self._bins is not None:
            return iter(list(self._bins.in_order()))
        keys = list(self._entries)
        return iter(keys if len(keys) < 2 else in_order_of_bins(keys, self._hash_of, DEFAULT_CAPACITY))

    def values(self) -> list[V]:
        """Returns the values in key order."""
        return [self._entries[key] for key in self]

    def items(self) -> list[tuple[K, V]]:
        """Returns keys and values in key order."""
        return [(key, self._entries[key]) for key in self]

    def as_dict(self) -> dict[K, V]:
        """Returns a copy as a plain dict."""
        return dict(self._entries)
