"""The iteration order of a ``java.util.HashMap``, which is visible in a job's output if Flink iterates over such a map.

The low bits of an entry's spread hash select its bin. Iteration visits bins in order, and inside a bin the entries in
insertion order. The table doubles when it is three quarters full, and, below 64 bins, also when a bin gets its ninth
entry. It never shrinks. In a larger table Java turns a bin with nine entries into a tree, which has another order;
here the bin stays a list.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Final, Generic, TypeVar

from mypy_extensions import mypyc_attr

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


@mypyc_attr(acyclic=True)
class Node:
    """An entry of a map. Nothing in a node refers to the node, so Python's search for garbage need not know it."""

    __slots__ = ("key", "value", "spread")

    def __init__(self, key: Any, value: Any, spread_hash: int) -> None:
        self.key: Any = key
        self.value: Any = value
        self.spread: int = spread_hash


@mypyc_attr(acyclic=True)
class JavaNodes:
    """The nodes of a map by the identity of their keys, and Java's order of them."""

    __slots__ = ("by_id", "_capacity", "_has_table", "_order", "_bins")

    def __init__(self, initial_capacity: int = 0) -> None:
        """``initial_capacity`` 0: the default, unless the first nodes are announced by ``reserve``."""
        self.by_id: dict[object, Node] = {}
        """In insertion order, which is also the order inside every bin."""
        self._capacity = initial_capacity
        self._has_table = False
        self._order: list[Node] | None = None
        """Kept from the first use, while the table does not double."""
        self._bins: list[int] = []
        """The bins of the nodes in ``_order``."""

    def add(self, key_id: object, key: object, value: object, java_hash: int) -> None:
        """Adds a node with a new key."""
        if not self._has_table:
            self._has_table = True
            self._capacity = self._capacity or DEFAULT_CAPACITY
        node = Node(key, value, spread(java_hash))
        self.by_id[key_id] = node
        count = len(self.by_id)
        if self._order is not None:
            self._insert(self._order, node)
        if count > _LONGEST_LIST and self._capacity < _LEAST_TREE_CAPACITY:
            self.in_order()
            if self._bins.count(node.spread & (self._capacity - 1)) > _LONGEST_LIST:
                self._double()
        if 4 * count > 3 * self._capacity:
            self._double()

    def reserve(self, count: int) -> None:
        """Resizes the table once for ``count`` nodes; a new one gets only the capacity that they need."""
        if not self._has_table:
            self._capacity = max(self._capacity, table_size_for(int(count / 0.75 + 1)))
        else:
            while 4 * count > 3 * self._capacity:
                self._double()

    def _insert(self, order: list[Node], node: Node) -> None:
        number = node.spread & (self._capacity - 1)
        index = bisect_right(self._bins, number)
        self._bins.insert(index, number)
        order.insert(index, node)

    def remove(self, key_id: object) -> Node | None:
        """Removes and returns the node of a key, or returns None."""
        node = self.by_id.pop(key_id, None)
        order = self._order
        if node is not None and order is not None:
            index = order.index(node, bisect_left(self._bins, node.spread & (self._capacity - 1)))
            del order[index]
            del self._bins[index]
        return node

    def clear(self) -> None:
        """Removes all nodes; the table size stays."""
        self.by_id.clear()
        self._order = None

    def in_order(self) -> list[Node]:
        """Returns all nodes in Java's order; valid until the next change."""
        order = self._order
        if order is None:
            mask = self._capacity - 1
            order = list(self.by_id.values())
            if len(order) > 1:
                order.sort(key=lambda node: node.spread & mask)
            self._order = order
            self._bins = [node.spread & mask for node in order]
        return order

    def _double(self) -> None:
        """Doubles the table; each bin is split in two, in order."""
        self._order = None
        self._capacity *= 2


class JavaHashMap(Generic[K, V]):
    """A dictionary with Java's iteration order; ``hash_of`` returns Java's hash code of a key.

    >>> from flowsim.values.java_hash_code import java_hash
    >>> numbers = JavaHashMap[str, int](java_hash)
    >>> for name in ("window-timers", "user-timers", "cleanup"):
    ...     numbers.put(name, len(name))
    >>> list(numbers)
    ['cleanup', 'window-timers', 'user-timers']
    """

    __slots__ = ("_entries", "_hash_of", "_nodes")

    def __init__(self, hash_of: Callable[[K], int]) -> None:
        self._entries: dict[K, V] = {}
        self._hash_of = hash_of
        # None until there are more entries at a time than fit into one list: earlier ones have no effect.
        self._nodes: JavaNodes | None = None

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
        if is_new and self._nodes is not None:
            self._nodes.add(key, key, None, self._hash_of(key))
        elif len(entries) > _LONGEST_LIST and self._nodes is None:
            self._nodes = JavaNodes()
            for each in entries:
                self._nodes.add(each, each, None, self._hash_of(each))

    def remove(self, key: K) -> V | None:
        """Removes and returns the value, or None."""
        if key not in self._entries:
            return None
        if self._nodes is not None:
            self._nodes.remove(key)
        return self._entries.pop(key)

    def __iter__(self) -> Iterator[K]:
        """Iterates over the keys in Java's order."""
        if self._nodes is not None:
            return iter([node.key for node in self._nodes.in_order()])
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
