"""A keyed function with state and timers in both domains, for jobs that are restored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from flowsim.datastream.common import Types
from flowsim.datastream.functions import KeyedProcessFunction
from flowsim.datastream.state import ValueStateDescriptor


class CountsAndWaits(KeyedProcessFunction):
    """Counts per key, and emits again at an event time, and after some ms of processing time.

    ``event_time_ms`` gives the event time for a record and its timestamp.
    """

    def __init__(self, event_time_ms: Callable[[Any, int], int], wait_ms: int) -> None:
        self._event_time_ms = event_time_ms
        self._wait_ms = wait_ms

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        timers = ctx.timer_service()
        timers.register_event_time_timer(self._event_time_ms(value, ctx.timestamp()))
        timers.register_processing_time_timer(timers.current_processing_time() + self._wait_ms)
        yield value[0], count, 0

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), -timestamp, 0
