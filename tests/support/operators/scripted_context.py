"""A trigger context that a test drives: it sets time, records calls about timers, and has real keyed state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from flowsim.operators.windowing.triggers.trigger import MergingStateDescriptor
from flowsim.operators.windowing.windows import TimeWindow, Window
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.keyed_state import KeyedStateBackend
from flowsim.state.states import AggregatingState, ListState, MapState, MergingState, ReducingState, State, ValueState
from flowsim.units import NO_TIMESTAMP


class ScriptedContext:
    """The context of one key; ``at`` is the window, ``merged`` are the windows that it replaces."""

    def __init__(self) -> None:
        self.at: Window = TimeWindow(0, 10)
        self.merged: Sequence[Window] = ()
        self.watermark = NO_TIMESTAMP
        self.now = 0
        self.calls: list[str] = []
        self.backend = KeyedStateBackend(KeyGroupRange(0, 127), 128)
        self.backend.set_current_key("k")

    def get_current_watermark(self) -> int:
        return self.watermark

    def get_current_processing_time(self) -> int:
        return self.now

    def register_event_time_timer(self, time: int) -> None:
        self.calls.append(f"+e{time}")

    def register_processing_time_timer(self, time: int) -> None:
        self.calls.append(f"+p{time}")

    def delete_event_time_timer(self, time: int) -> None:
        self.calls.append(f"-e{time}")

    def delete_processing_time_timer(self, time: int) -> None:
        self.calls.append(f"-p{time}")

    @overload
    def get_partitioned_state(self, state_descriptor: ValueStateDescriptor) -> ValueState: ...
    @overload
    def get_partitioned_state(self, state_descriptor: ListStateDescriptor) -> ListState: ...
    @overload
    def get_partitioned_state(self, state_descriptor: MapStateDescriptor) -> MapState: ...
    @overload
    def get_partitioned_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState: ...
    @overload
    def get_partitioned_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState: ...
    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
        return self.backend.store(self.at).get_any(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: MergingStateDescriptor) -> None:
        state = self.get_partitioned_state(state_descriptor)
        assert isinstance(state, MergingState)
        state.merge_namespaces(self.merged)

    def take_timer_calls(self) -> list[str]:
        """What was done with timers since it was asked last: + or -, e or p, and the time."""
        calls, self.calls = self.calls, []
        return calls

    def kept(self) -> dict[str, object]:
        """All state, by name and window."""
        return {
            f"{entry.name}@{written(entry.namespace)}": entry.content
            for group in self.backend.key_groups()
            for entry in self.backend.entries_of_key_group(group)
        }


def written(window: object) -> str:
    """``start:end``, or ``global``."""
    return f"{window.start}:{window.end}" if isinstance(window, TimeWindow) else "global"
