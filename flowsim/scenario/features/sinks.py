"""Sinks of a scenario: files, results kept in memory, printing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Annotated, Final, Literal, assert_never, get_args

from pydantic import Field, model_validator

from flowsim.connectors.databases.postgres import NamedConnection, PostgresSink
from flowsim.connectors.databases.sqlite import SqliteSink, checked_table
from flowsim.connectors.files.parquet import ParquetSink
from flowsim.connectors.files.text_sinks import CsvSink, JsonLinesSink
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.print import PrintSink
from flowsim.connectors.sinks.sink import DeliveryGuarantee, Sink
from flowsim.errors import BadInput, did_you_mean
from flowsim.scenario.context import CompileContext, CompiledSink, CompiledStream
from flowsim.scenario.features.costs import set_cost
from flowsim.scenario.features.inputs import EdgeModel, input_stream
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.paths import confined
from flowsim.scenario.run_directory import is_reserved
from flowsim.scenario.types import Name, Strict, chosen_of, exactly_one_of, one_of
from flowsim.scenario.yaml.flink_names import FlinkNames
from flowsim.scenario.yaml.positions import Path

FileSinkKind = Literal["parquet", "csv", "jsonl"]
SinkKind = FileSinkKind | Literal["sqlite", "postgres", "collect", "print"]
SINK_KINDS: Final[tuple[SinkKind, ...]] = (
    *get_args(FileSinkKind),
    "sqlite",
    "postgres",
    "collect",
    "print",
)
_FILE_SINKS: Final[dict[FileSinkKind, type[CsvSink | JsonLinesSink | ParquetSink]]] = {
    "parquet": ParquetSink,
    "csv": CsvSink,
    "jsonl": JsonLinesSink,
}
DATABASE_FILE: Final = "rows.sqlite"
Delivery = Literal["exactly_once", "at_least_once"]


class EmptyModel(Strict):
    """A sink without options: ``{}``."""


class FileSinkModel(Strict):
    """Files in the sink's folder."""

    path: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None,
        description="A folder for this sink only, under `--out`; without it `sinks/NAME`. A path outside needs "
        "`--allow-path`.",
    )


class SqliteSinkModel(Strict):
    """A table of a SQLite database in the sink's folder."""

    path: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None,
        description="The folder of `rows.sqlite`, for this sink only, under `--out`; without it `sinks/NAME`. A path "
        "outside needs `--allow-path`.",
    )
    table: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Name of the table; without it the name of the sink."
    )


class PostgresSinkModel(Strict):
    """A table on a PostgreSQL server, which the caller names with --connect. Real clock only."""

    connection: Name = Field(description="Name of the connection; `--connect NAME=URL` names its server.")
    table: Annotated[str, Field(min_length=1, max_length=48)] | None = Field(
        default=None, description="Name of the table; without it the name of the sink."
    )
    prefix: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        default=None,
        description="Part of the names of staged rows: scenarios that write to a table at the same time need "
        "different ones. Without it the name of the scenario.",
    )


