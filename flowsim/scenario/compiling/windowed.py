"""Compiles operators over windows: aggregate, reduce, process."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flowsim.datastream import functions as api
from flowsim.datastream.data_stream import KeyedStream
from flowsim.scenario.compiling.compiled import CompiledStream
from flowsim.scenario.compiling.context import CompileContext, declared
from flowsim.scenario.compiling.keys import Key, key_of
from flowsim.scenario.compiling.records import instance_of_kind
from flowsim.scenario.compiling.windows import windowed
from flowsim.scenario.language.aggregates import compile_aggregates
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.reducers import compile_reduce
from flowsim.scenario.language.window_results import AllWindowResult, WindowResult
from flowsim.scenario.models.functions import FunctionModel
from flowsim.scenario.models.operators import OperatorModel
from flowsim.scenario.yaml_positions import Path

BOUNDS = ("window_start_ms", "window_end_ms")


def compile_window(
    context: CompileContext, path: Path, model: OperatorModel, incoming: CompiledStream
) -> CompiledStream:
    """The operator over the windows of its stream; raises Failed."""
    if model.process is not None:
        return _process(context, path, model, model.process, incoming)
    if model.reduce is not None:
        function = reduce_function(context, path, model.reduce, incoming.schema)
        assert model.window is not None
        cut = windowed(context, (*path, "window"), incoming, model.window)
        return CompiledStream(cut.reduce(function), incoming.schema)
    return _aggregate(context, path, model, incoming)


def reduce_function(
    context: CompileContext, path: Path, reduce: Mapping[str, str], schema: RecordSchema
) -> Callable[[object, object], object]:
    """The function of a ``reduce`` block; raises Failed."""
    columns = dict(reduce)
    return context.columns((*path, "reduce"), columns, lambda: compile_reduce(columns, schema))


def _aggregate(context: CompileContext, path: Path, model: OperatorModel, incoming: CompiledStream) -> CompiledStream:
    window, columns, at = model.window, dict(model.aggregate or {}), (*path, "aggregate")
    assert window is not None
    function, results = context.columns(at, columns, lambda: compile_aggregates(columns, incoming.schema))
    is_keyed = isinstance(incoming.stream, KeyedStream)
    key = key_of(context, path, model.key_by, incoming.schema) if is_keyed else Key(len, RecordSchema((), ()), True)
    bounds = BOUNDS if window.has_bounds else ()
    head = (*key.schema.names, *bounds)
    for name in results.names:
        if name in head:
            raise context.fail((*at, name), f"{name!r} is a field of the result already ({', '.join(head)})")
    cut = windowed(context, (*path, "window"), incoming, window)
    finish = WindowResult(key.composite, bool(bounds)) if is_keyed else AllWindowResult(bool(bounds))
    stream = context.attempt(at, lambda: cut.aggregate(function, finish))  # type: ignore[arg-type]
    types = (*key.schema.types, *[FieldType.LONG for _ in bounds], *results.types)
    return CompiledStream(stream, RecordSchema((*head, *results.names), types))


def _process(
    context: CompileContext, path: Path, model: OperatorModel, process: FunctionModel, incoming: CompiledStream
) -> CompiledStream:
    at = (*path, "process", "python")
    is_keyed = isinstance(incoming.stream, KeyedStream)
    kind: type[object] = api.ProcessWindowFunction if is_keyed else api.ProcessAllWindowFunction
    function = instance_of_kind(context, at, process.python, kind)
    if not isinstance(function, kind):
        raise context.fail(at, f"expected a {kind.__name__}, got {process.python}")
    assert model.window is not None
    cut = windowed(context, (*path, "window"), incoming, model.window)
    made = context.attempt(at, lambda: cut.process(function))  # type: ignore[arg-type]
    return CompiledStream(made, declared(dict(process.fields or {})))
