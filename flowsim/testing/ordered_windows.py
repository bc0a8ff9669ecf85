"""Functions and a trigger of windows for scenarios that test a job (``flowsim.testing.functions``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from flowsim.datastream.common import Types
from flowsim.datastream.functions import ProcessAllWindowFunction, ProcessWindowFunction
from flowsim.datastream.state import ValueStateDescriptor
from flowsim.datastream.window import Trigger, TriggerResult
from flowsim.operators.windowing.windows import TimeWindow, Window
from flowsim.testing.orders import Record, orders_of, text_of

Seen = tuple[object, ...]

_FIRINGS: Final = ValueStateDescriptor("firings", Types.LONG())
_FIRINGS_OF_KEY: Final = ValueStateDescriptor("firings of the key", Types.LONG())
"""Flink cannot take a checkpoint of states of a window and of a key with one name."""


def _bounds(window: object) -> tuple[int | None, int | None]:
    return (window.start, window.end) if isinstance(window, TimeWindow) else (None, None)


def _counted(store: Any, firings: ValueStateDescriptor) -> int:
    state = store.get_state(firings)
    state.update((state.value() or 0) + 1)
    counted: int = state.value()
    return counted


class WindowContents(ProcessWindowFunction[Record, Seen, object, Window]):
    """The records of a window that fires: ``(key, start, end, records, watermark, firings, firings_of_key)``.

    A GlobalWindow has no start and end. The firings are counted in the states of the window and of the key.
    """

    def process(self, key: object, context: Any, elements: Iterable[Record]) -> Iterable[Seen]:
        records = "; ".join(map(text_of, elements))
        counts = _counted(context.window_state(), _FIRINGS), _counted(context.global_state(), _FIRINGS_OF_KEY)
        yield str(key), *_bounds(context.window()), records, context.current_watermark(), *counts

    def clear(self, context: Any) -> None:
        context.window_state().get_state(_FIRINGS).clear()


class AllWindowContents(ProcessAllWindowFunction[Record, Seen, Window]):
    """The records of a window without key that fires: ``(start, end, records)``."""

    def process(self, context: Any, elements: Iterable[Record]) -> Iterable[Seen]:
        yield *_bounds(context.window()), "; ".join(map(text_of, elements))


class OrderedTrigger(Trigger[Record, Window]):
    """Fires and purges as the records order, and fires and purges at the end of the window in event time."""

    def on_element(self, element: Record, timestamp: int | None, window: Window, ctx: Any) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        words = set()
        for word, numbers in orders_of(element):
            words.add(word)
            if word == "event":
                ctx.register_event_time_timer(*numbers)
        fires, purges = "fire" in words, "purge" in words
        if fires and purges:
            return TriggerResult.FIRE_AND_PURGE
        return TriggerResult.FIRE if fires else TriggerResult.PURGE if purges else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE if time == window.max_timestamp() else TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Any) -> None:
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Window, ctx: Any) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())
