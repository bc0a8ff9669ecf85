"""The order in which a ``java.util.HashMap`` gives out its keys: where Flink iterates one, it can be seen in a job's output.

An entry stands in the bin that the low bits of its spread hash name; bins come in order, and inside one the entries come
in the order in which they were put. The table doubles when it is three quarters full, and, while it has fewer than 64
bins, also when an entry is the ninth of its bin. It never shrinks. Bins of a larger table that hold nine entries or more
become trees in Java; their order is not followed further (the order of insertion stays).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

DEFAULT_CAPACITY: Final = 16
_LONGEST_LIST: Final = 8
_LEAST_TREE_CAPACITY: Final = 64


def spread(java_hash: int) -> int:
    """What a table makes of a hash code: the upper half is folded into the lower one."""
    bits = java_hash & 0xFFFFFFFF
    return bits ^ (bits >> 16)


def table_size_for(capacity: int) -> int:
    """The power of two that a map asked for ``capacity`` begins with."""
    return 1 << (capacity - 1).bit_length() if capacity > 1 else 1


def capacity_for(expected: int) -> int:
    """Bins of a map made for so many entries. Flink: CollectionUtil.newHashMapWithExpectedSize.

    >>> capacity_for(2), capacity_for(3), capacity_for(6), capacity_for(7)
    (4, 4, 8, 16)
    """
    return table_size_for(expected + 1 if expected <= 2 else -(-expected * 4 // 3))


def capacity_after(largest: int, capacity: int = DEFAULT_CAPACITY) -> int:
    """Bins of a map that began with ``capacity`` and held up to ``largest`` entries at a time, never nine in one bin."""
    while 4 * largest > 3 * capacity:
        capacity *= 2
    return capacity


def in_order_of_bins(items: Iterable[T], hash_of: Callable[[T], int], capacity: int) -> list[T]:
    """``items``, given in the order in which they were put, as a map of ``capacity`` bins gives them out."""
    mask = capacity - 1
    return sorted(items, key=lambda item: spread(hash_of(item)) & mask)


class JavaHashMap(Generic[K, V]):
    """A dictionary that iterates as Java's does; ``hash_of`` answers Java's hash code of a key.

    >>> from flowsim.values.java_hash import java_hash
    >>> numbers = JavaHashMap[str, int](java_hash)
    >>> for name in ("window-timers", "user-timers", "cleanup"):
    ...     numbers.put(name, len(name))
    >>> list(numbers)
    ['cleanup', 'window-timers', 'user-timers']
    """

    __slots__ = ("_entries", "_hash_of", "_capacity", "_in_bin")

    def __init__(self, hash_of: Callable[[K], int]) -> None:
        self._entries: dict[K, V] = {}
        self._hash_of = hash_of
        self._capacity = DEFAULT_CAPACITY
        self._in_bin = [0] * DEFAULT_CAPACITY

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    def get(self, key: K) -> V | None:
        return self._entries.get(key)

    def put(self, key: K, value: V) -> None:
        """An entry that is there already keeps its place."""
        is_new = key not in self._entries
        self._entries[key] = value
        if is_new:
            self._note(key)

    def remove(self, key: K) -> V | None:
        """What stood there, None if nothing."""
        value = self._entries.pop(key, None)
        if value is not None:
            self._in_bin[self._bin(key)] -= 1
        return value

    def __iter__(self) -> Iterator[K]:
        """The keys in Java's order."""
        return iter(in_order_of_bins(self._entries, self._hash_of, self._capacity))

    def values(self) -> list[V]:
        """In the order of their keys."""
        return [self._entries[key] for key in self]

    def keys_among(self, wanted: Callable[[K], bool]) -> list[K]:
        """Those keys only, in Java's order."""
        return in_order_of_bins(filter(wanted, self._entries), self._hash_of, self._capacity)

    def _bin(self, key: K) -> int:
        return spread(self._hash_of(key)) & (self._capacity - 1)

    def _note(self, key: K) -> None:
        index = self._bin(key)
        self._in_bin[index] += 1
        if self._in_bin[index] > _LONGEST_LIST and self._capacity < _LEAST_TREE_CAPACITY:
            self._grow()
        if 4 * len(self._entries) > 3 * self._capacity:
            self._grow()

    def _grow(self) -> None:
        self._capacity *= 2
        self._in_bin = [0] * self._capacity
        for key in self._entries:
            self._in_bin[self._bin(key)] += 1