class SinkModel(EdgeModel, json_schema_extra=exactly_one_of(*SINK_KINDS)):
    """One sink; exactly one of parquet, csv, jsonl, sqlite, postgres, collect, print."""

    parquet: FileSinkModel | None = Field(
        default=None, description="One Parquet file per subtask; with checkpoints one per subtask and checkpoint."
    )
    csv: FileSinkModel | None = Field(
        default=None,
        description="One CSV file with a header line per subtask; with checkpoints one per subtask and checkpoint.",
    )
    jsonl: FileSinkModel | None = Field(
        default=None,
        description="One file per subtask, with one JSON object per line; with checkpoints one per subtask and "
        "checkpoint.",
    )
    sqlite: SqliteSinkModel | None = Field(default=None, description="A table of a SQLite database.")
    postgres: PostgresSinkModel | None = Field(
        default=None, description="A table on a PostgreSQL server; only on the real clock, and with `--connect`."
    )
    collect: Annotated[EmptyModel | None, FlinkNames("execute_and_collect")] = Field(
        default=None, description="Stores the results and prints them at the end of the run: `{}`."
    )
    print: EmptyModel | None = Field(default=None, description="Prints each record when it arrives: `{}`.")
    delivery: Annotated[Delivery, FlinkNames("DeliveryGuarantee")] = Field(
        default="exactly_once",
        description="With checkpoints, `exactly_once` shows records when their checkpoint completes; `at_least_once` "
        "at once, and after a failure some of them again. Not with `print`, which prints at once.",
    )
    chaining: Annotated[Literal["always", "never"], FlinkNames(("disable_chaining", "never"))] = Field(
        default="always", description="`never`: the sink is a task of its own."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> SinkModel:
        one_of(self, SINK_KINDS)
        if self.print is not None and "delivery" in self.model_fields_set:
            raise ValueError("a print sink has no delivery: it prints records when they arrive")
        return self


def check_connections(connections: Mapping[str, str], sinks: Mapping[str, SinkModel]) -> Mapping[str, str]:
    """Returns the connections. Raises BadInput for one that no sink has."""
    known = {sink.postgres.connection: None for sink in sinks.values() if sink.postgres is not None}
    for name in connections:
        if name not in known:
            raise BadInput(f"connection {name!r}: no sink of the scenario has it{did_you_mean(name, known)}")
    return connections


def compile_sink(context: CompileContext, name: str, model: SinkModel) -> None:
    """Adds one sink to the job; raises Failed."""
    path: Path = ("sinks", name)
    incoming = input_stream(context, path, model)
    sink, compiled = _sink(context, path, name, model, incoming)
    end = incoming.stream.sink_to(sink).name(f"Sink: {name}")
    if model.parallelism is not None:
        end.set_parallelism(model.parallelism)
    set_cost(context, path, end, model.cost, [incoming.schema])
    if model.buffer_timeout is not None:
        end.set_buffer_timeout(model.buffer_timeout)
    if model.chaining == "never":
        end.disable_chaining()
    if model.slot_sharing_group is not None:
        end.slot_sharing_group(model.slot_sharing_group)
    context.sinks.append(compiled)


def _sink(
    context: CompileContext, path: Path, name: str, model: SinkModel, incoming: CompiledStream
) -> tuple[Sink, CompiledSink]:
    kind, value = chosen_of(model, SINK_KINDS)
    schema = incoming.schema
    delivery = DeliveryGuarantee(model.delivery)
    match kind:
        case "collect":
            collect = CollectSink(delivery)
            return collect, CompiledSink(name, kind, schema, None, collect, collect)
        case "print":
            printing = PrintSink(name)
            return printing, CompiledSink(name, kind, schema, None, None, printing)
    fields = _columns(context, (*path, kind), schema)
    if kind == "postgres":
        prefix = value.prefix or context.scenario_name
        server = context.connections.get(value.connection) or NamedConnection(value.connection)
        stored = context.attempt(
            (*path, kind),
            lambda: PostgresSink(server, value.table or name, fields, delivery, prefix=prefix),
        )
        return stored, CompiledSink(name, kind, schema, None, None, stored)
    directory = _directory(context, (*path, kind), value.path or f"sinks/{name}")
    match kind:
        case "parquet" | "csv" | "jsonl":
            files = _FILE_SINKS[kind](directory, fields, delivery=delivery)
            return files, CompiledSink(name, kind, schema, directory, None, files)
        case "sqlite":
            table = context.attempt((*path, kind, "table"), lambda: checked_table(value.table or name))
            rows = context.attempt(
                (*path, kind), lambda: SqliteSink(directory / DATABASE_FILE, table, fields, delivery)
            )
            return rows, CompiledSink(name, kind, schema, directory, None, rows)
    assert_never(kind)


def _columns(context: CompileContext, path: Path, schema: RecordSchema) -> dict[str, str]:
    """Returns the names and types of the columns; raises Failed."""
    for field, kind in zip(schema.names, schema.types, strict=True):
        if kind is FieldType.ANY:
            raise context.fail(
                path, f"field {field!r} has no known type: make it one by str(...), int(...), float(...) or bool(...)"
            )
    return {field: kind.value for field, kind in zip(schema.names, schema.types, strict=True)}


def _directory(context: CompileContext, path: Path, folder: str) -> FilePath:
    """Returns the folder for the files of the block at ``path``; raises Failed."""
    at, out_dir = (*path, "path"), context.out_dir
    directory = context.attempt(at, lambda: confined(folder, out_dir, allow_path=context.allow_path, what="output"))
    if is_reserved(directory, out_dir.resolve()):
        raise context.fail(at, f"expected a folder that only this sink uses, got {folder!r}")
    for other in context.sinks:
        if other.directory == directory:
            raise context.fail(path, f"sink {other.name!r} writes to the same folder")
    return directory
