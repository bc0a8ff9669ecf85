"""The cells of one state, iterated in the heap's order. Flink: StateTable."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Protocol, runtime_checkable

from flowsim.state.copy_on_write_state_map import ChainIterator, CopyOnWriteStateMap, StateMapEntry, bit_mix
from flowsim.state.key_cells import KeyCells, Place
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.key_group_range_assignment import murmur_hash
from flowsim.state.map_entries import hash_code
from flowsim.values.java_hash_code import java_hash
from flowsim.values.types import TypeInformation

_VOID_NAMESPACE_HASH: Final = 99


@runtime_checkable
class HashableNamespace(Protocol):
    """A namespace that is not a record value, such as a window, with the hash code of its class in Flink."""

    def java_hash(self) -> int: ...


class StateTable:
    """The cells of one state, with the interface of ``KeyCells``; keeps the keys in order.

    Flink: CopyOnWriteStateTable. Every access continues a rehash in progress, as in Flink.
    """

    __slots__ = ("_cells", "_key_type", "_maps", "_max_parallelism", "_range")

    def __init__(
        self,
        cells: KeyCells,
        key_group_range: KeyGroupRange,
        max_parallelism: int,
        key_type: TypeInformation | None,
    ) -> None:
        self._cells = cells
        self._range = key_group_range
        self._max_parallelism = max_parallelism
        self._key_type = key_type
        self._maps: dict[int, CopyOnWriteStateMap] = {}

    def get(self, place: Place) -> object:
        self._map_for(place).touch()
        return self._cells.get(place)

    def put(self, place: Place, content: object) -> None:
        self._map_for(place).put(self._entry(place))
        self._cells.put(place, content)

    def fold(self, place: Place, value: object, function: Callable[[object, object], object]) -> None:
        self._map_for(place).put(self._entry(place))
        self._cells.fold(place, value, function)

    def remove(self, place: Place) -> object:
        self._map_for(place).remove(self._entry(place))
        return self._cells.remove(place)

    def keys(self, namespace: Hashable) -> list[tuple[object, object]]:
        """Returns the keys that have the state in a namespace, by key group and then in map order.

        Each key comes with its ``state_key``.
        """
        return [
            (entry.key, entry.key_id)
            for key_group in range(self._range.start, self._range.end + 1)
            for entry in self._maps.get(key_group, ())
            if entry.namespace == namespace
        ]

    def key_groups(self) -> list[int]:
        """Returns the key groups with entries."""
        return [key_group for key_group, state_map in self._maps.items() if state_map]

    def snapshot(self, name: str, key_group: int) -> list[tuple[StateMapEntry, object]]:
        """Returns the entries of a key group with their contents, in the order of Flink's snapshot."""
        state_map = self._maps.get(key_group)
        if state_map is None:
            return []
        return [(entry, self.content_of(name, entry)) for entry in state_map.snapshot()]

    def restore(self, key_group: int, place: Place, content: object) -> None:
        """Adds a stored cell of the current key to the key group that stored it; this may not be the key's own."""
        state_map = self.map_at(key_group - self._range.start)
        entry = state_map.put(self._entry(place))
        if state_map is self._map_for(place):
            self._cells.put(place, content)
        else:
            entry.stray_content = content

    def touch_every_entry(self) -> None:
        """Continues the rehashes in progress, as Flink does when a restored state gets or loses its time to live.

        Flink: HeapKeyedStateBackend.migrateTtlAwareStateValues.
        """
        for state_map in self._maps.values():
            for _ in range(len(state_map)):
                state_map.touch()

    def visitor(self, name: str, max_positions: int) -> IncrementalVisitor:
        """Returns an iterator over all keys, ``max_positions`` buckets at a time; ``name`` is the name of the state."""
        return IncrementalVisitor(self, name, len(self._range), max_positions)

    def map_at(self, index: int) -> CopyOnWriteStateMap:
        """Returns the keys of one of the subtask's key groups; the index starts at 0."""
        key_group = self._range.start + index
        state_map = self._maps.get(key_group)
        if state_map is None:
            state_map = self._maps[key_group] = CopyOnWriteStateMap()
        return state_map

    def is_empty_at(self, index: int) -> bool:
        """True if no key of a key group (index from 0) has the state."""
        return not self._maps.get(self._range.start + index)

    def content_of(self, name: str, entry: StateMapEntry) -> object:
        """Returns the content of the state of any key."""
        if entry.stray_content is not None:
            return entry.stray_content
        return self._cells.get_of(entry.key_id, (name, entry.namespace))

    def replace(self, name: str, index: int, entry: StateMapEntry, content: object) -> None:
        """Stores a key's content in a key group (index from 0), which may not be the key's own."""
        filed = self.map_at(index).put(_plain(entry))
        if self.map_at(index) is self._map_of(entry.key):
            self._cells.put_of(entry.key_id, (name, entry.namespace), content)
        else:
            filed.stray_content = content

    def forget(self, name: str, index: int, entry: StateMapEntry) -> None:
        """Removes a key from a key group (index from 0).

        If the group is not the key's own group, the key keeps its state.
        """
        self.map_at(index).remove(entry)
        if self.map_at(index) is self._map_of(entry.key):
            self._cells.remove_of(entry.key_id, (name, entry.namespace))

    def _map_for(self, place: Place) -> CopyOnWriteStateMap:
        return self._map_of(self._cells.key_for(place))

    def _map_of(self, key: object) -> CopyOnWriteStateMap:
        key_group = murmur_hash(hash_code(key, self._key_type)) % self._max_parallelism
        state_map = self._maps.get(key_group)
        if state_map is None:
            state_map = self._maps[key_group] = CopyOnWriteStateMap()
        return state_map

    def _entry(self, place: Place) -> StateMapEntry:
        cells, namespace = self._cells, place[1]
        code = hash_code(cells.current_key, self._key_type) ^ namespace_hash(namespace)
        return StateMapEntry(cells.current_key, cells.current_key_id, namespace, bit_mix(code))


