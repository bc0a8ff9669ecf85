"""Compiles the sources of a scenario."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path as FilePath

from flowsim.connectors import generator, script
from flowsim.connectors.files.csv import CsvSource
from flowsim.connectors.files.file_sources import JsonLinesSource, ParquetSource
from flowsim.connectors.generator import GeneratorSource
from flowsim.connectors.memory import CollectionSource
from flowsim.connectors.source import Source
from flowsim.datastream.common.time import Duration
from flowsim.datastream.common.watermark_strategy import WatermarkGenerator, WatermarkStrategy
from flowsim.legacy.source_function import LegacySource
from flowsim.scenario.compiling.compiled import CompiledStream
from flowsim.scenario.compiling.context import CompileContext, declared
from flowsim.scenario.language.expressions import compile_expression
from flowsim.scenario.language.marked_by_records import MarkedByRecords
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.models.sources import (
    AlignmentModel,
    CollectionModel,
    CsvModel,
    FilesModel,
    GeneratedFieldModel,
    GeneratorModel,
    JsonLinesModel,
    ParquetModel,
    PythonSourceModel,
    ScriptEntryModel,
    ScriptModel,
    SourceModel,
    WatermarksModel,
)
from flowsim.scenario.models.types import Row
from flowsim.scenario.paths import input_files
from flowsim.scenario.yaml_positions import Path

_ACCEPTS: dict[FieldType, Callable[[object], bool]] = {
    FieldType.BOOLEAN: lambda cell: type(cell) is bool,
    FieldType.INT: lambda cell: type(cell) is int and -(2**31) <= cell < 2**31,
    FieldType.LONG: lambda cell: type(cell) is int,
    FieldType.DOUBLE: lambda cell: type(cell) is float,
    FieldType.STRING: lambda cell: type(cell) is str,
}


def compile_source(context: CompileContext, name: str, model: SourceModel) -> CompiledStream:
    """Adds one source to the job; raises Failed."""
    path: Path = ("sources", name)
    source, schema = _source(context, path, model)
    strategy = WatermarkStrategy.no_watermarks()
    if model.watermarks is not None:
        strategy = watermark_strategy(context, (*path, "watermarks"), model.watermarks, schema)
    if model.legacy:
        stream = context.attempt(path, lambda: context.env.add_source(LegacySource(source), name))
    else:
        stream = context.attempt(path, lambda: context.env.from_source(source, strategy, name))
    if model.parallelism is not None:
        parallelism = model.parallelism
        context.attempt((*path, "parallelism"), lambda: stream.set_parallelism(parallelism))
    if model.cost is not None:
        stream.cost(model.cost)
    if model.buffer_timeout is not None:
        stream.set_buffer_timeout(model.buffer_timeout)
    if model.chaining == "never":
        stream.disable_chaining()
    if model.legacy and model.watermarks is not None:
        # A source function speaks for itself, so an operator behind it makes the watermarks.
        stream = stream.assign_timestamps_and_watermarks(strategy).name(f"{name} watermarks")
    return CompiledStream(stream, schema)


def watermark_strategy(
    context: CompileContext, path: Path, model: WatermarksModel, schema: RecordSchema
) -> WatermarkStrategy:
    """The strategy that a ``watermarks:`` block describes; raises Failed."""
    at = (*path, "timestamp")
    compiled = context.expression(
        at, model.timestamp, lambda: compile_expression(model.timestamp, schema, takes_timestamp=True)
    )
    if not (compiled.type.is_integer or compiled.type is FieldType.ANY):
        raise context.fail(at, f"expected milliseconds as an integer, got {compiled.type.value}")
    strategy = _generator_of(context, path, model, schema)
    if model.idle_after is not None:
        strategy = strategy.with_idleness(Duration.of_millis(model.idle_after))
    if model.alignment is not None:
        strategy = _aligned(strategy, model.alignment)
    return strategy.with_timestamp_assigner(compiled.function)


def _generator_of(
    context: CompileContext, path: Path, model: WatermarksModel, schema: RecordSchema
) -> WatermarkStrategy:
    """What makes the watermarks, without idleness and alignment."""
    bound = Duration.of_millis(model.max_out_of_orderness)
    if model.generator is not None:
        made = context.python((*path, "generator"), model.generator)
        if not (isinstance(made, type) and issubclass(made, WatermarkGenerator)):
            raise context.fail((*path, "generator"), f"expected a WatermarkGenerator class, got {model.generator}")
        return WatermarkStrategy.for_generator(made)
    if model.punctuated is not None:
        at, source = (*path, "punctuated"), model.punctuated
        marks = context.expression(at, source, lambda: compile_expression(source, schema, takes_timestamp=True))
        if marks.type not in (FieldType.BOOLEAN, FieldType.ANY):
            raise context.fail(at, f"expected a condition, this expression gives {marks.type.value}")
        return WatermarkStrategy.for_punctuated(MarkedByRecords(marks.function, model.max_out_of_orderness))
    if model.emit == "never":
        return WatermarkStrategy.no_watermarks()
    if model.emit == "every_record":
        return WatermarkStrategy.for_each_record(bound)
    return WatermarkStrategy.for_bounded_out_of_orderness(bound)


def _aligned(strategy: WatermarkStrategy, model: AlignmentModel) -> WatermarkStrategy:
    drift, interval = Duration.of_millis(model.max_drift), Duration.of_millis(model.interval)
    return strategy.with_watermark_alignment(model.group, drift, interval)


def _source(context: CompileContext, path: Path, model: SourceModel) -> tuple[Source, RecordSchema]:
    if model.csv is not None:
        return _csv(context, (*path, "csv"), model.csv, model.parallelism or context.env.get_parallelism())
    if model.parquet is not None:
        return _parquet(context, (*path, "parquet"), model.parquet)
    if model.jsonl is not None:
        return _json_lines(context, (*path, "jsonl"), model.jsonl)
    if model.collection is not None:
        return _collection(context, (*path, "collection"), model.collection)
    if model.script is not None:
        return _script(context, (*path, "script"), model.script)
    if model.generator is not None:
        return _generator(context, (*path, "generator"), model.generator)
    assert model.python is not None
    return _python(context, (*path, "python"), model.python)


def _csv(context: CompileContext, path: Path, model: CsvModel, parallelism: int) -> tuple[Source, RecordSchema]:
    found = _files(context, path, model)
    source = context.attempt(
        path,
        lambda: CsvSource(
            found,
            model.columns,
            split_by=model.split_by,
            groups=model.groups,
            delimiter=model.delimiter,
            rows=model.rows,
        ),
    )
    if model.split_by is not None:
        groups = context.attempt((*path, "split_by"), source.groups)
        if len(groups) < parallelism:
            message = f"{len(groups)} groups leave subtasks empty at parallelism {parallelism}"
            raise context.fail((*path, "split_by"), message)
    return source, declared(dict(model.columns))


def _parquet(context: CompileContext, path: Path, model: ParquetModel) -> tuple[Source, RecordSchema]:
    found = _files(context, path, model)
    columns = None if model.columns is None else dict(model.columns)
    source = context.attempt(path, lambda: ParquetSource(found, columns))
    return source, declared({column.name: column.type.value for column in source.columns})


def _json_lines(context: CompileContext, path: Path, model: JsonLinesModel) -> tuple[Source, RecordSchema]:
    found = _files(context, path, model)
    return context.attempt(path, lambda: JsonLinesSource(found, model.fields)), declared(dict(model.fields))


def _files(context: CompileContext, path: Path, model: FilesModel) -> list[str | FilePath]:
    folder, allow_path = context.scenario.folder, context.allow_path
    found = context.attempt((*path, "path"), lambda: input_files(model.path, folder, allow_path=allow_path))
    context.inputs.extend(found)
    return [file.path for file in found]


def _collection(context: CompileContext, path: Path, model: CollectionModel) -> tuple[Source, RecordSchema]:
    schema = declared(dict(model.fields))
    rows = [_row(context, (*path, "rows", index), row, schema) for index, row in enumerate(model.rows)]
    return CollectionSource(rows), schema


def _row(context: CompileContext, path: Path, row: Row, schema: RecordSchema) -> tuple[object, ...]:
    if len(row) != len(schema.names):
        raise context.fail(path, f"expected {len(schema.names)} values ({', '.join(schema.names)}), got {len(row)}")
    cells: list[object] = []
    for index, (cell, kind, name) in enumerate(zip(row, schema.types, schema.names, strict=True)):
        # A whole number is how people write a double.
        value = float(cell) if kind is FieldType.DOUBLE and type(cell) is int else cell
        if value is not None and not _ACCEPTS[kind](value):
            raise context.fail((*path, index), f"expected a {kind.value} for {name}, got {cell!r:.40}")
        cells.append(value)
    return tuple(cells)


def _script(context: CompileContext, path: Path, model: ScriptModel) -> tuple[Source, RecordSchema]:
    schema = declared(dict(model.fields))
    scripts = [
        [_entry(context, (*path, "subtasks", i, j), entry, schema) for j, entry in enumerate(entries)]
        for i, entries in enumerate(model.subtasks)
    ]
    return context.attempt(path, lambda: script.ScriptedSource(*scripts, gap_ms=model.gap)), schema


def _entry(context: CompileContext, path: Path, model: ScriptEntryModel, schema: RecordSchema) -> script.Entry:
    step, split = script.FREE if model.step is None else model.step, model.split
    if model.record is not None:
        row = _row(context, (*path, "record"), model.record, schema)
        return script.record(row, model.timestamp, step=step, split=split)
    if model.watermark is not None:
        return script.watermark(model.watermark, step=step, split=split)
    if model.sleep is not None:
        if split is not None:
            raise context.fail((*path, "split"), "a pause is of the whole subtask, remove split")
        return script.sleep(model.sleep, step=step)
    return script.idle(step=step, split=split) if model.idle else script.end(step=step, split=split)


def _generator(context: CompileContext, path: Path, model: GeneratorModel) -> tuple[Source, RecordSchema]:
    scenario = context.scenario.model
    is_ended = any(action.ends_the_job for action in scenario.actions)
    if model.count is None and scenario.settings.until is None and not is_ended:
        message = "an endless generator needs settings.until, or an action that ends the job (or give it a count)"
        raise context.fail(path, message)
    fields: dict[str, generator.Distribution] = {}
    types: list[FieldType] = []
    for name, field in model.fields.items():
        at = (*path, "fields", name)
        distribution, kind = context.attempt(at, partial(_distribution, field))
        fields[name] = distribution
        types.append(kind)
    source = context.attempt(path, lambda: GeneratorSource(model.count, fields, pace_ns=model.pace))
    return source, RecordSchema(tuple(fields), tuple(types))


def _distribution(model: GeneratedFieldModel) -> tuple[generator.Distribution, FieldType]:
    if model.sequence is not None:
        sequence = model.sequence
        return generator.SequenceOf(sequence.start, sequence.step, sequence.modulo), FieldType.LONG
    if model.uniform is not None:
        low, high = model.uniform.low, model.uniform.high
        if isinstance(low, int) and isinstance(high, int):
            return generator.UniformInt(low, high), FieldType.LONG
        return generator.UniformDouble(float(low), float(high)), FieldType.DOUBLE
    if model.normal is not None:
        return generator.Normal(model.normal.mean, model.normal.standard_deviation), FieldType.DOUBLE
    if model.choice is not None:
        values = model.choice.values
        kinds = {bool: FieldType.BOOLEAN, int: FieldType.LONG, float: FieldType.DOUBLE, str: FieldType.STRING}
        return generator.Choice(values, model.choice.weights), kinds[type(values[0])]
    assert model.event_time is not None
    time = model.event_time
    return generator.JitteredTime(time.start, time.step, time.jitter), FieldType.LONG


def _python(context: CompileContext, path: Path, model: PythonSourceModel) -> tuple[Source, RecordSchema]:
    function = context.python((*path, "function"), model.function)
    assert callable(function)
    try:
        source = function()
    except Exception as error:
        raise context.fail(path, f"{model.function}() failed: {type(error).__name__}: {error}") from error
    if not callable(getattr(source, "create_reader", None)):
        raise context.fail(path, f"expected {model.function}() to return a flowsim source, got {type(source).__name__}")
    return source, declared(dict(model.fields))
