"""Sinks of a scenario: files, results kept in memory, printing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Annotated, Final, Literal, assert_never, get_args

from pydantic import Field, model_validator

from flowsim.connectors.files.parquet import ParquetSink
from flowsim.connectors.files.text_sinks import CsvSink, JsonLinesSink
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.print import PrintSink
from flowsim.connectors.sinks.sink import Sink
from flowsim.scenario.context import CompileContext, CompiledSink
from flowsim.scenario.features.inputs import EdgeModel, input_stream
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.paths import confined
from flowsim.scenario.run_directory import RECORDING, RUN_FILE
from flowsim.scenario.types import Strict, chosen_of, exactly_one_of, one_of
from flowsim.scenario.yaml.positions import Path

FileSinkKind = Literal["parquet", "csv", "jsonl"]
SinkKind = FileSinkKind | Literal["collect", "print"]
SINK_KINDS: Final[tuple[SinkKind, ...]] = (*get_args(FileSinkKind), "collect", "print")
_FILE_SINKS: Final[dict[FileSinkKind, Callable[[FilePath, dict[str, str]], Sink]]] = {
    "parquet": ParquetSink,
    "csv": CsvSink,
    "jsonl": JsonLinesSink,
}
_RESERVED: Final = (RECORDING, RUN_FILE)


class EmptyModel(Strict):
    """A sink without options: ``{}``."""


class FileSinkModel(Strict):
    """Files in the sink's folder."""

    path: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None,
        description="Folder, relative to --out; without it sinks/NAME. Outside --out only with --allow-path.",
    )


class SinkModel(EdgeModel, json_schema_extra=exactly_one_of(*SINK_KINDS)):
    """One sink; exactly one of parquet, csv, jsonl, collect, print."""

    parquet: FileSinkModel | None = Field(default=None, description="One Parquet file per subtask.")
    csv: FileSinkModel | None = Field(default=None, description="One CSV file with a header line per subtask.")
    jsonl: FileSinkModel | None = Field(
        default=None, description="One file per subtask, with one JSON object per line."
    )
    collect: EmptyModel | None = Field(
        default=None, description="Keeps the results in memory, shown at the end of the run."
    )
    print: EmptyModel | None = Field(default=None, description="Prints each record when it arrives; written as `{}`.")
    chaining: Literal["always", "never"] = Field(default="always", description="never: the sink is a task of its own.")

    @model_validator(mode="after")
    def _one_kind(self) -> SinkModel:
        one_of(self, SINK_KINDS)
        return self


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
    kind, value = chosen_of(model, SINK_KINDS)
    match kind:
        case "collect":
            collect = CollectSink()
            return collect, CompiledSink(name, kind, schema, None, collect)
        case "print":
            return PrintSink(name), CompiledSink(name, kind, schema, None, None)
        case "parquet" | "csv" | "jsonl":
            directory = _directory(context, (*path, kind), value.path or f"sinks/{name}", schema)
            fields = {field: of.value for field, of in zip(schema.names, schema.types, strict=True)}
            return _FILE_SINKS[kind](directory, fields), CompiledSink(name, kind, schema, directory, None)
    assert_never(kind)


def _directory(context: CompileContext, path: Path, folder: str, schema: RecordSchema) -> FilePath:
    """Returns the folder for the files of the block at ``path``; raises Failed."""
    for field, kind in zip(schema.names, schema.types, strict=True):
        if kind is FieldType.ANY:
            raise context.fail(
                path, f"field {field!r} has no known type: make it one by str(...), int(...), float(...) or bool(...)"
            )
    at, out_dir = (*path, "path"), context.out_dir
    directory = context.attempt(at, lambda: confined(folder, out_dir, allow_path=context.allow_path, what="output"))
    base = out_dir.resolve()
    if directory == base or any(directory.is_relative_to(base / reserved) for reserved in _RESERVED):
        raise context.fail(at, f"expected a folder that only this sink uses, got {folder!r}")
    for other in context.sinks:
        if other.directory == directory:
            raise context.fail(path, f"sink {other.name!r} writes to the same folder")
    return directory
