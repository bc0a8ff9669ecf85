"""Fires when a record is far from the last one that fired. Flink: DeltaTrigger (rule 10.23)."""

from __future__ import annotations

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.delta_function import DeltaFunction
from flowsim.operators.windowing.triggers.trigger import CONTINUE, FIRE, Trigger, TriggerContext, TriggerResult
from flowsim.operators.windowing.window import Window
from flowsim.state.descriptors import ValueStateDescriptor
from flowsim.values import TypeInformation


class DeltaTrigger(Trigger):
    """Fires when the distance from the noted record exceeds ``threshold``, and notes the new one. Flink: DeltaTrigger.

    The first record of a window is only noted. It serves no windows that merge.
    """

    __slots__ = ("threshold", "delta_function", "_last_element")

    def __init__(self, threshold: float, delta_function: DeltaFunction, state_type: TypeInformation) -> None:
        self.threshold = threshold
        self.delta_function = delta_function
        self._last_element = ValueStateDescriptor("last-element", state_type)

    def on_element(self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
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
