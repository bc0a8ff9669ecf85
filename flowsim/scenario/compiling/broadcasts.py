"""Compiles ``broadcast:``."""

from __future__ import annotations

from flowsim.datastream.data_stream import DataStream, KeyedStream
from flowsim.datastream.functions import broadcast_functions as api
from flowsim.datastream.streams.broadcast_stream import BroadcastConnectedStream
from flowsim.scenario.compiling.compiled import CompiledStream
from flowsim.scenario.compiling.context import CompileContext, declared
from flowsim.scenario.compiling.inputs import stream_of
from flowsim.scenario.compiling.joins import selected
from flowsim.scenario.compiling.keys import key_expression
from flowsim.scenario.compiling.records import instance_of_kind
from flowsim.scenario.language.broadcast_functions import REMEMBERED, LookUp
from flowsim.scenario.language.record_schema import RecordSchema
from flowsim.scenario.models.functions import FunctionModel
from flowsim.scenario.models.joins import BroadcastModel
from flowsim.scenario.yaml_positions import Path


def compile_broadcast(
    context: CompileContext, path: Path, model: BroadcastModel, exchange: str | None, first: CompiledStream
) -> CompiledStream:
    """What is made of records and what every subtask remembers; raises Failed."""
    second = stream_of(context, (*path, "to"), model.to, exchange)
    connected = first.stream.connect(second.stream.broadcast(REMEMBERED))
    if model.process is not None:
        return _broadcast_function(context, (*path, "process", "python"), model.process, first, connected)
    assert model.put is not None
    assert model.get is not None
    put = key_expression(context, (*path, "put"), model.put, second.schema)
    get = key_expression(context, (*path, "get"), model.get, first.schema)
    add, schema = selected(context, path, dict(model.add or {}), first.schema.beside(second.schema), key="add")
    missing = None
    if model.missing is not None:
        missing, other = selected(
            context, path, dict(model.missing), first.schema.beside(RecordSchema((), ())), key="missing"
        )
        if other.types != schema.types:
            raise context.fail((*path, "missing"), f"expected the types of add, {_types(schema)}, got {_types(other)}")
    for name in schema.names:
        if name in first.schema.names:
            raise context.fail((*path, "add", name), f"{name!r} is a field of the record already")
    stream = context.attempt(path, lambda: connected.process(LookUp(put.function, get.function, add, missing)))
    return CompiledStream(stream, first.schema.with_fields(schema.names, schema.types))


def _broadcast_function(
    context: CompileContext,
    path: Path,
    model: FunctionModel,
    first: CompiledStream,
    connected: BroadcastConnectedStream[DataStream],
) -> CompiledStream:
    keyed = isinstance(first.stream, KeyedStream)
    kind: type[object] = api.KeyedBroadcastProcessFunction if keyed else api.BroadcastProcessFunction
    function = instance_of_kind(context, path, model.python, kind)
    if not isinstance(function, kind):
        raise context.fail(path, f"expected a {kind.__name__}, got {model.python}")
    made = context.attempt(path, lambda: connected.process(function))  # type: ignore[arg-type]
    return CompiledStream(made, declared(dict(model.fields or {})))


def _types(schema: RecordSchema) -> str:
    return ", ".join(kind.value for kind in schema.types)
