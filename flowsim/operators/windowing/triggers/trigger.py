"""Triggers, which decide when a window fires, and their context. Flink: Trigger, TriggerResult (rules 10.17-10.24)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar, overload

from flowsim.errors import BadInput
from flowsim.facts.kinds import WindowResult
from flowsim.operators.metric_group import MetricGroup
from flowsim.operators.windowing.windows import Window
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.states import AggregatingState, ListState, MapState, ReducingState, ValueState

MergingStateDescriptor = ListStateDescriptor | ReducingStateDescriptor | AggregatingStateDescriptor
"""The descriptors of states that can merge. Flink: StateDescriptor of a MergingState."""


class TriggerResult(Enum):
    """The action for a window; the value is (fire, purge). Flink: TriggerResult."""

    CONTINUE = (False, False)
    FIRE = (True, False)
    PURGE = (False, True)
    FIRE_AND_PURGE = (True, True)

    def __init__(self, fire: bool, purge: bool) -> None:
        # Attributes, because ``value`` is a Python property and a trigger is called for every record.
        self._is_fire = fire
        self._is_purge = purge

    def is_fire(self) -> bool:
        return self._is_fire

    def is_purge(self) -> bool:
        return self._is_purge

    @property
    def recorded(self) -> WindowResult:
        """The name in recordings. Raises KeyError for CONTINUE, which is not recorded."""
        return _RECORDED[self.value]


_RECORDED = {
    (True, False): WindowResult.FIRE,
    (False, True): WindowResult.PURGE,
    (True, True): WindowResult.FIRE_AND_PURGE,
}


# Module-level names of the members: the class lookup takes ten times as long, and triggers return one per record.
CONTINUE: Final = TriggerResult.CONTINUE
FIRE: Final = TriggerResult.FIRE
FIRE_AND_PURGE: Final = TriggerResult.FIRE_AND_PURGE


class TriggerContext(Protocol):
    """The context of a trigger for the current key and window; times in ms. Flink: Trigger.TriggerContext."""

    def get_current_watermark(self) -> int:
        """Returns the current watermark; ``NO_TIMESTAMP`` before the first watermark."""

    def get_current_processing_time(self) -> int: ...

    def get_metric_group(self) -> MetricGroup:
        """Returns the user-defined metrics of the operator."""

    def register_event_time_timer(self, time: int) -> None: ...

    def register_processing_time_timer(self, time: int) -> None: ...

    def delete_event_time_timer(self, time: int) -> None: ...

    def delete_processing_time_timer(self, time: int) -> None: ...

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


class OnMergeContext(TriggerContext, Protocol):
    """The context of a trigger for the window into which other windows were merged. Flink: Trigger.OnMergeContext."""

    def merge_partitioned_state(self, state_descriptor: MergingStateDescriptor) -> None:
        """Merges the state of the merged windows into the state of the resulting window."""


T = TypeVar("T")
W = TypeVar("W", bound=Window)


class Trigger(ABC, Generic[T, W]):
    """Decides for each record T and timer of one key and window W; also the base of user-defined triggers. PyFlink:
    Trigger.

    One object serves all keys and windows of a subtask: it keeps state per key and window in
    ``ctx.get_partitioned_state(descriptor)``. To support merging windows, define ``can_merge`` and ``on_merge`` too.
    """

    __slots__ = ()

    TriggerContext: TypeAlias = TriggerContext
    OnMergeContext: TypeAlias = OnMergeContext

    @abstractmethod
    def on_element(self, element: T, timestamp: int | None, window: W, ctx: TriggerContext, /) -> TriggerResult:
        """Called when a record was added to the window; timestamp in ms."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: TriggerContext, /) -> TriggerResult:
        """Called when the watermark reached an event-time timer of the window (time in ms)."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: TriggerContext, /) -> TriggerResult:
        """Called when a processing-time timer of the window fires (time in ms)."""

    def can_merge(self) -> bool:
        """Returns True if the trigger supports merging windows (rule 10.24)."""
        return False

    def on_merge(self, window: W, ctx: OnMergeContext, /) -> None:
        """Called when other windows were merged into this window. Raises BadInput unless the trigger can merge."""
        raise BadInput(f"the trigger {type(self).__name__} does not support merging windows (rule 10.24)")

    @abstractmethod
    def clear(self, window: W, ctx: TriggerContext, /) -> None:
        """Removes the trigger's state of the window, because the window is cleaned up or merged into another window."""


AnyTrigger: TypeAlias = Trigger[Any, Any]
"""A trigger for any record type and window type."""
