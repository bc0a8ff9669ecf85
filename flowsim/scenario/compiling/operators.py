"""Compiles the operators of a scenario."""

from __future__ import annotations

from flowsim.datastream import functions as api
from flowsim.datastream.data_stream import DataStream, KeyedStream
from flowsim.datastream.output_tag import OutputTag
from flowsim.scenario.compiling.alarms import compile_alarm
from flowsim.scenario.compiling.async_calls import compile_async
from flowsim.scenario.compiling.broadcasts import compile_broadcast
from flowsim.scenario.compiling.compiled import CompiledStream
from flowsim.scenario.compiling.connect import compile_connect
from flowsim.scenario.compiling.context import CompileContext, declared
from flowsim.scenario.compiling.inputs import input_stream, stream_of
from flowsim.scenario.compiling.interval_joins import compile_interval_join
from flowsim.scenario.compiling.joins import (
    compile_co_group,
    compile_join,
)
from flowsim.scenario.compiling.keys import keyed_by
from flowsim.scenario.compiling.records import exploded_record, instance_of_kind, mapped_record
from flowsim.scenario.compiling.sources import watermark_strategy
from flowsim.scenario.compiling.windowed import compile_window, reduce_function
from flowsim.scenario.language.expressions import compile_expression
from flowsim.scenario.language.record_functions import StampedFilter, StampedFlatMap, StampedMap
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.models.functions import FunctionModel
from flowsim.scenario.models.operators import FlatMapModel, MapModel, OperatorModel
from flowsim.scenario.suggestions import nearest
from flowsim.scenario.yaml_positions import Path


def compile_operator(context: CompileContext, name: str, model: OperatorModel) -> None:
    """Adds one operator and its side outputs to the job's streams; raises Failed."""
    path: Path = ("operators", name)
    incoming = input_stream(context, path, model)
    stream = keyed_by(context, path, incoming, model.key_by) if model.key_by is not None else incoming.stream
    result = _operator(context, path, model, CompiledStream(stream, incoming.schema))
    _settle(context, path, name, model, result.stream)
    context.streams[name] = result
    for tag, of_input in model.late_outputs:
        late = result.stream.get_side_output(OutputTag(tag))
        schema = incoming.schema if of_input == 0 else _second_schema(context, path, model)
        context.streams[f"{name}.{tag}"] = CompiledStream(late, schema)
    for tag, fields in model.side_outputs.items():
        side = result.stream.get_side_output(OutputTag(tag))
        context.streams[f"{name}.{tag}"] = CompiledStream(side, declared(dict(fields)))


def _settle(context: CompileContext, path: Path, name: str, model: OperatorModel, stream: DataStream) -> None:
    stream.name(name)
    if model.parallelism is not None:
        stream.set_parallelism(model.parallelism)
    if model.max_parallelism is not None:
        parallelism = model.parallelism or context.env.get_parallelism()
        if model.max_parallelism < parallelism:
            raise context.fail(
                (*path, "max_parallelism"),
                f"expected at least the parallelism {parallelism}, got {model.max_parallelism}",
            )
        stream.set_max_parallelism(model.max_parallelism)
    if model.cost is not None:
        stream.cost(model.cost)
    if model.buffer_timeout is not None:
        stream.set_buffer_timeout(model.buffer_timeout)
    if model.chaining == "head":
        stream.start_new_chain()
    elif model.chaining == "never":
        stream.disable_chaining()


def _operator(context: CompileContext, path: Path, model: OperatorModel, incoming: CompiledStream) -> CompiledStream:
    if model.map is not None:
        return _map(context, (*path, "map"), model.map, incoming)
    if model.filter is not None:
        return CompiledStream(_filter(context, (*path, "filter"), model.filter, incoming), incoming.schema)
    if model.flat_map is not None:
        return _flat_map(context, (*path, "flat_map"), model.flat_map, incoming)
    if model.watermarks is not None:
        strategy = watermark_strategy(context, (*path, "watermarks"), model.watermarks, incoming.schema)
        return CompiledStream(incoming.stream.assign_timestamps_and_watermarks(strategy), incoming.schema)
    if model.window is not None:
        return compile_window(context, path, model, incoming)
    if model.reduce is not None:
        keyed = _keyed_stream(incoming)
        function = reduce_function(context, path, model.reduce, incoming.schema)
        return CompiledStream(keyed.reduce(function), incoming.schema)
    if model.alarm is not None:
        return compile_alarm(context, (*path, "alarm"), model.alarm, incoming)
    if model.async_calls is not None:
        return compile_async(context, (*path, "async"), model.async_calls, incoming)
    if model.rolling is not None:
        return _rolling(context, path, *model.rolling, incoming)
    two = _of_two_inputs(context, path, model, incoming)
    if two is not None:
        return two
    assert model.process is not None
    return _process(context, path, model, model.process, incoming)


