"""Compiles operators that bring two streams together in windows: join, coGroup."""

from __future__ import annotations

from functools import partial

from flowsim.datastream import functions as api
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.streams.joined_streams import EqualTo, P
from flowsim.scenario.compiling.compiled import CompiledStream
from flowsim.scenario.compiling.context import CompileContext, declared
from flowsim.scenario.compiling.inputs import stream_of
from flowsim.scenario.compiling.keys import two_keys
from flowsim.scenario.compiling.records import instance_of_kind
from flowsim.scenario.compiling.windows import WindowParts
from flowsim.scenario.language.aggregates import compile_aggregates
from flowsim.scenario.language.expressions import compile_record
from flowsim.scenario.language.join_functions import (
    AggregateBoth,
    Pair,
    SelectPair,
)
from flowsim.scenario.language.record_schema import RecordSchema
from flowsim.scenario.models.joins import CoGroupModel, JoinModel
from flowsim.scenario.models.windows import PlainWindowModel
from flowsim.scenario.yaml_positions import Path


def compile_join(
    context: CompileContext, path: Path, model: JoinModel, exchange: str | None, first: CompiledStream
) -> CompiledStream:
    """One record per pair in one window; raises Failed."""
    second = stream_of(context, (*path, "to"), model.to, exchange)
    keys = two_keys(context, (*path, "key_by"), model.key_by, (first.schema, second.schema))
    select, schema = selected(context, path, dict(model.select), first.schema.beside(second.schema))
    joined = first.stream.join(second.stream)
    keyed = joined.where(keys.first.function, keys.type).equal_to(keys.second.function)
    cut = _cut(context, (*path, "window"), keyed, model.window, first.schema)
    return CompiledStream(context.attempt(path, lambda: cut.apply(SelectPair(select))), schema)


def compile_co_group(
    context: CompileContext, path: Path, model: CoGroupModel, exchange: str | None, first: CompiledStream
) -> CompiledStream:
    """What is made of all records of both sides in one window; raises Failed."""
    second = stream_of(context, (*path, "to"), model.to, exchange)
    keys = two_keys(context, (*path, "key_by"), model.key_by, (first.schema, second.schema))
    grouped = first.stream.co_group(second.stream)
    keyed = grouped.where(keys.first.function, keys.type).equal_to(keys.second.function)
    cut = _cut(context, (*path, "window"), keyed, model.window, first.schema)
    if model.process is not None:
        at = (*path, "process", "python")
        function = instance_of_kind(context, at, model.process.python, api.CoGroupFunction)
        made = context.attempt(at, lambda: cut.apply(function))  # type: ignore[arg-type]
        return CompiledStream(made, declared(dict(model.process.fields or {})))
    sides, schema = [], RecordSchema((), ())
    for side, columns, of in (("left", model.left, first.schema), ("right", model.right, second.schema)):
        named = dict(columns or {})
        at = (*path, side)
        function, results = context.columns(at, named, partial(compile_aggregates, named, of))
        for name in results.names:
            if name == "key" or name in schema.names:
                raise context.fail((*at, name), f"{name!r} is a field of the result already")
        schema = schema.with_fields(results.names, results.types)
        sides.append(function)
    key = RecordSchema(("key",), (keys.first.type,))
    both = AggregateBoth(keys.first.function, keys.second.function, sides[0], sides[1])
    stream = context.attempt(path, lambda: cut.apply(both))
    return CompiledStream(stream, key.with_fields(schema.names, schema.types))


def selected(
    context: CompileContext, path: Path, columns: dict[str, str], schema: RecordSchema, key: str = "select"
) -> tuple[Pair, RecordSchema]:
    """The function of a pair that the block ``key`` describes, and what it gives; raises Failed."""
    compiled = context.columns((*path, key), columns, lambda: compile_record(list(columns.items()), schema, keep=False))
    return compiled.function, compiled.schema


def _cut(
    context: CompileContext, path: Path, keyed: EqualTo[DataStream, P], window: PlainWindowModel, schema: RecordSchema
) -> P:
    """The two keyed streams cut into windows; expressions of the window see the first side's records."""
    parts = WindowParts(context, path, window, schema)

    def made() -> P:
        cut = keyed.window(parts.assigner)
        if parts.trigger is not None:
            cut = cut.trigger(parts.trigger)
        if parts.evictor is not None:
            cut = cut.evictor(parts.evictor)
        return cut.allowed_lateness(window.allowed_lateness) if window.allowed_lateness else cut

    return context.attempt(path, made)
