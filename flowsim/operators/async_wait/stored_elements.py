"""The queue of an async operator as list state (rules 11.20, 11.22). Flink: AsyncWaitOperator, StreamElementSerializer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.state.snapshots.operator_state_backend import PartitionableListState
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext
from flowsim.streamrecord.elements import StreamElement, StreamRecord, Watermark

_STATE_NAME: Final = "_async_wait_operator_state_"
"""The name that Flink gives to this state."""


class StoredElements:
    """The list state of one async operator."""

    __slots__ = ("_state",)

    def __init__(self) -> None:
        self._state: PartitionableListState | None = None

    def initialize_state(self, context: StateInitializationContext) -> list[StreamElement]:
        """Declares the state; returns the restored elements."""
        self._state = context.operator_state.get_list_state(_STATE_NAME)
        return [_restored(stored) for stored in self._state.get()]

    def update(self, elements: Sequence[StreamElement]) -> None:
        """Replaces the stored elements."""
        if self._state is not None:
            self._state.update([_stored(element) for element in elements])


def _stored(element: StreamElement) -> object:
    """A record is (timestamp or None, value), a watermark (timestamp,)."""
    if isinstance(element, StreamRecord):
        return (element.timestamp, element.value)
    return (element.timestamp,)


def _restored(stored: object) -> StreamElement:
    assert isinstance(stored, tuple)
    return StreamRecord(stored[1], stored[0]) if len(stored) == 2 else Watermark(stored[0])
