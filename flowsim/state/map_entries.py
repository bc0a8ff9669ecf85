"""The entries of a map state or broadcast state, in the order of the ``java.util.HashMap`` on Flink's heap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from flowsim.errors import ValueNotAllowed
from flowsim.values.java_hash_code import java_hash
from flowsim.values.java_hash_map import DEFAULT_CAPACITY, JavaBins, capacity_for, table_size_for
from flowsim.values.keys import state_key
from flowsim.values.types import TypeInformation

V = TypeVar("V")


def hash_code(value: object, declared: TypeInformation | None) -> int:
    """Returns Java's hash code.

    If the value does not fit its declared type, which states do not check, it is the hash of the value itself.
    """
    try:
        return java_hash(value, declared)
    except ValueNotAllowed:
        return java_hash(value)


class _Node(Generic[V]):
    __slots__ = ("key", "value")

    def __init__(self, key: object, value: V) -> None:
        self.key = key
        self.value = value


class MapEntries(Generic[V]):
    """A map with Java's iteration order. Keys are equal if their ``state_key`` is; they hash by their declared type.

    Iteration goes by bucket; inside a bucket the order is that of insertion.

    >>> numbers = MapEntries[str]()
    >>> for number in (17, 2, 1):
    ...     numbers.put(number, "")
    >>> [number for number, _ in numbers.items()]
    [17, 1, 2]
    """

    __slots__ = ("_nodes", "_bins", "_initial_capacity", "key_type")

    def __init__(self, key_type: TypeInformation | None = None, expected_size: int | None = None) -> None:
        """Creates an empty map with the initial capacity of Flink's map for ``expected_size`` keys."""
        self._nodes: dict[object, _Node[V]] = {}
        self._bins: JavaBins[object] | None = None
        self._initial_capacity = 0 if expected_size is None else capacity_for(expected_size)
        self.key_type: TypeInformation | None = key_type

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, key: object) -> V | None:
        """Returns the value of a key, None if there is none."""
        node = self._nodes.get(state_key(key))
        return None if node is None else node.value

    def __contains__(self, key: object) -> bool:
        return state_key(key) in self._nodes

    def put(self, key: object, value: V) -> None:
        """Sets the value of a key; an existing key keeps its position."""
        key_id = state_key(key)
        node = self._nodes.get(key_id)
        if node is not None:
            node.value = value
            return
        if self._bins is None:
            self._bins = JavaBins(self._initial_capacity or DEFAULT_CAPACITY)
        self._nodes[key_id] = _Node(key, value)
        self._bins.add(key_id, hash_code(key, self.key_type))

    def put_all(self, entries: Iterable[tuple[object, V]]) -> None:
        """Sets the values of several keys after one resize for all of them.

        A new map gets only the capacity that the keys need.
        """
        entries = list(entries)
        if not entries:
            return
        if self._bins is None:
            self._initial_capacity = max(self._initial_capacity, table_size_for(int(len(entries) / 0.75 + 1)))
        else:
            while len(entries) > self._bins.threshold:
                self._bins.double()
        for key, value in entries:
            self.put(key, value)

    def remove(self, key: object) -> bool:
        """Removes a key. Returns True if the key existed; the capacity never shrinks."""
        key_id = state_key(key)
        if self._bins is None or self._nodes.pop(key_id, None) is None:
            return False
        self._bins.remove(key_id)
        return True

    def clear(self) -> None:
        """Removes all keys; the capacity does not change."""
        self._nodes.clear()
        if self._bins is not None:
            self._bins.clear()

    def items(self) -> list[tuple[object, V]]:
        """Returns the keys and values in Java's order."""
        if self._bins is None:
            return []
        nodes = map(self._nodes.__getitem__, self._bins.in_order())
        return [(node.key, node.value) for node in nodes]

    def __iter__(self) -> Iterator[tuple[object, V]]:
        return iter(self.items())
