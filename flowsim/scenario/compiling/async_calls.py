"""Compiles ``async:``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flowsim.connectors.lookup_table import read_latency_trace, read_lookup_table
from flowsim.datastream.async_data_stream import AsyncDataStream
from flowsim.datastream.async_retry_predicates import has_exception_predicate
from flowsim.datastream.async_retry_strategies import AsyncRetryStrategy
from flowsim.datastream.common.time import Duration
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.functions.async_functions import AsyncFunction, ResultFutureFunction
from flowsim.operators.async_wait import latency as latencies
from flowsim.operators.async_wait import retry_strategies as core
from flowsim.operators.async_wait.simulated_calls import NO_CALLS, OnTimeout, SimulatedAsyncFunction, SomeCalls
from flowsim.scenario.compiling.compiled import CompiledStream
from flowsim.scenario.compiling.context import CompileContext, declared
from flowsim.scenario.compiling.records import instance_of_kind
from flowsim.scenario.language.async_functions import AskedAgain, LookUpRow, OneResult, no_results
from flowsim.scenario.language.expressions import compile_expression, compile_record
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.models.async_calls import (
    AsyncModel,
    FailsModel,
    LatencyModel,
    LookupModel,
    RetryModel,
    SilentModel,
    TimedOutModel,
    TraceLatencyModel,
)
from flowsim.scenario.paths import input_file
from flowsim.scenario.yaml_positions import Path

Results = Callable[[Any], Sequence[object]]

_NO_TIMESTAMP = "an asynchronous function does not see the timestamp: add it as a field in a map before"


def compile_async(context: CompileContext, path: Path, model: AsyncModel, incoming: CompiledStream) -> CompiledStream:
    """The results of calls, in their order or not; raises Failed."""
    function: AsyncFunction | ResultFutureFunction | SimulatedAsyncFunction
    if model.python is not None:
        schema = declared(dict(model.fields or {}))
        function = _python(context, (*path, "python"), model.python)
    else:
        results, schema = _results(context, path, model, incoming.schema)
        function = _simulated(context, path, model, results, incoming.schema, schema)
    strategy = None if model.retry is None else _strategy(context, (*path, "retry"), model.retry, schema)
    stream = context.attempt(path, lambda: _waiting(model, incoming.stream, function, strategy))
    return CompiledStream(stream, schema)


def _waiting(
    model: AsyncModel,
    stream: DataStream,
    function: AsyncFunction | ResultFutureFunction | SimulatedAsyncFunction,
    strategy: core.AsyncRetryStrategy | None,
) -> DataStream:
    timeout, capacity, api = Duration.of_millis(model.timeout_ms), model.capacity, AsyncDataStream
    if strategy is None:
        wait = api.ordered_wait if model.mode == "ordered" else api.unordered_wait
        return wait(stream, function, timeout, capacity, design=model.design)
    again = api.ordered_wait_with_retry if model.mode == "ordered" else api.unordered_wait_with_retry
    return again(stream, function, timeout, strategy, capacity, design=model.design)


def _python(context: CompileContext, path: Path, reference: str) -> AsyncFunction | ResultFutureFunction:
    function = instance_of_kind(context, path, reference, object)
    if not isinstance(function, AsyncFunction | ResultFutureFunction):
        raise context.fail(path, f"expected the class of an AsyncFunction or ResultFutureFunction, got {reference}")
    return function


def _results(
    context: CompileContext, path: Path, model: AsyncModel, schema: RecordSchema
) -> tuple[Results, RecordSchema]:
    """What a call answers, and the fields of that."""
    if model.lookup is not None:
        return _looked_up(context, (*path, "lookup"), model.lookup, schema)
    key = "add" if model.add is not None else "select"
    return _record(context, (*path, key), dict(model.add or model.select or {}), schema)


def _record(
    context: CompileContext, path: Path, columns: dict[str, str], schema: RecordSchema
) -> tuple[Results, RecordSchema]:
    """The block at ``path``, an ``add`` or a ``select``."""
    compiled = context.columns(
        path, columns, lambda: compile_record(list(columns.items()), schema, keep=path[-1] == "add")
    )
    if compiled.uses_timestamp:
        raise context.fail(path, _NO_TIMESTAMP)
    return OneResult(compiled.function), compiled.schema


def _looked_up(
    context: CompileContext, path: Path, model: LookupModel, schema: RecordSchema
) -> tuple[Results, RecordSchema]:
    key, key_type = _of_record(context, (*path, "key"), model.key, schema)
    held = FieldType(model.columns[model.key_column])
    if not _may_meet(key_type, held):
        raise context.fail(
            (*path, "key"), f"no {key_type.value} is ever found in column {model.key_column!r} of type {held.value}"
        )
    for name in model.columns:
        if name != model.key_column and name in schema.names:
            raise context.fail((*path, "columns", name), f"{name!r} is a field of the record already")
    at = (*path, "csv")
    file = context.attempt(at, lambda: input_file(model.csv, context.scenario.folder, allow_path=context.allow_path))
    context.inputs.append(file)
    columns = dict(model.columns)
    table = context.attempt(at, lambda: read_lookup_table(file.path, columns, model.key_column, model.delimiter))
    found = declared({name: columns[name] for name in table.names})
    return LookUpRow(key, table, model.missing), schema.with_fields(found.names, found.types)


def _may_meet(one: FieldType, other: FieldType) -> bool:
    """Whether values of both types can be equal."""
    return FieldType.ANY in (one, other) or one is other or (one.is_numeric and other.is_numeric)


def _simulated(
    context: CompileContext, path: Path, model: AsyncModel, results: Results, record: RecordSchema, result: RecordSchema
) -> SimulatedAsyncFunction:
    assert model.latency is not None
    latency = _latency(context, (*path, "latency"), model.latency, record)
    if model.spikes is not None:
        spike = _latency(context, (*path, "spikes", "latency"), model.spikes.latency, record)
        latency = latencies.SpikyLatency(latency, model.spikes.share, spike)
    return SimulatedAsyncFunction(
        results,
        latency,
        failure=_some_calls(context, (*path, "fails"), model.fails, record),
        silence=_some_calls(context, (*path, "silent"), model.silent, record),
        on_timeout=_on_timeout(context, (*path, "on_timeout"), model, record, result),
    )


def _latency(context: CompileContext, path: Path, model: int | LatencyModel, schema: RecordSchema) -> latencies.Latency:
    if isinstance(model, int):
        return latencies.FixedLatency(model)
    if model.uniform is not None:
        return latencies.UniformLatency(model.uniform.low, model.uniform.high)
    if model.normal is not None:
        return latencies.NormalLatency(model.normal.mean, model.normal.standard_deviation)
    if model.lognormal is not None:
        median, p99, sigma = model.lognormal.median, model.lognormal.p99, model.lognormal.sigma
        if p99 is not None:
            return latencies.LognormalLatency.of_percentiles(median, p99)
        return latencies.LognormalLatency(median, sigma or 0.0)
    if model.exponential is not None:
        return latencies.ExponentialLatency(model.exponential.mean)
    if model.trace is not None:
        return _trace(context, (*path, "trace"), model.trace)
    assert model.each is not None
    ms, kind = _of_record(context, (*path, "each"), model.each, schema)
    if not (kind.is_numeric or kind is FieldType.ANY):
        raise context.fail((*path, "each"), f"expected milliseconds as a number, got {kind.value}")
    return latencies.RecordLatency(ms)


def _trace(context: CompileContext, path: Path, model: TraceLatencyModel) -> latencies.TraceLatency:
    at, folder = (*path, "path"), context.scenario.folder
    file = context.attempt(at, lambda: input_file(model.path, folder, allow_path=context.allow_path))
    context.inputs.append(file)
    return context.attempt(at, lambda: read_latency_trace(file.path, model.column, model.unit))


def _some_calls(
    context: CompileContext, path: Path, model: FailsModel | SilentModel | None, schema: RecordSchema
) -> SomeCalls:
    if model is None:
        return NO_CALLS
    when = None if model.when is None else _condition(context, (*path, "when"), model.when, schema)
    share = 1.0 if model.share is None else model.share
    return SomeCalls(share, when, model.first_attempts if isinstance(model, FailsModel) else None)


def _on_timeout(
    context: CompileContext, path: Path, model: AsyncModel, record: RecordSchema, result: RecordSchema
) -> OnTimeout:
    said = model.on_timeout
    if not isinstance(said, TimedOutModel):
        return no_results if said == "drop" else "nothing" if said == "nothing" else "fail"
    key = "add" if said.add is not None else "select"
    function, schema = _record(context, (*path, key), dict(said.add or said.select or {}), record)
    if not _fits(schema, result):
        expected, got = _told(result), _told(schema)
        raise context.fail((*path, key), f"expected the fields of the other results, {expected}, got {got}")
    return function


def _fits(schema: RecordSchema, wanted: RecordSchema) -> bool:
    """Whether records of one schema may stand among those of another; an integer is as good as another."""
    return schema.names == wanted.names and all(
        FieldType.ANY in (one, other) or one is other or (one.is_integer and other.is_integer)
        for one, other in zip(schema.types, wanted.types, strict=True)
    )


def _told(schema: RecordSchema) -> str:
    return ", ".join(f"{name}: {kind.value}" for name, kind in zip(schema.names, schema.types, strict=True))


def _strategy(context: CompileContext, path: Path, model: RetryModel, result: RecordSchema) -> core.AsyncRetryStrategy:
    when = None if model.when is None else _condition(context, (*path, "when"), model.when, result)
    results = None if when is None and not model.when_empty else AskedAgain(when, when_empty=model.when_empty)
    errors = has_exception_predicate if model.on_error else None
    if model.fixed is not None:
        return AsyncRetryStrategy.fixed_delay(model.fixed.max_attempts, model.fixed.delay, results, errors)
    assert model.exponential is not None
    growing = model.exponential
    return AsyncRetryStrategy.exponential_backoff(
        growing.max_attempts, growing.initial, growing.max, growing.multiplier, results, errors
    )


def _condition(context: CompileContext, path: Path, source: str, schema: RecordSchema) -> Callable[[Any], object]:
    function, kind = _of_record(context, path, source, schema)
    if kind not in (FieldType.BOOLEAN, FieldType.ANY):
        raise context.fail(path, f"expected a condition, this expression gives {kind.value}")
    return function


def _of_record(
    context: CompileContext, path: Path, source: str, schema: RecordSchema
) -> tuple[Callable[[Any], object], FieldType]:
    found = context.expression(path, source, lambda: compile_expression(source, schema))
    if found.uses_timestamp:
        raise context.fail(path, _NO_TIMESTAMP)
    return found.function, found.type
