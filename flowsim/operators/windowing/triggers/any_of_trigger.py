"""A trigger that fires if one of several triggers fires; Flink has none, its users write one."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Final, TypeVar

from flowsim.errors import BadInput
from flowsim.operators.metric_group import MetricGroup
from flowsim.operators.windowing.described import described
from flowsim.operators.windowing.triggers.trigger import (
    AnyTrigger,
    MergingStateDescriptor,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)
from flowsim.operators.windowing.windows import Window
from flowsim.state.descriptors import StateDescriptor

_RESULTS: Final = {(one.is_fire(), one.is_purge()): one for one in TriggerResult}
S = TypeVar("S", bound=StateDescriptor)


@described("any_of", of="parts")
class AnyOfTrigger(Trigger[object, Window]):
    """Fires if one of its parts fires, and purges if one of them purges.

    Every part gets every record and every timer of the window, and has states of its own: part 1 keeps its state ``count``
    as ``1/count``. Timers belong to the window, as in Flink: parts that register the same time share one timer. The trigger
    merges if all parts do.

    >>> from flowsim.operators.windowing.triggers.count_triggers import CountTrigger
    >>> AnyOfTrigger.of(CountTrigger.of(2), CountTrigger.of(3)).can_merge()
    True
    """

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[AnyTrigger, ...]) -> None:
        self.parts: tuple[AnyTrigger, ...] = parts

    @staticmethod
    def of(*triggers: AnyTrigger) -> AnyOfTrigger:
        """Creates the trigger. Raises TypeError for a part that is no trigger, BadInput without parts."""
        if not triggers:
            raise BadInput("AnyOfTrigger.of: expected one or more triggers")
        for part in triggers:
            if isinstance(part, type) or not callable(getattr(part, "on_element", None)):
                raise TypeError(f"AnyOfTrigger.of: expected a trigger, got {part!r}")
        return AnyOfTrigger(triggers)

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._combined(lambda part, own: part.on_element(element, timestamp, window, own), ctx)

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._combined(lambda part, own: part.on_event_time(time, window, own), ctx)

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._combined(lambda part, own: part.on_processing_time(time, window, own), ctx)

    def can_merge(self) -> bool:
        return all(part.can_merge() for part in self.parts)

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        for index, part in enumerate(self.parts):
            part.on_merge(window, PartOnMergeContext(index, ctx))

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        for index, part in enumerate(self.parts):
            part.clear(window, PartContext(index, ctx))

    def _combined(
        self, call: Callable[[AnyTrigger, TriggerContext], TriggerResult], ctx: TriggerContext
    ) -> TriggerResult:
        """Calls every part, also after one that fires: each has to see all records and timers."""
        results = [call(part, PartContext(index, ctx)) for index, part in enumerate(self.parts)]
        return _RESULTS[any(result.is_fire() for result in results), any(result.is_purge() for result in results)]


class PartContext(TriggerContext):
    """The context of one part: that of the trigger, with the names of states prefixed by the index of the part."""

    __slots__ = ("_ctx", "_index")

    def __init__(self, index: int, ctx: TriggerContext) -> None:
        self._index = index
        self._ctx = ctx

    def get_current_watermark(self) -> int:
        return self._ctx.get_current_watermark()

    def get_current_processing_time(self) -> int:
        return self._ctx.get_current_processing_time()

    def get_metric_group(self) -> MetricGroup:
        return self._ctx.get_metric_group()

    def register_event_time_timer(self, time: int) -> None:
        self._ctx.register_event_time_timer(time)

    def register_processing_time_timer(self, time: int) -> None:
        self._ctx.register_processing_time_timer(time)

    def delete_event_time_timer(self, time: int) -> None:
        self._ctx.delete_event_time_timer(time)

    def delete_processing_time_timer(self, time: int) -> None:
        self._ctx.delete_processing_time_timer(time)

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        return self._ctx.get_partitioned_state(_of_part(self._index, state_descriptor))


class PartOnMergeContext(PartContext):
    """The context of one part while windows merge."""

    __slots__ = ("_merge_ctx",)

    def __init__(self, index: int, ctx: OnMergeContext) -> None:
        super().__init__(index, ctx)
        self._merge_ctx = ctx

    def merge_partitioned_state(self, state_descriptor: MergingStateDescriptor) -> None:
        self._merge_ctx.merge_partitioned_state(_of_part(self._index, state_descriptor))


def _of_part(index: int, descriptor: S) -> S:
    """Returns the descriptor with the name of the part's state: two parts may use one name, such as ``count``."""
    own = copy(descriptor)
    own.name = f"{index}/{descriptor.name}"
    return own
