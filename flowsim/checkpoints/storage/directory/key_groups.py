"""The cells and timers of a stored stream by key group; a key group is decoded when it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

import numpy as np

from flowsim.checkpoints.storage.directory.table_reader import StateRows
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.snapshots.stored_streams import StoredCell, StoredTimer

T = TypeVar("T")


class StoredKeyGroups(Mapping[int, tuple[T, ...]], Generic[T]):
    """The rows of each key group. ``decode`` returns the rows from a first one to a last one (exclusive)."""

    __slots__ = ("_decode", "_ranges")

    def __init__(self, rows: StateRows, key_groups: KeyGroupRange, decode: Callable[[int, int], tuple[T, ...]]) -> None:
        """Raises BadInput if the rows are not in the order of ``key_groups``."""
        groups = rows.numbers("key_group")
        if (groups[1:] < groups[:-1]).any():
            raise rows.damaged("its rows are not in the order of key groups")
        for group in (int(groups[0]), int(groups[-1])):
            if group not in key_groups:
                raise rows.damaged(f"key group {group} is not one of its subtask ({key_groups.start}-{key_groups.end})")
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


def cells_of(rows: StateRows, key_groups: KeyGroupRange) -> StoredKeyGroups[StoredCell]:
    """Returns the cells of rows of table ``keyed_state``."""
    names, indices = rows.names("state")

    def decode(start: int, end: int) -> tuple[StoredCell, ...]:
        columns = (rows.values(column, start, end) for column in ("namespace", "key", "value"))
        return tuple(
            StoredCell(names[index], namespace, key, value)
            for index, namespace, key, value in zip(indices[start:end], *columns, strict=True)
        )

    return StoredKeyGroups(rows, key_groups, decode)


def timers_of(rows: StateRows, key_groups: KeyGroupRange) -> StoredKeyGroups[StoredTimer]:
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

    return StoredKeyGroups(rows, key_groups, decode)
