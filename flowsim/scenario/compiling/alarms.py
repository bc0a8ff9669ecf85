"""Compiles ``alarm:``."""

from __future__ import annotations

from flowsim.datastream.data_stream import KeyedStream
from flowsim.scenario.compiling.compiled import CompiledStream
from flowsim.scenario.compiling.context import CompileContext
from flowsim.scenario.language.alarm_function import Alarm, AlarmRules, Condition
from flowsim.scenario.language.expressions import compile_expression, compile_record
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.models.alarms import AlarmModel
from flowsim.scenario.yaml_positions import Path

ALARM_TIME = "alarm_ms"


def compile_alarm(context: CompileContext, path: Path, model: AlarmModel, incoming: CompiledStream) -> CompiledStream:
    """A timer per key of the stream; raises Failed."""
    schema, columns = incoming.schema, dict(model.emit)
    if ALARM_TIME in columns:
        raise context.fail((*path, "emit", ALARM_TIME), f"{ALARM_TIME} is what the time of the alarm is called")
    record = context.columns(
        (*path, "emit"), columns, lambda: compile_record(list(columns.items()), schema, keep=False)
    )
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
    assert isinstance(incoming.stream, KeyedStream)
    keyed = incoming.stream
    stream = context.attempt(path, lambda: keyed.process(Alarm(rules)))
    return CompiledStream(stream, record.schema.with_fields((ALARM_TIME,), (FieldType.LONG,)))


def _condition(context: CompileContext, path: Path, source: str, schema: RecordSchema) -> Condition:
    found = context.expression(path, source, lambda: compile_expression(source, schema, takes_timestamp=True))
    if found.type not in (FieldType.BOOLEAN, FieldType.ANY):
        raise context.fail(path, f"expected a condition, this expression gives {found.type.value}")
    return found.function