def _plain(entry: StateMapEntry) -> StateMapEntry:
    return StateMapEntry(entry.key, entry.key_id, entry.namespace, entry.hash)


class IncrementalVisitor:
    """Visits the entries of a table bucket by bucket while the table changes. Flink: StateTable.StateEntryIterator.

    Removals and changes apply to the key group that last returned entries, even if another group is the current one.
    After the visitor has emptied a group and found no other group, it continues in this group as soon as new keys
    arrive. Then a removal has no effect, and the rest of a list or map is stored where no key finds it. Flink behaves
    the same way.
    """

    __slots__ = ("_chains", "_count", "_index", "_max_positions", "_name", "_table")

    def __init__(self, table: StateTable, name: str, count: int, max_positions: int) -> None:
        self._table = table
        self._name = name
        self._count = count
        self._max_positions = max_positions
        self._index = 0
        self._chains: ChainIterator | None = None
        self.has_next()

    def has_next(self) -> bool:
        """True if buckets are left, including empty buckets."""
        while self._chains is None or not self._chains.has_next():
            if self._index == self._count:
                return False
            index = self._index
            self._index += 1
            if not self._table.is_empty_at(index):
                self._chains = ChainIterator(self._table.map_at(index), self._max_positions)
        return True

    def next_entries(self) -> list[StateMapEntry]:
        """Returns the entries of one bucket; no entries if the next ``max_positions`` buckets are empty."""
        if not self.has_next() or self._chains is None:
            return []
        return self._chains.next_chain() or []

    def content_of(self, entry: StateMapEntry) -> object:
        return self._table.content_of(self._name, entry)

    def remove(self, entry: StateMapEntry) -> None:
        self._table.forget(self._name, self._index - 1, entry)

    def update(self, entry: StateMapEntry, content: object) -> None:
        self._table.replace(self._name, self._index - 1, entry, content)


def namespace_hash(namespace: Hashable) -> int:
    """Returns Java's hash code of a namespace; None is the namespace outside windows (VoidNamespace).

    >>> namespace_hash(None), namespace_hash("CLEANUP_LEFT")
    (99, 2038325474)
    """
    if namespace is None:
        return _VOID_NAMESPACE_HASH
    return namespace.java_hash() if isinstance(namespace, HashableNamespace) else java_hash(namespace)