def _of_two_inputs(
    context: CompileContext, path: Path, model: OperatorModel, incoming: CompiledStream
) -> CompiledStream | None:
    if model.connect is not None:
        return compile_connect(context, (*path, "connect"), model.connect, model.exchange, incoming)
    if model.join is not None:
        return compile_join(context, (*path, "join"), model.join, model.exchange, incoming)
    if model.co_group is not None:
        return compile_co_group(context, (*path, "co_group"), model.co_group, model.exchange, incoming)
    if model.interval_join is not None:
        return compile_interval_join(context, (*path, "interval_join"), model.interval_join, model.exchange, incoming)
    if model.broadcast is not None:
        return compile_broadcast(context, (*path, "broadcast"), model.broadcast, model.exchange, incoming)
    return None


def _second_schema(context: CompileContext, path: Path, model: OperatorModel) -> RecordSchema:
    """The fields of an interval join's second input."""
    assert model.interval_join is not None
    return stream_of(context, (*path, "interval_join", "to"), model.interval_join.to, None).schema


def _keyed_stream(incoming: CompiledStream) -> KeyedStream:
    assert isinstance(incoming.stream, KeyedStream)
    return incoming.stream


def _rolling(context: CompileContext, path: Path, kind: str, field: str, incoming: CompiledStream) -> CompiledStream:
    """``sum``, ``min``, ``max``, ``min_by``, ``max_by``: named as in the DataStream API."""
    schema, at = incoming.schema, (*path, kind)
    if field not in schema.names:
        raise context.fail(at, f"there is no field {field!r}{nearest(field, schema.names)}")
    if kind == "sum" and not (schema.type_of(field).is_numeric or schema.type_of(field) is FieldType.ANY):
        raise context.fail(at, f"sum takes a number, {field} is {schema.type_of(field).value}")
    aggregate = getattr(_keyed_stream(incoming), kind)
    return CompiledStream(context.attempt(at, lambda: aggregate(schema.index(field))), schema)


def _map(context: CompileContext, path: Path, model: MapModel, incoming: CompiledStream) -> CompiledStream:
    if model.python is not None:
        at = (*path, "python")
        reference = model.python
        function = instance_of_kind(context, at, reference, api.MapFunction)
        return CompiledStream(
            context.attempt(at, lambda: incoming.stream.map(function)),  # type: ignore[arg-type]
            declared(dict(model.fields or {})),
        )
    record = mapped_record(context, path, model, incoming.schema)
    stream = incoming.stream
    mapped = stream.process(StampedMap(record.function)) if record.uses_timestamp else stream.map(record.function)
    return CompiledStream(mapped, record.schema)


def _filter(context: CompileContext, path: Path, model: str | FunctionModel, incoming: CompiledStream) -> DataStream:
    if isinstance(model, FunctionModel):
        at = (*path, "python")
        function = instance_of_kind(context, at, model.python, api.FilterFunction)
        return context.attempt(at, lambda: incoming.stream.filter(function))  # type: ignore[arg-type]
    condition = context.expression(path, model, lambda: compile_expression(model, incoming.schema))
    if condition.type not in (FieldType.BOOLEAN, FieldType.ANY):
        raise context.fail(path, f"expected a condition, this expression gives {condition.type.value}")
    if condition.uses_timestamp:
        return incoming.stream.process(StampedFilter(condition.function))
    return incoming.stream.filter(condition.function)


def _flat_map(context: CompileContext, path: Path, model: FlatMapModel, incoming: CompiledStream) -> CompiledStream:
    if model.python is not None:
        at = (*path, "python")
        function = instance_of_kind(context, at, model.python, api.FlatMapFunction)
        stream = context.attempt(at, lambda: incoming.stream.flat_map(function))  # type: ignore[arg-type]
        return CompiledStream(stream, declared(dict(model.fields or {})))
    explode = exploded_record(context, path, model, incoming.schema)
    stream = incoming.stream
    exploded = (
        stream.process(StampedFlatMap(explode.function))
        if explode.uses_timestamp
        else stream.flat_map(explode.function)
    )
    return CompiledStream(exploded, explode.schema)


def _process(
    context: CompileContext, path: Path, model: OperatorModel, process: FunctionModel, incoming: CompiledStream
) -> CompiledStream:
    at = (*path, "process", "python")
    stream = incoming.stream
    kind: type[object] = api.ProcessFunction if model.key_by is None else api.KeyedProcessFunction
    function = instance_of_kind(context, at, process.python, kind)
    if not isinstance(function, kind):
        raise context.fail(at, f"expected a {kind.__name__}, got {process.python}")
    made = context.attempt(at, lambda: stream.process(function))  # type: ignore[arg-type]
    return CompiledStream(made, declared(dict(process.fields or {})))
