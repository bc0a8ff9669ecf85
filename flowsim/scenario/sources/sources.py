"""Sources of a scenario: the model, and one row per kind of source. A new kind is a file, a field and a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from flowsim.connectors.source import Source
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.datastream.output_tag import OutputTag
from flowsim.legacy.source_function import LegacySource
from flowsim.scenario.context import CompileContext, CompiledStream, declared
from flowsim.scenario.features.costs import Cost, set_cost
from flowsim.scenario.language.record_schema import RecordSchema
from flowsim.scenario.sources.file_sources import (
    CsvModel,
    FilesModel,
    JsonLinesModel,
    ParquetModel,
    compile_csv,
    compile_json_lines,
    compile_parquet,
)
from flowsim.scenario.sources.generated_sources import (
    GeneratorModel,
    PartitionedGeneratorModel,
    compile_generator,
    compile_partitioned_generator,
)
from flowsim.scenario.sources.scripted_sources import (
    CollectionModel,
    ScriptModel,
    check_event_time_entries,
    compile_collection,
    compile_script,
)
from flowsim.scenario.sources.watermarks import WatermarksModel, watermark_strategy
from flowsim.scenario.types import (
    FieldTypes,
    Name,
    Parallelism,
    PythonReference,
    Strict,
    TimeoutMs,
    chosen_of,
    exactly_one_of,
)
from flowsim.scenario.yaml.flink_names import FlinkNames
from flowsim.scenario.yaml.positions import Path

CompileSource = Callable[[CompileContext, Path, Any, int], tuple[Source, RecordSchema]]
"""A function of the path and the model of the block, and of the source's parallelism. It also returns the schema of the
records."""


class PythonSourceModel(Strict):
    """A user-defined source: a function that returns a flowsim source; runs only with --allow-python."""

    function: PythonReference = Field(
        description="Function without arguments that returns a flowsim source: package.module:name, only with "
        "--allow-python."
    )
    fields: FieldTypes = Field(description="Names and types of the fields of its records, which are tuples.")


def compile_python(
    context: CompileContext, path: Path, model: PythonSourceModel, parallelism: int
) -> tuple[Source, RecordSchema]:
    """Compiles the source that a Python function returns. Raises Failed."""
    function = context.python((*path, "function"), model.function)
    try:
        source: Any = function()
    except Exception as error:
        raise context.fail(path, f"{model.function}() failed: {type(error).__name__}: {error}") from error
    if not callable(getattr(source, "create_reader", None)):
        raise context.fail(path, f"expected {model.function}() to return a flowsim source, got {type(source).__name__}")
    return source, declared(model.fields)


SOURCE_KINDS: Final[dict[str, CompileSource]] = {
    "csv": compile_csv,
    "parquet": compile_parquet,
    "jsonl": compile_json_lines,
    "collection": compile_collection,
    "script": compile_script,
    "generator": compile_generator,
    "partitioned_generator": compile_partitioned_generator,
    "python": compile_python,
}


class SourceModel(Strict, json_schema_extra=exactly_one_of(*SOURCE_KINDS)):
    """One source; exactly one of csv, parquet, jsonl, collection, script, generator, partitioned_generator, python."""

    csv: Annotated[CsvModel | None, FlinkNames("CsvReaderFormat")] = Field(
        default=None, description="Rows of CSV files."
    )
    parquet: ParquetModel | None = Field(default=None, description="Rows of Parquet files.")
    jsonl: JsonLinesModel | None = Field(default=None, description="Objects of files with one JSON object per line.")
    collection: Annotated[CollectionModel | None, FlinkNames("from_collection")] = Field(
        default=None, description="Records written in the scenario."
    )
    script: ScriptModel | None = Field(
        default=None, description="Records, watermarks and pauses written in the scenario, step by step."
    )
    generator: Annotated[GeneratorModel | None, FlinkNames("DataGeneratorSource")] = Field(
        default=None, description="Random records, drawn from the seed."
    )
    partitioned_generator: Annotated[PartitionedGeneratorModel | None, FlinkNames("KafkaSource")] = Field(
        default=None,
        description="A generated log with partitions, as a topic of Kafka: records are appended whether they are "
        "read or not.",
    )
    python: PythonSourceModel | None = Field(default=None, description="A user-defined source.")
    parallelism: Annotated[Parallelism | None, FlinkNames("set_parallelism")] = Field(
        default=None,
        description="Number of subtasks; without it the value of the settings. A collection, and one csv file without "
        "`split_by`, has 1; a script has one per list of entries, unless its assignment is `dynamic`.",
    )
    watermarks: Annotated[
        WatermarksModel | None, FlinkNames("assign_timestamps_and_watermarks", "watermark_strategy")
    ] = Field(
        default=None,
        description="Timestamps and watermarks of the records; not for a script with `watermark` entries. Without it "
        "records have no timestamps, except those of a script.",
    )
    legacy: bool = Field(
        default=False,
        description="Runs as a source function on its own thread, under the checkpoint lock, without overdraft "
        "([finishing.md](finishing.md#the-end-of-a-task-in-flink-114)); an operator after the source then creates "
        "the watermarks.",
    )
    cost: Cost | None = Field(
        default=None, description="Virtual time of one record; without it the value of the settings."
    )
    buffer_timeout: Annotated[TimeoutMs | None, FlinkNames("set_buffer_timeout")] = Field(
        default=None,
        description="When a partly filled output buffer is sent; without it the value of the settings.",
    )
    chaining: Annotated[Literal["always", "never"], FlinkNames(("disable_chaining", "never"))] = Field(
        default="always", description="`never`: the source is a task of its own."
    )
    slot_sharing_group: Name | None = Field(
        default=None,
        description="The [slot sharing group](#slot-sharing-groups): operators of different groups are not chained. "
        "Without it `default`.",
    )

    @property
    def chosen(self) -> tuple[str, Any]:
        """The source's kind, a key of ``SOURCE_KINDS``, and the value of that block."""
        return chosen_of(self, SOURCE_KINDS)

    @property
    def files(self) -> FilesModel | None:
        """The files that the source reads, if any."""
        return self.csv or self.parquet or self.jsonl

    def side_output_names(self) -> list[str]:
        """Returns the side outputs of the source's watermarks."""
        return [] if self.watermarks is None else self.watermarks.side_output_names()

    @model_validator(mode="after")
    def _one_kind(self) -> SourceModel:
        _ = self.chosen
        return self


