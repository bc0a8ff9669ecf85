"""The keyed state and timers that a subtask restores from handles of several old subtasks (rules 12.106, 12.120)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from flowsim.errors import BadInput
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.redistribution.operator_state import KeyGroupsStateHandle
from flowsim.state.snapshots.stored_streams import (
    KeyedStateStream,
    StoredCell,
    StoredStream,
    StoredTimer,
    TimerStream,
)
from flowsim.values.closed_set import copy_value

S = TypeVar("S")


class RestoredKeyGroups:
    """Reads the key groups of a subtask; two handles never share one. Flink: KeyGroupStatePartitionStreamProvider."""

    __slots__ = ("key_groups", "_managed", "_raw")

    def __init__(
        self,
        key_groups: KeyGroupRange,
        managed: Sequence[KeyGroupsStateHandle],
        raw: Sequence[KeyGroupsStateHandle],
        read: Callable[[str], StoredStream],
    ) -> None:
        self.key_groups: KeyGroupRange = key_groups
        self._managed = [(handle.key_groups, _expect(read(handle.stream), KeyedStateStream)) for handle in managed]
        self._raw = [(handle.key_groups, _expect(read(handle.stream), TimerStream)) for handle in raw]

    def descriptions(self) -> dict[str, str]:
        """Returns the kind of each restored state."""
        return {name: kind for _, stream in self._managed for name, kind in stream.descriptions.items()}

    def cells(self) -> Iterator[tuple[int, StoredCell]]:
        """Yields the key group and a copy of the cell, in ascending order of key groups.

        The checkpoint may be restored again, and so must not see what the operator changes.
        """
        for group, stream in self._in_order(self._managed):
            for cell in stream.cells.get(group, ()):
                yield group, StoredCell(cell.state, cell.namespace, cell.key, copy_value(cell.content))

    def timers(self) -> Iterator[tuple[int, StoredTimer]]:
        """Yields the key group and the timer, in ascending order of key groups."""
        for group, stream in self._in_order(self._raw):
            for timer in stream.timers.get(group, ()):
                yield group, timer

    def _in_order(self, streams: Sequence[tuple[KeyGroupRange, S]]) -> Iterator[tuple[int, S]]:
        for key_groups, stream in sorted(streams, key=lambda each: each[0].start):
            for group in range(key_groups.start, key_groups.end + 1):
                if self.key_groups.start <= group <= self.key_groups.end:
                    yield group, stream


def _expect(stream: StoredStream, kind: type[S]) -> S:
    if not isinstance(stream, kind):
        raise BadInput(f"expected a {kind.__name__} in the checkpoint, got a {type(stream).__name__}")
    return stream
