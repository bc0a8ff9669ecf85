"""The entries of a map state or broadcast state, in the order of the ``java.util.HashMap`` on Flink's heap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mypy_extensions import mypyc_attr

from flowsim.errors import ValueNotAllowed
from flowsim.values.java_hash_code import java_hash
from flowsim.values.java_hash_map import JavaNodes, capacity_for
from flowsim.values.keys import state_key
from flowsim.values.types import TypeInformation


def hash_code(value: object, declared: TypeInformation | None) -> int:
    """Returns Java's hash code.

    If the value does not fit its declared type, which states do not check, it is the hash of the value itself.
    """
    try:
        return java_hash(value, declared)
    except ValueNotAllowed:
        return java_hash(value)


@mypyc_attr(acyclic=True)
class MapEntries:
    """A map with Java's iteration order. Keys are equal if their ``state_key`` is; they hash by their declared type.

    Iteration goes by bucket; inside a bucket the order is that of insertion.

    >>> numbers = MapEntries()
    >>> for number in (17, 2, 1):
    ...     numbers.put(number, "")
    >>> [number for number, _ in numbers.items()]
    [17, 1, 2]
    """

    __slots__ = ("_nodes", "key_type")

    def __init__(self, key_type: TypeInformation | None = None, expected_size: int | None = None) -> None:
        """Creates an empty map with the initial capacity of Flink's map for ``expected_size`` keys."""
        self._nodes: JavaNodes = JavaNodes(0 if expected_size is None else capacity_for(expected_size))
        self.key_type: TypeInformation | None = key_type

    def __len__(self) -> int:
        return len(self._nodes.by_id)

    def get(self, key: object) -> object:
        """Returns the value of a key, None if there is none."""
        node = self._nodes.by_id.get(state_key(key))
        return None if node is None else node.value

    def __contains__(self, key: object) -> bool:
        return state_key(key) in self._nodes.by_id

    def put(self, key: object, value: object) -> None:
        """Sets the value of a key; an existing key keeps its position."""
        key_id = state_key(key)
        node = self._nodes.by_id.get(key_id)
        if node is not None:
            node.value = value
            return
        self._nodes.add(key_id, key, value, hash_code(key, self.key_type))

    def put_all(self, entries: Iterable[tuple[object, object]]) -> None:
        """Sets the values of several keys after one resize for all of them."""
        entries = list(entries)
        if entries:
            self._nodes.reserve(len(entries))
        for key, value in entries:
            self.put(key, value)

    def remove(self, key: object) -> bool:
        """Removes a key. Returns True if the key existed; the capacity never shrinks."""
        return self._nodes.remove(state_key(key)) is not None

    def clear(self) -> None:
        """Removes all keys; the capacity does not change."""
        self._nodes.clear()

    def items(self) -> list[tuple[object, object]]:
        """Returns the keys and values in Java's order."""
        return [(node.key, node.value) for node in self._nodes.in_order()]

    def between(self, lowest: int, highest: int) -> list[tuple[int, object]]:
        """Returns the items whose key is a whole number from ``lowest`` to ``highest``, in Java's order."""
        found: list[tuple[int, object]] = []
        for node in self._nodes.in_order():
            key = node.key
            if type(key) is int and lowest <= key <= highest:
                found.append((key, node.value))
        return found

    def __iter__(self) -> Iterator[tuple[object, object]]:
        return iter(self.items())
