"""Compiles the operators of a scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flowsim.datastream import functions as api
from flowsim.datastream.common.time import Duration
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.keyed_stream import KeyedStream
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.window import TumblingEventTimeWindows
from flowsim.datastream.windowed_stream import WindowedStream
from flowsim.scenario.compiling.compiled import CompiledStream
from flowsim.scenario.compiling.connect import compile_connect
from flowsim.scenario.compiling.context import CompileContext, declared, type_information
from flowsim.scenario.compiling.inputs import input_stream
from flowsim.scenario.compiling.records import exploded_record, instance_of_kind, mapped_record
from flowsim.scenario.compiling.sources import watermark_strategy
from flowsim.scenario.language.aggregates import compile_aggregates
from flowsim.scenario.language.expressions import compile_expression, compile_record
from flowsim.scenario.language.record_functions import StampedFilter, StampedFlatMap, StampedMap, WindowResult
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.reducers import compile_reduce
from flowsim.scenario.models.operators import FlatMapModel, FunctionModel, MapModel, OperatorModel
from flowsim.scenario.yaml_positions import Path


@dataclass(frozen=True, slots=True)
class _Key:
    """How a stream is keyed: the selector, and the fields that results of a key begin with."""

    selector: Callable[..., object]
    schema: RecordSchema
    composite: bool


def compile_operator(context: CompileContext, name: str, model: OperatorModel) -> None:
    """Adds one operator and its side outputs to the job's streams; raises Failed."""
    path: Path = ("operators", name)
    incoming = input_stream(context, path, model)
    stream = _keyed(context, path, incoming, model) if model.key_by is not None else incoming.stream
    result = _operator(context, path, model, CompiledStream(stream, incoming.schema))
    _settle(context, path, name, model, result.stream)
    context.streams[name] = result
    if model.window is not None and model.window.late_output is not None:
        late = result.stream.get_side_output(OutputTag(model.window.late_output))
        context.streams[f"{name}.{model.window.late_output}"] = CompiledStream(late, incoming.schema)
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
    if model.aggregate is not None:
        return _aggregate(context, path, model, incoming)
    if model.reduce is not None:
        reduce, keyed = model.reduce, incoming.stream
        assert isinstance(keyed, KeyedStream)
        function = context.columns(
            (*path, "reduce"), dict(reduce), lambda: compile_reduce(dict(reduce), incoming.schema)
        )
        return CompiledStream(keyed.reduce(function), incoming.schema)
    if model.connect is not None:
        return compile_connect(context, (*path, "connect"), model.connect, model.exchange, incoming)
    assert model.process is not None
    return _process(context, path, model, model.process, incoming)


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


def _keyed(context: CompileContext, path: Path, incoming: CompiledStream, model: OperatorModel) -> KeyedStream:
    key = _key(context, (*path, "key_by"), model, incoming.schema)
    key_type = type_information(key.schema.types, key.composite)
    return context.attempt((*path, "key_by"), lambda: incoming.stream.key_by(key.selector, key_type))


def _key(context: CompileContext, path: Path, model: OperatorModel, schema: RecordSchema) -> _Key:
    by = model.key_by
    if isinstance(by, str):
        expression = context.expression(path, by, lambda: compile_expression(by, schema))
        name = by.strip() if by.strip() in schema.names else "key"
        key = _Key(expression.function, RecordSchema((name,), (expression.type,)), composite=False)
        stamped = expression.uses_timestamp
    else:
        columns = dict(by) if isinstance(by, dict) else {name: name for name in by or ()}
        if not columns or (isinstance(by, list) and len(columns) != len(by)):
            raise context.fail(path, "expected different fields, at least one")
        record = context.columns(path, columns, lambda: compile_record(list(columns.items()), schema, keep=False))
        key, stamped = _Key(record.function, record.schema, composite=True), record.uses_timestamp
    if stamped:
        raise context.fail(path, "a key does not see the timestamp: add it as a field in a map before")
    return key


def _windowed(keyed: DataStream, model: OperatorModel) -> WindowedStream:
    window = model.window
    assert window is not None
    assert isinstance(keyed, KeyedStream)
    assigner = TumblingEventTimeWindows.of(Duration.of_millis(window.tumbling), Duration.of_millis(window.offset))
    windowed = keyed.window(assigner).allowed_lateness(window.allowed_lateness)
    return windowed if window.late_output is None else windowed.side_output_late_data(OutputTag(window.late_output))


def _aggregate(context: CompileContext, path: Path, model: OperatorModel, incoming: CompiledStream) -> CompiledStream:
    columns = dict(model.aggregate or {})
    at = (*path, "aggregate")
    function, results = context.columns(at, columns, lambda: compile_aggregates(columns, incoming.schema))
    key = _key(context, (*path, "key_by"), model, incoming.schema)
    head = (*key.schema.names, "window_start_ms", "window_end_ms")
    for name in results.names:
        if name in head:
            raise context.fail((*at, name), f"{name!r} is a field of the result already ({', '.join(head)})")
    windowed = _windowed(incoming.stream, model)
    stream = windowed.aggregate(function, WindowResult(key.composite))
    types = (*key.schema.types, FieldType.LONG, FieldType.LONG, *results.types)
    return CompiledStream(stream, RecordSchema((*head, *results.names), types))


def _process(
    context: CompileContext, path: Path, model: OperatorModel, process: FunctionModel, incoming: CompiledStream
) -> CompiledStream:
    at = (*path, "process", "python")
    stream = incoming.stream
    kind: type[object] = api.ProcessFunction
    if model.window is not None:
        kind = api.ProcessWindowFunction
    elif model.key_by is not None:
        kind = api.KeyedProcessFunction
    function = instance_of_kind(context, at, process.python, kind)
    if not isinstance(function, kind):
        raise context.fail(at, f"expected a {kind.__name__}, got {process.python}")
    target = _windowed(stream, model) if model.window is not None else stream
    made = context.attempt(at, lambda: target.process(function))  # type: ignore[arg-type]
    return CompiledStream(made, declared(dict(process.fields or {})))
