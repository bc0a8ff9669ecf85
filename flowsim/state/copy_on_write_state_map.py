"""The iteration order of the keys of a heap state. Flink: CopyOnWriteStateMap.

The contents are in ``KeyCells``. This map stores only the bucket of each key and namespace, because the buckets decide
the order of cleanup and of ``apply_to_keyed_state``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Final

_DEFAULT_CAPACITY: Final = 128
_MIN_TRANSFERRED_PER_INCREMENTAL_REHASH: Final = 4
_WORD: Final = 0xFFFFFFFF


@dataclass(slots=True, eq=False)
class StateMapEntry:
    """A key that has a state in a namespace; ``key_id`` is the key's ``state_key``."""

    key: object
    key_id: object
    namespace: Hashable
    hash: int
    stray_content: object = None
    """The content in a key group that is not the key's own group; cleanup can put content there."""


Chain = list[StateMapEntry]
"""The entries of a bucket, the newest first."""
Table = list[Chain | None]

_EMPTY_TABLE: Final[Table] = [None, None]


def bit_mix(code: int) -> int:
    """Scrambles a hash code of 32 bits. Flink: MathUtils.bitMix.

    >>> bit_mix(99)
    2622321114
    """
    code &= _WORD
    code = (code ^ code >> 16) * 0x85EBCA6B & _WORD
    code = (code ^ code >> 13) * 0xC2B2AE35 & _WORD
    return code ^ code >> 16


class CopyOnWriteStateMap:
    """The keys of one key group. The map doubles its size, moves a few buckets with every access, and never shrinks.

    Flink: CopyOnWriteStateMap.
    """

    __slots__ = ("_primary", "_rehash", "_primary_size", "_rehash_size", "_rehash_index", "_threshold")

    def __init__(self) -> None:
        self._primary: Table = [None] * _DEFAULT_CAPACITY
        self._rehash = _EMPTY_TABLE
        self._primary_size = 0
        self._rehash_size = 0
        self._rehash_index = 0
        self._threshold = _DEFAULT_CAPACITY * 3 // 4

    def __len__(self) -> int:
        return self._primary_size + self._rehash_size

    def touch(self) -> None:
        """Continues a rehash in progress, as a read does."""
        if self._rehash is not _EMPTY_TABLE:
            self._incremental_rehash()

    def put(self, entry: StateMapEntry) -> StateMapEntry:
        """Returns the entry of the key and namespace, and creates it if it is missing; counts as a write."""
        self.touch()
        table = self._active_table(entry.hash)
        index = entry.hash & len(table) - 1
        chain = table[index]
        position = None if chain is None else _find(chain, entry)
        if chain is not None and position is not None:
            return chain[position]
        if len(self) > self._threshold:
            self._rehash = [None] * (2 * len(self._primary))
            self._threshold = len(self._rehash) * 3 // 4
        if chain is None:
            table[index] = [entry]
        else:
            chain.insert(0, entry)
        if table is self._primary:
            self._primary_size += 1
        else:
            self._rehash_size += 1
        return entry

    def remove(self, entry: StateMapEntry) -> None:
        """Removes the entry of a key and namespace."""
        self.touch()
        table = self._active_table(entry.hash)
        index = entry.hash & len(table) - 1
        chain = table[index]
        position = None if chain is None else _find(chain, entry)
        if chain is None or position is None:
            return
        del chain[position]
        if not chain:
            table[index] = None
        if table is self._primary:
            self._primary_size -= 1
        else:
            self._rehash_size -= 1

    def __iter__(self) -> Iterator[StateMapEntry]:
        chains = ChainIterator(self, None)
        while (chain := chains.next_chain()) is not None:
            yield from chain

    def snapshot(self) -> list[StateMapEntry]:
        """Returns the entries in the order in which a snapshot stores them. Flink: snapshotMapArrays."""
        moved, new = self._rehash_index, self._rehash
        middle = len(new) // 2
        buckets = (self._primary[moved:], new[:moved], new[middle : middle + moved])
        return [entry for part in buckets for chain in part if chain is not None for entry in chain]

    def tables(self) -> tuple[Table, Table]:
        """Returns the main table, and the table that a rehash moves entries to (empty without a rehash)."""
        return self._primary, self._rehash

    def _active_table(self, code: int) -> Table:
        return self._primary if code & len(self._primary) - 1 >= self._rehash_index else self._rehash

    def _incremental_rehash(self) -> None:
        old, new = self._primary, self._rehash
        index, transferred = self._rehash_index, 0
        while transferred < _MIN_TRANSFERRED_PER_INCREMENTAL_REHASH:
            for entry in old[index] or ():
                position = entry.hash & len(new) - 1
                chain = new[position]
                if chain is None:
                    new[position] = [entry]
                else:
                    chain.insert(0, entry)
                transferred += 1
            old[index] = None
            index += 1
            if index == len(old):
                self._primary, self._rehash = new, _EMPTY_TABLE
                self._primary_size += self._rehash_size
                self._rehash_size = 0
                self._rehash_index = 0
                return
        self._primary_size -= transferred
        self._rehash_size += transferred
        self._rehash_index = index


def _find(chain: Chain, wanted: StateMapEntry) -> int | None:
    for index, entry in enumerate(chain):
        if entry.hash == wanted.hash and entry.key_id == wanted.key_id and entry.namespace == wanted.namespace:
            return index
    return None


class ChainIterator:
    """Iterates over the buckets of a map that may change meanwhile, ``max_positions`` buckets at a time (None: all).

    Flink: CopyOnWriteStateMap.StateEntryChainIterator.
    """

    __slots__ = ("_map", "_active", "_position", "_max_positions")

    def __init__(self, state_map: CopyOnWriteStateMap, max_positions: int | None) -> None:
        self._map = state_map
        self._active: Table = state_map.tables()[0]
        self._position = 0
        self._max_positions = max_positions

    def has_next(self) -> bool:
        """True if buckets are left, including empty buckets."""
        return len(self._map) > 0 and (self._position < len(self._active) or self._active is self._map.tables()[0])

    def next_chain(self) -> Chain | None:
        """Returns the entries of the next non-empty bucket; None if the next ``max_positions`` buckets are empty."""
        while True:
            chain = self._next_in_active_table()
            primary, rehash = self._map.tables()
            if (
                chain is not None
                or self._position < len(self._active)
                or self._active is rehash
                or self._active is not primary
            ):
                return chain
            self._active = rehash
            self._position = 0

    def _next_in_active_table(self) -> Chain | None:
        table, traversed = self._active, 0
        while self._position < len(table) and (self._max_positions is None or traversed < self._max_positions):
            chain = table[self._position]
            self._position += 1
            if chain is not None:
                return list(chain)
            traversed += 1
        return None
