"""``alarm``: a timer per key that one record sets and another may cancel, without Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from flowsim.datastream.functions import KeyedProcessFunction, RuntimeContext
from flowsim.datastream.state import ValueStateDescriptor
from flowsim.datastream.timerservice import TimerService
from flowsim.errors import NoTimestamp
from flowsim.scenario.context import CompileContext, CompiledStream
from flowsim.scenario.features.inputs import Incoming
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.types import DurationMs, ExpressionSource, FieldName, Strict
from flowsim.scenario.yaml.positions import Path
from flowsim.units import NO_TIMESTAMP
from flowsim.values.types import Types

ALARM_TIME = "alarm_ms"


class AlarmModel(Strict):
    """A timer per key: one record sets it, another may cancel it; otherwise it fires."""

    when: ExpressionSource = Field(default="True", description="A record for which this is true sets the alarm.")
    after: DurationMs = Field(
        description="How long after the timestamp of the record (or, in processing time, after its arrival) the "
        "alarm fires."
    )
    time: Literal["event", "processing"] = Field(
        default="event", description="The time of `after`: event time or processing time."
    )
    cancel: ExpressionSource | None = Field(
        default=None, description="A record for which this is true cancels the alarm; evaluated before `when`."
    )
    renew: bool = Field(
        default=True, description="`true`: a later record that sets the alarm moves it; `false`: the first alarm stays."
    )
    emit: Annotated[dict[FieldName, ExpressionSource], Field(min_length=1)] = Field(
        description="Fields of the output, computed from the record that set the alarm; `alarm_ms`, the time of the "
        "alarm, is added after them."
    )


def compile_alarm(context: CompileContext, path: Path, model: AlarmModel, incoming: Incoming) -> CompiledStream:
    """Adds a timer per key of the stream. Raises Failed."""
    schema = incoming.schema
    if ALARM_TIME in model.emit:
        raise context.fail(
            (*path, "emit", ALARM_TIME), f"{ALARM_TIME} is the name of the field for the time of the alarm"
        )
    record = context.record((*path, "emit"), model.emit, schema, keep=False)
    emit = record.function if record.uses_timestamp else lambda value, timestamp: record.function(value)
    cancel = None if model.cancel is None else _condition(context, (*path, "cancel"), model.cancel, schema)
    rules = AlarmRules(
        when=_condition(context, (*path, "when"), model.when, schema),
        cancel=cancel,
        emit=emit,
        after_ms=model.after,
        by_event_time=model.time == "event",
        renew=model.renew,
    )
    stream = context.attempt(path, lambda: incoming.keyed.process(Alarm(rules)))
    return CompiledStream(stream, record.schema.with_fields((ALARM_TIME,), (FieldType.LONG,)))


def _condition(context: CompileContext, path: Path, source: str, schema: RecordSchema) -> Condition:
    return context.condition(path, context.expression(path, source, schema, takes_timestamp=True)).function


Condition = Callable[[object, int | None], object]


@dataclass(frozen=True, slots=True)
class AlarmRules:
    """The records that set and cancel an alarm, and the record that the alarm emits."""

    when: Condition
    cancel: Condition | None
    emit: Callable[[object, int | None], tuple[object, ...]]
    after_ms: int
    by_event_time: bool
    renew: bool


class Alarm(KeyedProcessFunction):
    """Stores the record that set the alarm of each key, and emits a result when the alarm's timer fires."""

    def __init__(self, rules: AlarmRules) -> None:
        self._rules = rules

    def open(self, runtime_context: RuntimeContext) -> None:
        self._set = runtime_context.get_state(ValueStateDescriptor("alarm", Types.PICKLED_BYTE_ARRAY()))

    def use_interruptible_timers(self) -> bool:
        """Returns True: alarms are independent, so records may be processed between two of them."""
        return True

    def process_element(self, value: object, ctx: KeyedProcessFunction.Context) -> Iterable[object]:
        rules, timestamp, timers = self._rules, ctx.timestamp(), ctx.timer_service()
        if rules.cancel is not None and rules.cancel(value, timestamp):
            self._cancel(timers)
        if rules.when(value, timestamp) and (rules.renew or self._set.value() is None):
            self._cancel(timers)
            now = timestamp if rules.by_event_time else timers.current_processing_time()
            if now is None or now == NO_TIMESTAMP:
                raise NoTimestamp("the record has no timestamp, so it cannot register an alarm in event time")
            due = now + rules.after_ms
            self._register(timers, due)
            self._set.update((due, timestamp, value))
        return ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[object]:
        alarm = self._set.value()
        if not isinstance(alarm, tuple) or alarm[0] != timestamp:
            return ()  # The state of this timer has expired, and a later record may have set another alarm.
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
