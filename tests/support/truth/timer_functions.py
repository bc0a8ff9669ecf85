"""A process function that registers, moves and deletes timers as its records say, in records and in callbacks."""

from __future__ import annotations

from collections.abc import Iterable

from flowsim.datastream.functions import KeyedProcessFunction, RuntimeContext
from flowsim.datastream.state import ValueStateDescriptor
from flowsim.datastream.timerservice import TimerService
from flowsim.values.types import Types


class Timers(KeyedProcessFunction):
    """A record is a key, an action and a time: ``event`` and ``clock`` register, ``drop`` deletes an event-time timer."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def use_interruptible_timers(self) -> bool:
        return True

    def process_element(self, value: tuple[str, str, int], ctx: KeyedProcessFunction.Context) -> Iterable[object]:
        _, action, at = value
        timers = ctx.timer_service()
        self._seen.update(at)
        self._act(timers, action, at)
        return ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[object]:
        timers = ctx.timer_service()
        if timestamp % 5 == 0:
            timers.register_event_time_timer(timestamp - 3)
        if timestamp % 7 == 0:
            timers.delete_event_time_timer(timestamp + 1)
            self._seen.clear()
        yield (timestamp,)

    def _act(self, timers: TimerService, action: str, at: int) -> None:
        match action:
            case "event":
                timers.register_event_time_timer(at)
            case "clock":
                timers.register_processing_time_timer(timers.current_processing_time() + at)
            case "drop":
                timers.delete_event_time_timer(at)
            case _:
                timers.delete_event_time_timer(at)
                timers.register_event_time_timer(at + 2)
