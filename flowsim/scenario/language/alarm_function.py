"""``alarm:``: a timer per key that one record sets and another may cancel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from flowsim.datastream.functions import KeyedProcessFunction, RuntimeContext
from flowsim.datastream.state import ValueStateDescriptor
from flowsim.datastream.timerservice import TimerService
from flowsim.values import Types

Condition = Callable[[object, int | None], object]


@dataclass(frozen=True, slots=True)
class AlarmRules:
    """What sets an alarm, what cancels it, and what it says."""

    when: Condition
    cancel: Condition | None
    emit: Callable[[object, int | None], tuple[object, ...]]
    after_ms: int
    by_event_time: bool
    renew: bool


class Alarm(KeyedProcessFunction):
    """Remembers the record that set the alarm of each key, and emits when its timer fires."""

    def __init__(self, rules: AlarmRules) -> None:
        self._rules = rules

    def open(self, runtime_context: RuntimeContext) -> None:
        self._set = runtime_context.get_state(ValueStateDescriptor("alarm", Types.PICKLED_BYTE_ARRAY()))

    def use_interruptible_timers(self) -> bool:
        """Each alarm stands for itself, so records may come between two of them."""
        return True

    def process_element(self, value: object, ctx: KeyedProcessFunction.Context) -> Iterable[object]:
        rules, timestamp, timers = self._rules, ctx.timestamp(), ctx.timer_service()
        if rules.cancel is not None and rules.cancel(value, timestamp):
            self._cancel(timers)
        if rules.when(value, timestamp) and (rules.renew or self._set.value() is None):
            self._cancel(timers)
            now = timestamp if rules.by_event_time else timers.current_processing_time()
            if now is None:
                raise ValueError("an alarm in event time needs records with timestamps")
            due = now + rules.after_ms
            self._register(timers, due)
            self._set.update((due, timestamp, value))
        return ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[object]:
        alarm = self._set.value()
        assert isinstance(alarm, tuple)
        due, at, value = alarm
        self._set.clear()
        return ((*self._rules.emit(value, at), due),)

    def _cancel(self, timers: TimerService) -> None:
        alarm = self._set.value()
        if isinstance(alarm, tuple):
            if self._rules.by_event_time:
                timers.delete_event_time_timer(alarm[0])
            else:
                timers.delete_processing_time_timer(alarm[0])
            self._set.clear()

    def _register(self, timers: TimerService, due: int) -> None:
        if self._rules.by_event_time:
            timers.register_event_time_timer(due)
        else:
            timers.register_processing_time_timer(due)
