"""The cells and timers of a stored stream by key group; a key group is decoded when it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

import numpy as np

from flowsim.checkpoints.storage.directory.table_reader import StateRows
from flowsim.state.snapshots.stored_streams import StoredCell, StoredTimer

T = TypeVar("T")


class StoredKeyGroups(Mapping[int, tuple[T, ...]], Generic[T]):
    """The rows of each key group. ``decode`` returns the rows from a first one to a last one (exclusive)."""

    __slots__ = ("_decode", "_ranges")

    def __init__(self, rows: StateRows, decode: Callable[[int, int], tuple[T, ...]]) -> None:
        groups = rows.numbers("key_group")
        starts = [0, *(np.flatnonzero(groups[1:] != groups[:-1]) + 1).tolist()]
        ends = [*starts[1:], len(groups)]
        self._ranges = {int(groups[start]): (start, end) for start, end in zip(starts, ends, strict=True)}
        self._decode = decode

    def __getitem__(self, key_group: int) -> tuple[T, ...]:
        return self._decode(*self._ranges[key_group])

    def __iter__(self) -> Iterator[int]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)


def cells_of(rows: StateRows) -> StoredKeyGroups[StoredCell]:
    """Returns the cells of rows of table ``keyed_state``."""
    names, indices = rows.names("state")

    def decode(start: int, end: int) -> tuple[StoredCell, ...]:
        columns = (rows.values(column, start, end) for column in ("namespace", "key", "value"))
        return tuple(
            StoredCell(names[index], namespace, key, value)
            for index, namespace, key, value in zip(indices[start:end], *columns, strict=True)
        )

    return StoredKeyGroups(rows, decode)


def timers_of(rows: StateRows) -> StoredKeyGroups[StoredTimer]:
    """Returns the timers of rows of table ``timers``."""
    names, indices = rows.names("service")
    domains, timestamps = rows.booleans("is_event_time"), rows.numbers("timestamp").tolist()

    def decode(start: int, end: int) -> tuple[StoredTimer, ...]:
        columns = (rows.values(column, start, end) for column in ("key", "namespace"))
        return tuple(
            StoredTimer(names[index], is_event_time, timestamp, key, namespace)
            for index, is_event_time, timestamp, key, namespace in zip(
                indices[start:end], domains[start:end], timestamps[start:end], *columns, strict=True
            )
        )

    return StoredKeyGroups(rows, decode)
