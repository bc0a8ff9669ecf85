"""Functions of the records of a key: window aggregates, ``reduce``, and rolling sums and extremes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from flowsim.datastream.data_stream import DataStream, KeyedStream
from flowsim.datastream.functions import ProcessAllWindowFunction, ProcessWindowFunction
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.streams.windowed_streams import AllWindowedStream, WindowedStream
from flowsim.datastream.window import TimeWindow
from flowsim.errors import did_you_mean
from flowsim.limits import Limits
from flowsim.scenario.context import CompileContext, CompiledStream
from flowsim.scenario.features.inputs import Incoming
from flowsim.scenario.features.windows import WindowModel, WindowParts
from flowsim.scenario.language.aggregates import compile_aggregates
from flowsim.scenario.language.expressions import run_definition
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.translator import ExpressionError
from flowsim.scenario.types import FieldName
from flowsim.scenario.yaml.positions import Path

AggregateModel = Annotated[dict[FieldName, str], Field(min_length=1)]
ReduceModel = Annotated[dict[FieldName, Literal["sum", "min", "max", "first", "last"]], Field(min_length=1)]
Windowed = WindowedStream[DataStream] | AllWindowedStream[DataStream]
BOUNDS = ("window_start_ms", "window_end_ms")


def windowed(context: CompileContext, path: Path, incoming: Incoming) -> Windowed:
    """Returns the stream with the windows beside the block at ``path``.

    Without a key these are windows of the whole stream. Raises Failed.
    """
    at, window = (*path[:-1], "window"), incoming.required_window
    parts = WindowParts(context, at, window, incoming.schema)
    return context.attempt(at, lambda: _cut(incoming.stream, window, parts))


def _cut(stream: DataStream, window: WindowModel, parts: WindowParts) -> Windowed:
    cut: Windowed
    cut = stream.window(parts.assigner) if isinstance(stream, KeyedStream) else stream.window_all(parts.assigner)
    if parts.trigger is not None:
        cut.trigger(parts.trigger)
    if parts.evictor is not None:
        cut.evictor(parts.evictor)
    if window.allowed_lateness:
        cut.allowed_lateness(window.allowed_lateness)
    if window.late_output is not None:
        cut.side_output_late_data(OutputTag(window.late_output))
    return cut


def compile_aggregate(
    context: CompileContext, path: Path, columns: Mapping[str, str], incoming: Incoming
) -> CompiledStream:
    """Compiles ``aggregate``: emits the key, the bounds of the window if it has them, and the aggregates.

    Raises Failed.
    """
    function, results = context.columns(
        path, columns, lambda: compile_aggregates(columns, incoming.schema, context.limits)
    )
    if incoming.having is not None:
        at = (*path[:-1], "having")
        having = context.record_expression(at, incoming.having, results, "having")
        function = function.having(context.condition(at, having).function)
    key, window = incoming.key, incoming.required_window
    keys = RecordSchema((), ()) if key is None else key.schema
    bounds = BOUNDS if window.has_bounds else ()
    head = (*keys.names, *bounds)
    for name in results.names:
        if name in head:
            raise context.fail((*path, name), f"{name!r} is already a field of the result ({', '.join(head)})")
    cut = windowed(context, path, incoming)
    finish = AllWindowResult(bool(bounds)) if key is None else WindowResult(key.composite, bool(bounds))
    stream = context.attempt(path, lambda: cut.aggregate(function, finish))  # type: ignore[arg-type]
    types = (*keys.types, *[FieldType.LONG for _ in bounds], *results.types)
    return CompiledStream(stream, RecordSchema((*head, *results.names), types))


def compile_reduce(
    context: CompileContext, path: Path, columns: Mapping[str, str], incoming: Incoming
) -> CompiledStream:
    """Compiles ``reduce``: a record per key and window, or per record its key's reduction so far; raises Failed."""
    function = context.columns(path, columns, lambda: reducer(columns, incoming.schema, context.limits))
    if incoming.window is None:
        return CompiledStream(incoming.keyed.reduce(function), incoming.schema)
    cut = windowed(context, path, incoming)
    return CompiledStream(cut.reduce(function), incoming.schema)


@dataclass(frozen=True, slots=True)
class Rolling:
    """Compiles ``sum``, ``min``, ``max``, ``min_by`` and ``max_by``: per record, the aggregate of its key so far."""

    aggregate: Callable[[KeyedStream, int], DataStream]
    numbers_only: bool = False

    def __call__(self, context: CompileContext, path: Path, field: str, incoming: Incoming) -> CompiledStream:
        schema = incoming.schema
        if field not in schema.names:
            raise context.fail(path, f"there is no field {field!r}{did_you_mean(field, schema.names)}")
        kind = schema.type_of(field)
        if self.numbers_only and not (kind.is_numeric or kind is FieldType.ANY):
            raise context.fail(path, f"{path[-1]} takes a number, {field} is {kind.value}")
        stream = context.attempt(path, lambda: self.aggregate(incoming.keyed, schema.index(field)))
        return CompiledStream(stream, schema)


class WindowResult(ProcessWindowFunction[object, object, object, object]):
    """Emits the key fields, the start and end of the window in ms if it has them, then the aggregates."""

    def __init__(self, composite_key: bool, has_bounds: bool = True) -> None:
        self._composite_key = composite_key
        self._has_bounds = has_bounds

    def process(
        self, key: object, context: ProcessWindowFunction.Context[object], elements: Iterable[object]
    ) -> Iterable[object]:
        keys = key if self._composite_key and isinstance(key, tuple) else (key,)
        head = (*keys, *_bounds(context.window())) if self._has_bounds else keys
        return [(*head, *result) for result in elements if isinstance(result, tuple)]


class AllWindowResult(ProcessAllWindowFunction[object, object, object]):
    """Emits the start and end of the window in ms if it has them, then the aggregates: for a stream without keys."""

    def __init__(self, has_bounds: bool = True) -> None:
        self._has_bounds = has_bounds

    def process(
        self, context: ProcessAllWindowFunction.Context[object], elements: Iterable[object]
    ) -> Iterable[object]:
        head = _bounds(context.window()) if self._has_bounds else ()
        return [(*head, *result) for result in elements if isinstance(result, tuple)]


def _bounds(window: object) -> tuple[int, int]:
    assert isinstance(window, TimeWindow)
    return window.start, window.end


_COMBINE = {
    "sum": "_bounded(a[{i}] + b[{i}])",
    "min": "(b[{i}] if b[{i}] < a[{i}] else a[{i}])",
    "max": "(b[{i}] if b[{i}] > a[{i}] else a[{i}])",
    "first": "a[{i}]",
    "last": "b[{i}]",
}


def reducer(combine: Mapping[str, str], schema: RecordSchema, limits: Limits) -> Callable[[object, object], object]:
    """Returns a function of the reduction so far and a record; fields without an aggregate keep their first value."""
    for name, how in combine.items():
        if name not in schema.names:
            raise ExpressionError(f"there is no field {name!r}{did_you_mean(name, schema.names)}", 0, name)
        kind = schema.type_of(name)
        if how == "sum" and not (kind.is_numeric or kind is FieldType.ANY):
            raise ExpressionError(f"sum takes a number, {name} is {kind.value}", 0, name)
    items = [_COMBINE[combine.get(name, "first")].format(i=index) for index, name in enumerate(schema.names)]
    definition = ast.parse(f"def reduce(a, b):\n return ({', '.join(items)},)").body[0]
    assert isinstance(definition, ast.FunctionDef)
    return run_definition(definition, limits)
