"""Triggers by the number or distance of records. Flink: CountTrigger, DeltaTrigger."""

from __future__ import annotations

from typing import Final

from flowsim.operators.windowing.delta_function import AnyDeltaFunction, Delta, delta_of
from flowsim.operators.windowing.described import described
from flowsim.operators.windowing.triggers.trigger import (
    CONTINUE,
    FIRE,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)
from flowsim.operators.windowing.windows import Window
from flowsim.state.descriptors import ReducingStateDescriptor, ValueStateDescriptor
from flowsim.values.types import TypeInformation, Types


def _sum(count: object, more: object) -> object:
    assert isinstance(count, int)
    assert isinstance(more, int)
    return count + more


_COUNT: Final = ReducingStateDescriptor("count", _sum, Types.LONG())


@described("count", count="max_count")
class CountTrigger(Trigger[object, Window]):
    """Fires at every ``max_count`` records of a key and window; contents accumulate. PyFlink: CountTrigger (rule 10.19)."""

    __slots__ = ("max_count",)

    def __init__(self, window_size: int) -> None:
        self.max_count: int = window_size

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Creates the trigger. Raises TypeError unless the count is a whole number."""
        if type(window_size) is not int:
            raise TypeError(f"CountTrigger.of: expected a number of records, got {window_size!r}")
        return CountTrigger(window_size)

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        count = ctx.get_partitioned_state(_COUNT)
        count.add(1)
        counted = count.get()
        assert isinstance(counted, int)
        if counted < self.max_count:
            return CONTINUE
        count.clear()
        return FIRE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        # The sum may reach the limit: only the next record is compared with it.
        ctx.merge_partitioned_state(_COUNT)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.get_partitioned_state(_COUNT).clear()


@described("delta", threshold="threshold")
class DeltaTrigger(Trigger[object, Window]):
    """Fires when the distance from the stored record exceeds ``threshold``, and stores the new one.

    The first record of a window is only stored. The trigger does not support merging windows. Flink: DeltaTrigger (rule
    10.23); PyFlink has none.
    """

    __slots__ = ("threshold", "delta_function", "_last_element")

    def __init__(self, threshold: float, delta_function: Delta, state_type: TypeInformation) -> None:
        self.threshold: float = threshold
        self.delta_function: Delta = delta_function
        self._last_element = ValueStateDescriptor("last-element", state_type)

    @staticmethod
    def of(
        threshold: float, delta_function: AnyDeltaFunction, state_type: TypeInformation | None = None
    ) -> DeltaTrigger:
        """Creates the trigger.

        ``delta_function(stored, new)`` returns the distance; ``state_type`` is the type of the records.
        """
        state_type = Types.PICKLED_BYTE_ARRAY() if state_type is None else state_type
        return DeltaTrigger(threshold, delta_of(delta_function, "DeltaTrigger.of"), state_type)

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        last_element = ctx.get_partitioned_state(self._last_element)
        last = last_element.value()
        if last is None:
            last_element.update(element)
            return CONTINUE
        if not self.delta_function(last, element) > self.threshold:
            return CONTINUE
        last_element.update(element)
        return FIRE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.get_partitioned_state(self._last_element).clear()
