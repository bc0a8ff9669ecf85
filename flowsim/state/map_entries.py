"""The entries of a map state or broadcast state, in the order of the ``java.util.HashMap`` that the heap keeps them in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Generic, TypeVar

from flowsim.errors import ValueNotAllowed
from flowsim.values import TypeInformation, java_hash, state_key
from flowsim.values.java_hash_map import DEFAULT_CAPACITY, capacity_for, spread, table_size_for

V = TypeVar("V")

_LONGEST_LIST: Final = 8
_LEAST_TREE_CAPACITY: Final = 64


def hash_code(value: object, declared: TypeInformation | None) -> int:
    """Java's hash code, by value where the value does not fit its declared type, which no state checks."""
    try:
        return java_hash(value, declared)
    except ValueNotAllowed:
        return java_hash(value)


class _Node(Generic[V]):
    __slots__ = ("key", "value", "spread")

    def __init__(self, key: object, value: V, spread: int) -> None:
        self.key = key
        self.value = value
        self.spread = spread


class MapEntries(Generic[V]):
    """Keys are the same if ``state_key`` says so, and hash by their declared type.

    Iteration goes by bucket, and inside a bucket by the order of insertion. Java turns a bucket with nine keys and more
    into a tree, whose order is not followed.

    >>> numbers = MapEntries[str]()
    >>> for number in (17, 2, 1):
    ...     numbers.put(number, "")
    >>> [number for number, _ in numbers.items()]
    [17, 1, 2]
    """

    __slots__ = ("_nodes", "_bins", "_capacity", "_initial_capacity", "key_type")

    def __init__(self, key_type: TypeInformation | None = None, expected_size: int | None = None) -> None:
        """With ``expected_size`` as large from the beginning as Flink makes a map for so many keys."""
        # In insertion order, which is also the order inside every bucket: a resize keeps it, a removed key loses it.
        self._nodes: dict[object, _Node[V]] = {}
        self._bins: dict[int, int] = {}
        self._capacity = 0
        self._initial_capacity = 0 if expected_size is None else capacity_for(expected_size)
        self.key_type = key_type

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, key: object) -> V | None:
        """The value of a key, None if there is none."""
        node = self._nodes.get(state_key(key))
        return None if node is None else node.value

    def __contains__(self, key: object) -> bool:
        return state_key(key) in self._nodes

    def put(self, key: object, value: V) -> None:
        """Sets the value of a key; a key that is there keeps its place."""
        key_id = state_key(key)
        node = self._nodes.get(key_id)
        if node is not None:
            node.value = value
            return
        if not self._capacity:
            self._capacity = self._initial_capacity or DEFAULT_CAPACITY
        node = self._nodes[key_id] = _Node(key, value, spread(hash_code(key, self.key_type)))
        index = node.spread & self._capacity - 1
        crowd = self._bins.get(index, 0)
        self._bins[index] = crowd + 1
        if crowd >= _LONGEST_LIST and self._capacity < _LEAST_TREE_CAPACITY:
            self._double()
        if len(self._nodes) > self._threshold:
            self._double()

    def put_all(self, entries: Iterable[tuple[object, V]]) -> None:
        """Sets the values of several keys, making room for all of them first: a new map only as much as they need."""
        entries = list(entries)
        if not entries:
            return
        if not self._capacity:
            self._initial_capacity = max(self._initial_capacity, table_size_for(int(len(entries) / 0.75 + 1)))
        else:
            while len(entries) > self._threshold:
                self._double()
        for key, value in entries:
            self.put(key, value)

    def remove(self, key: object) -> bool:
        """Forgets a key and tells whether it was there; the map never becomes smaller inside."""
        node = self._nodes.pop(state_key(key), None)
        if node is None:
            return False
        self._bins[node.spread & self._capacity - 1] -= 1
        return True

    def clear(self) -> None:
        """Forgets all keys; the map stays as large inside as it was."""
        self._nodes.clear()
        self._bins.clear()

    def items(self) -> list[tuple[object, V]]:
        """Keys and values in Java's order."""
        mask = self._capacity - 1
        nodes: Iterable[_Node[V]] = self._nodes.values()
        if len(self._nodes) > 1:
            nodes = sorted(nodes, key=lambda node: node.spread & mask)
        return [(node.key, node.value) for node in nodes]

    def __iter__(self) -> Iterator[tuple[object, V]]:
        return iter(self.items())

    @property
    def _threshold(self) -> int:
        return self._capacity * 3 // 4

    def _double(self) -> None:
        self._capacity *= 2
        mask = self._capacity - 1
        self._bins = {}
        for node in self._nodes.values():
            index = node.spread & mask
            self._bins[index] = self._bins.get(index, 0) + 1