def compile_source(context: CompileContext, name: str, model: SourceModel) -> CompiledStream:
    """Adds one source to the job; raises Failed."""
    path: Path = ("sources", name)
    kind, value = model.chosen
    parallelism = model.parallelism or context.env.get_parallelism()
    source, schema = SOURCE_KINDS[kind](context, (*path, kind), value, parallelism)
    strategy = WatermarkStrategy.no_watermarks()
    if model.watermarks is not None:
        if model.script is not None:
            check_event_time_entries(context, (*path, kind), model.script, legacy=model.legacy)
        strategy = watermark_strategy(context, (*path, "watermarks"), model.watermarks, schema)
    if model.legacy:
        stream = context.attempt(path, lambda: context.env.add_source(LegacySource(source), name))
    else:
        stream = context.attempt(path, lambda: context.env.from_source(source, strategy, name))
    if model.parallelism is not None:
        context.attempt((*path, "parallelism"), lambda: stream.set_parallelism(parallelism))
    set_cost(context, path, stream, model.cost, [schema])
    if model.buffer_timeout is not None:
        stream.set_buffer_timeout(model.buffer_timeout)
    if model.chaining == "never":
        stream.disable_chaining()
    if model.slot_sharing_group is not None:
        stream.slot_sharing_group(model.slot_sharing_group)
    if model.legacy and model.watermarks is not None:
        # A source function emits no watermarks here, so an operator after it generates them.
        stream = stream.assign_timestamps_and_watermarks(strategy).name(f"{name} watermarks")
    for tag in model.side_output_names():
        context.streams[f"{name}.{tag}"] = CompiledStream(stream.get_side_output(OutputTag(tag)), schema)
    return CompiledStream(stream, schema)
