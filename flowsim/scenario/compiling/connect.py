"""Compiles an operator with two inputs."""

from __future__ import annotations

from flowsim.datastream import functions as api
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.streams.connected_streams import ConnectedStreams
from flowsim.scenario.compiling.compiled import CompiledStream
from flowsim.scenario.compiling.context import CompileContext, declared
from flowsim.scenario.compiling.inputs import partitioned, stream_of
from flowsim.scenario.compiling.keys import two_keys
from flowsim.scenario.compiling.records import exploded_record, instance_of_kind, mapped_record
from flowsim.scenario.language.connect_functions import InputFunction, TwoFlatMaps, TwoKeyedStamped, TwoMaps, TwoStamped
from flowsim.scenario.language.record_schema import RecordSchema
from flowsim.scenario.models.functions import FunctionModel
from flowsim.scenario.models.operators import ConnectModel
from flowsim.scenario.yaml_positions import Path


def compile_connect(
    context: CompileContext, path: Path, model: ConnectModel, exchange: str | None, first: CompiledStream
) -> CompiledStream:
    """The operator behind ``first`` and the stream that ``model`` names; raises Failed."""
    second = stream_of(context, (*path, "to"), model.to, exchange)
    second = partitioned(context, (*path, "partition"), second, model.partition)
    connected = first.stream.connect(second.stream).reading(model.read)
    if model.key_by is not None:
        keys = two_keys(context, (*path, "key_by"), model.key_by, (first.schema, second.schema))
        connected = connected.key_by(keys.first.function, keys.second.function, keys.type)
    if model.process is not None:
        return _process(context, (*path, "process", "python"), model.process, connected, keyed=model.key_by is not None)
    return _functions(context, path, model, connected, (first.schema, second.schema))


def _process(
    context: CompileContext, path: Path, model: FunctionModel, connected: ConnectedStreams[DataStream], *, keyed: bool
) -> CompiledStream:
    kind: type[object] = api.KeyedCoProcessFunction if keyed else api.CoProcessFunction
    function = instance_of_kind(context, path, model.python, kind)
    if not isinstance(function, api.KeyedCoProcessFunction | api.CoProcessFunction) or not isinstance(function, kind):
        raise context.fail(path, f"expected a {kind.__name__}, got {model.python}")
    made = context.attempt(path, lambda: connected.process(function))
    return CompiledStream(made, declared(dict(model.fields or {})))


def _functions(
    context: CompileContext,
    path: Path,
    model: ConnectModel,
    connected: ConnectedStreams[DataStream],
    schemas: tuple[RecordSchema, RecordSchema],
) -> CompiledStream:
    at: Path = (*path, "map" if model.map is not None else "flat_map")
    compiled = [_function(context, (*at, i), model, i, schemas[i]) for i in range(2)]
    (first, schema), (second, other) = compiled
    if other != schema:
        raise context.fail((*at, 1), f"expected the fields of the first, {_told(schema)}, this gives {_told(other)}")
    stream: DataStream
    if first.uses_timestamp or second.uses_timestamp:
        kind = TwoStamped if model.key_by is None else TwoKeyedStamped
        stream = connected.process(kind(first, second))
    elif model.map is not None:
        stream = connected.map(TwoMaps(first, second))
    else:
        stream = connected.flat_map(TwoFlatMaps(first, second))
    return CompiledStream(stream, schema)


def _function(
    context: CompileContext, path: Path, model: ConnectModel, index: int, schema: RecordSchema
) -> tuple[InputFunction, RecordSchema]:
    if model.map is not None:
        mapped = mapped_record(context, path, model.map[index], schema)
        return InputFunction(mapped.function, mapped.uses_timestamp, one_record=True), mapped.schema
    exploded = exploded_record(context, path, (model.flat_map or [])[index], schema)
    return InputFunction(exploded.function, exploded.uses_timestamp, one_record=False), exploded.schema


def _told(schema: RecordSchema) -> str:
    return ", ".join(f"{name}: {kind.value}" for name, kind in zip(schema.names, schema.types, strict=True))
