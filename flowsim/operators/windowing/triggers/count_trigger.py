"""Fires at every so many records. Flink: CountTrigger (rule 10.19)."""

from __future__ import annotations

from typing import Final

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.triggers.trigger import (
    CONTINUE,
    FIRE,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)
from flowsim.operators.windowing.window import Window
from flowsim.state.descriptors import ReducingStateDescriptor
from flowsim.values import Types


def _sum(count: object, more: object) -> object:
    assert isinstance(count, int)
    assert isinstance(more, int)
    return count + more


_COUNT: Final = ReducingStateDescriptor("count", _sum, Types.LONG())


class CountTrigger(Trigger):
    """Fires at every ``max_count`` records of a key and window; contents accumulate. Flink: CountTrigger."""

    __slots__ = ("max_count",)

    def __init__(self, max_count: int) -> None:
        self.max_count = max_count

    def on_element(self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
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
        # The sum may reach the limit: only the next record is asked about it.
        ctx.merge_partitioned_state(_COUNT)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.get_partitioned_state(_COUNT).clear()
