"""Sinks of a scenario: files, results kept in memory, printing."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Annotated, Final, Literal, assert_never, get_args

from pydantic import Field, model_validator

from flowsim.connectors.databases.sqlite import SqliteSink
from flowsim.connectors.files.parquet import ParquetSink
from flowsim.connectors.files.text_sinks import CsvSink, JsonLinesSink
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.print import PrintSink
from flowsim.connectors.sinks.sink import DeliveryGuarantee, Sink
from flowsim.scenario.context import CompileContext, CompiledSink
from flowsim.scenario.features.inputs import EdgeModel, input_stream
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.paths import confined
from flowsim.scenario.run_directory import RECORDING, RUN_FILE
from flowsim.scenario.types import Strict, chosen_of, exactly_one_of, one_of
from flowsim.scenario.yaml.positions import Path

FileSinkKind = Literal["parquet", "csv", "jsonl"]
SinkKind = FileSinkKind | Literal["sqlite", "collect", "print"]
SINK_KINDS: Final[tuple[SinkKind, ...]] = (*get_args(FileSinkKind), "sqlite", "collect", "print")
_FILE_SINKS: Final[dict[FileSinkKind, type[CsvSink | JsonLinesSink | ParquetSink]]] = {
    "parquet": ParquetSink,
    "csv": CsvSink,
    "jsonl": JsonLinesSink,
}
DATABASE_FILE: Final = "rows.sqlite"
Delivery = Literal["exactly_once", "at_least_once"]
_RESERVED: Final = (RECORDING, RUN_FILE)


class EmptyModel(Strict):
    """A sink without options: ``{}``."""


class FileSinkModel(Strict):
    """Files in the sink's folder."""

    path: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None,
        description="Folder, relative to --out; without it sinks/NAME. Outside --out only with --allow-path.",
    )


class SqliteSinkModel(Strict):
    """A table of a SQLite database in the sink's folder."""

    path: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None,
        description="Folder of rows.sqlite, relative to --out; without it sinks/NAME. Outside --out only with --allow-path.",
    )
    table: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Name of the table; without it the name of the sink."
    )


class SinkModel(EdgeModel, json_schema_extra=exactly_one_of(*SINK_KINDS)):
    """One sink; exactly one of parquet, csv, jsonl, sqlite, collect, print."""

    parquet: FileSinkModel | None = Field(
        default=None, description="One Parquet file per subtask; with checkpoints one per subtask and checkpoint."
    )
    csv: FileSinkModel | None = Field(
        default=None,
        description="One CSV file with a header line per subtask; with checkpoints one per subtask and checkpoint.",
    )
    jsonl: FileSinkModel | None = Field(
        default=None,
        description="One file per subtask, with one JSON object per line; with checkpoints one per subtask and checkpoint.",
    )
    sqlite: SqliteSinkModel | None = Field(default=None, description="A table of a SQLite database.")
    collect: EmptyModel | None = Field(
        default=None, description="Keeps the results in memory, shown at the end of the run."
    )
    print: EmptyModel | None = Field(default=None, description="Prints each record when it arrives; written as `{}`.")
    delivery: Delivery = Field(
        default="exactly_once",
        description="In a job with checkpoints: exactly_once shows records when their checkpoint completes; at_least_once "
        "at once, and after a failure some of them again. print has no delivery: it prints at once.",
    )
    chaining: Literal["always", "never"] = Field(default="always", description="never: the sink is a task of its own.")

    @model_validator(mode="after")
    def _one_kind(self) -> SinkModel:
        one_of(self, SINK_KINDS)
        if self.print is not None and "delivery" in self.model_fields_set:
            raise ValueError("a print sink has no delivery: it prints records when they arrive")
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
    delivery = DeliveryGuarantee(model.delivery)
    match kind:
        case "collect":
            collect = CollectSink(delivery)
            return collect, CompiledSink(name, kind, schema, None, collect, collect)
        case "print":
            printing = PrintSink(name)
            return printing, CompiledSink(name, kind, schema, None, None, printing)
    directory = _directory(context, (*path, kind), value.path or f"sinks/{name}", schema)
    fields = {field: of.value for field, of in zip(schema.names, schema.types, strict=True)}
    match kind:
        case "parquet" | "csv" | "jsonl":
            files = _FILE_SINKS[kind](directory, fields, delivery=delivery)
            return files, CompiledSink(name, kind, schema, directory, None, files)
        case "sqlite":
            table = context.attempt(
                (*path, kind, "table"),
                lambda: SqliteSink(directory / DATABASE_FILE, value.table or name, fields, delivery),
            )
            return table, CompiledSink(name, kind, schema, directory, None, table)
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
