"""Compiles the sinks of a scenario."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path as FilePath

from flowsim.connectors.files.parquet import ParquetSink
from flowsim.connectors.files.text_sinks import CsvSink, JsonLinesSink
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.print import PrintSink
from flowsim.connectors.source import Sink
from flowsim.scenario.compiling.compiled import CompiledSink
from flowsim.scenario.compiling.context import CompileContext
from flowsim.scenario.compiling.inputs import input_stream
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.models.operators import SinkModel
from flowsim.scenario.paths import confined
from flowsim.scenario.run_directory import RECORDING, RUN_FILE
from flowsim.scenario.yaml_positions import Path

_FILE_SINKS: dict[str, Callable[[FilePath, dict[str, str]], Sink]] = {
    "parquet": ParquetSink,
    "csv": CsvSink,
    "jsonl": JsonLinesSink,
}
_RESERVED = (RECORDING, RUN_FILE)


def compile_sink(context: CompileContext, name: str, model: SinkModel) -> None:
    """Adds one sink to the job; raises Failed."""
    path: Path = ("sinks", name)
    incoming = input_stream(context, path, model)
    sink, compiled = _sink(context, path, name, model, incoming.schema)
    end = incoming.stream.sink_to(sink).name(f"Sink: {name}")
    if model.parallelism is not None:
        end.set_parallelism(model.parallelism)
    if model.cost is not None:
        end.cost(model.cost)
    if model.buffer_timeout is not None:
        end.set_buffer_timeout(model.buffer_timeout)
    if model.chaining == "never":
        end.disable_chaining()
    context.sinks.append(compiled)


def _sink(
    context: CompileContext, path: Path, name: str, model: SinkModel, schema: RecordSchema
) -> tuple[Sink, CompiledSink]:
    if model.collect is not None:
        collect = CollectSink()
        return collect, CompiledSink(name, "collect", schema, None, collect)
    if model.print is not None:
        return PrintSink(name), CompiledSink(name, "print", schema, None, None)
    file_model = model.parquet or model.csv or model.jsonl
    assert file_model is not None
    at = (*path, model.kind)
    for field, kind in zip(schema.names, schema.types, strict=True):
        if kind is FieldType.ANY:
            raise context.fail(
                at, f"field {field!r} has no known type: make it one by str(...), int(...), float(...) or bool(...)"
            )
    folder = file_model.path or f"sinks/{name}"
    out_dir = context.out_dir
    directory = context.attempt(
        (*at, "path"), lambda: confined(folder, out_dir, allow_path=context.allow_path, what="output")
    )
    base = out_dir.resolve()
    if directory == base or any(directory.is_relative_to(base / reserved) for reserved in _RESERVED):
        raise context.fail((*at, "path"), f"expected a folder of the sink's own, got {folder!r}")
    for other in context.sinks:
        if other.directory == directory:
            raise context.fail(at, f"sink {other.name!r} writes to the same folder")
    fields = {field: kind.value for field, kind in zip(schema.names, schema.types, strict=True)}
    sink: Sink = _FILE_SINKS[model.kind](directory, fields)
    return sink, CompiledSink(name, model.kind, schema, directory, None)
