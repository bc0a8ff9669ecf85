"""What decides when the contents of a window are handed on. Flink: Trigger, TriggerResult (rules 10.17-10.24)."""

from __future__ import annotations

from abc import abstractmethod
from enum import Enum
from typing import Final, Protocol, overload

from flowsim.errors import BadInput
from flowsim.facts.kinds import WindowResult
from flowsim.operators.metric_group import MetricGroup
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.window import Window
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.states import AggregatingState, ListState, MapState, ReducingState, ValueState

MergingStateDescriptor = ListStateDescriptor | ReducingStateDescriptor | AggregatingStateDescriptor
"""Of the states that can take over what other windows hold. Flink: StateDescriptor of a MergingState."""


class TriggerResult(Enum):
    """What to do with a window; the value is (fire, purge). Flink: TriggerResult."""

    CONTINUE = (False, False)
    FIRE = (True, False)
    PURGE = (False, True)
    FIRE_AND_PURGE = (True, True)

    def __init__(self, fire: bool, purge: bool) -> None:
        # Attributes: ``value`` is a property that runs Python, and a trigger is asked at every record.
        self._is_fire = fire
        self._is_purge = purge

    def is_fire(self) -> bool:
        return self._is_fire

    def is_purge(self) -> bool:
        return self._is_purge

    @property
    def recorded(self) -> WindowResult:
        """What a recording calls it; raises KeyError for CONTINUE, which is not recorded."""
        return _RECORDED[self.value]


_RECORDED = {
    (True, False): WindowResult.FIRE,
    (False, True): WindowResult.PURGE,
    (True, True): WindowResult.FIRE_AND_PURGE,
}


# Members under names of their own: to look one up in its class takes ten times as long, and triggers answer at every record.
CONTINUE: Final = TriggerResult.CONTINUE
FIRE: Final = TriggerResult.FIRE
FIRE_AND_PURGE: Final = TriggerResult.FIRE_AND_PURGE


class TriggerContext(Protocol):
    """What a trigger may ask and do for the current key and window; times in ms. Flink: Trigger.TriggerContext."""

    def get_current_watermark(self) -> int:
        """``NO_TIMESTAMP`` before the first watermark."""

    def get_current_processing_time(self) -> int: ...

    def get_metric_group(self) -> MetricGroup:
        """The metrics of the operator, as its functions have them."""

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
    """What a trigger may do for the window that others were merged into. Flink: Trigger.OnMergeContext."""

    def merge_partitioned_state(self, state_descriptor: MergingStateDescriptor) -> None:
        """Moves what the merged windows hold in this state into the state of the window they became."""


class Trigger(Protocol):
    """Decides for each record and timer of one key and window; keeps what it must know in the context's state.

    One object serves all keys and windows of a subtask. Flink: Trigger.
    """

    __slots__ = ()

    @abstractmethod
    def on_element(
        self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext, /
    ) -> TriggerResult:
        """A record was added to the window."""

    @abstractmethod
    def on_event_time(self, time: int, window: Window, ctx: TriggerContext, /) -> TriggerResult:
        """The watermark reached an event-time timer of the window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext, /) -> TriggerResult:
        """A processing-time timer of the window is due."""

    def can_merge(self) -> bool:
        """Whether it can serve windows that merge (rule 10.24)."""
        return False

    def on_merge(self, window: Window, ctx: OnMergeContext, /) -> None:
        """Other windows were merged into this one; raises BadInput unless the trigger can merge."""
        raise BadInput(f"the trigger {type(self).__name__} does not support merging windows (rule 10.24)")

    @abstractmethod
    def clear(self, window: Window, ctx: TriggerContext, /) -> None:
        """Forgets what it keeps for the window; called when the window is cleaned up or merged into another."""
