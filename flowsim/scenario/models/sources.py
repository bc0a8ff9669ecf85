"""Sources of a scenario: where records come from, and how event time is read off them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from flowsim.scenario.models.types import (
    DurationMs,
    DurationNs,
    ExpressionSource,
    FieldName,
    FieldTypes,
    Name,
    Parallelism,
    PythonReference,
    Row,
    Scalar,
    Strict,
    TimeoutMs,
    one_of,
)

Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
FilePath = Annotated[str, Field(min_length=1, max_length=1000)]


class FilesModel(Strict):
    """One or more files; each is a split, and file i belongs to subtask i modulo parallelism."""

    path: FilePath | Annotated[list[FilePath], Field(min_length=1, max_length=10_000)] = Field(
        description="Relative to the scenario's folder; outside it only with --allow-path. * and ? match any names, sorted."
    )


class ParquetModel(FilesModel):
    """Rows of Parquet files, in file order."""

    columns: FieldTypes | None = Field(
        default=None, description="The columns to read, in this order; else all. A timestamp is a long of ms."
    )


class JsonLinesModel(FilesModel):
    """Objects of files with one JSON object a line (``.gz`` too), in file order."""

    fields: FieldTypes = Field(description="The keys to read, in this order, with their types.")


class CsvModel(FilesModel):
    """Rows of CSV files (``.gz`` too) with a header line, in file order."""

    columns: FieldTypes = Field(description="The columns to read, in this order, with their types.")
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    rows: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Only so many rows of each file, from its beginning."
    )
    split_by: FieldName | None = Field(
        default=None,
        description="With one file and parallelism > 1: every subtask reads the rows of its share of this column's values.",
    )
    groups: Annotated[list[Scalar | list[Scalar]], Field(min_length=1)] | None = Field(
        default=None,
        description="The values of split_by, one entry a group; group i belongs to subtask i modulo parallelism.",
    )


class CollectionModel(Strict):
    """Rows written in the scenario itself."""

    fields: FieldTypes
    rows: list[Row]


class ScriptEntryModel(Strict):
    """One thing that a subtask of a scripted source does: a record, a watermark, a pause, idleness or the end."""

    record: Row | None = None
    timestamp: Int64 | None = Field(
        default=None, description="Of the record, in ms; without it that of the record before."
    )
    watermark: Int64 | None = Field(default=None, description="Event time in ms.")
    sleep: DurationMs | None = None
    idle: Literal[True] | None = None
    end: Literal[True] | None = None
    split: Name | None = Field(
        default=None,
        description="The split that it belongs to; each has event time of its own. With end: ends that split.",
    )
    step: Annotated[int, Field(ge=0, le=10**9)] | None = Field(
        default=None,
        description="Orders entries over all scripted sources: step n happens (n + 1) gaps after the start.",
    )

    @model_validator(mode="after")
    def _one_action(self) -> ScriptEntryModel:
        action = one_of(self, ("record", "watermark", "sleep", "idle", "end"))
        if self.timestamp is not None and action != "record":
            raise ValueError(f"timestamp belongs to a record, this entry is a {action}")
        return self


class ScriptModel(Strict):
    """Says subtask by subtask what happens; the parallelism is the number of subtasks."""

    fields: FieldTypes
    subtasks: Annotated[list[list[ScriptEntryModel]], Field(min_length=1, max_length=1000)]
    gap: DurationMs = Field(default=10, description="Virtual time between two steps.")

    @property
    def speaks_of_event_time(self) -> bool:
        """Whether some entry is a watermark or idleness."""
        return any(one.watermark is not None or one.idle for entries in self.subtasks for one in entries)


class SequenceModel(Strict):
    """``start + index * step``, with ``modulo`` the remainder of it."""

    start: Int64 = 0
    step: Int64 = 1
    modulo: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = None


class UniformModel(Strict):
    """A whole number between two whole limits (both included), or a double between two numbers."""

    low: Int64 | float
    high: Int64 | float


class NormalModel(Strict):
    """A double around a mean."""

    mean: float
    standard_deviation: Annotated[float, Field(ge=0)]


class ChoiceModel(Strict):
    """One of the values, by weight."""

    values: Annotated[list[bool] | list[Int64] | list[float] | list[str], Field(min_length=1, max_length=10_000)]
    weights: list[Annotated[float, Field(ge=0)]] | None = None


class EventTimeModel(Strict):
    """Event time in ms: ``start + index * step``, moved back by up to ``jitter``."""

    start: Int64 = 0
    step: DurationMs = 1
    jitter: DurationMs = 0


class GeneratedFieldModel(Strict):
    """How one field is drawn."""

    sequence: SequenceModel | None = None
    uniform: UniformModel | None = None
    normal: NormalModel | None = None
    choice: ChoiceModel | None = None
    event_time: EventTimeModel | None = None

    @model_validator(mode="after")
    def _one_distribution(self) -> GeneratedFieldModel:
        one_of(self, ("sequence", "uniform", "normal", "choice", "event_time"))
        return self


class GeneratorModel(Strict):
    """Draws records from the run's seed."""

    count: Annotated[int, Field(ge=1, le=10**12)] | None = Field(
        default=None, description="Records in all; none: endless."
    )
    pace: DurationNs | None = Field(default=None, description="Virtual time between two records of a subtask.")
    fields: Annotated[dict[FieldName, GeneratedFieldModel], Field(min_length=1)]


class PythonSourceModel(Strict):
    """A source of your own: a function that returns a flowsim source; runs only with --allow-python."""

    function: PythonReference
    fields: FieldTypes


class AlignmentModel(Strict):
    """A source whose watermark is too far ahead of the others of its group waits for them."""

    group: Name
    max_drift: DurationMs = Field(description="How far ahead of the slowest a source may be.")
    interval: Annotated[DurationMs, Field(ge=1)] = Field(default=1000, description="How often the sources report.")


class WatermarksModel(Strict):
    """How timestamps and watermarks come about: the highest timestamp so far, minus the bound, minus 1 ms."""

    timestamp: ExpressionSource = Field(description="Event time of a record in ms.")
    max_out_of_orderness: DurationMs = 0
    emit: Literal["periodic", "every_record", "never"] = Field(
        default="periodic",
        description="Every auto_watermark_interval (as Flink does), after every record, or not at all (timestamps only).",
    )
    punctuated: ExpressionSource | None = Field(
        default=None,
        description="Only after a record for which this is true: its timestamp, minus the bound, minus 1 ms.",
    )
    generator: PythonReference | None = Field(
        default=None, description="A WatermarkGenerator class of your own, made once per subtask."
    )
    idle_after: DurationMs | None = Field(
        default=None, description="Declares a subtask idle after this long without records."
    )
    alignment: AlignmentModel | None = Field(default=None, description="Only of a source.")

    @model_validator(mode="after")
    def _one_way(self) -> WatermarksModel:
        if sum((self.punctuated is not None, self.generator is not None, self.emit != "periodic")) > 1:
            raise ValueError("expected one of emit, punctuated and generator")
        return self


SOURCE_KINDS = ("csv", "parquet", "jsonl", "collection", "script", "generator", "python")


class SourceModel(Strict):
    """One source; exactly one of csv, parquet, jsonl, collection, script, generator, python."""

    csv: CsvModel | None = None
    parquet: ParquetModel | None = None
    jsonl: JsonLinesModel | None = None
    collection: CollectionModel | None = None
    script: ScriptModel | None = None
    generator: GeneratorModel | None = None
    python: PythonSourceModel | None = None
    parallelism: Parallelism | None = None
    watermarks: WatermarksModel | None = None
    legacy: bool = Field(
        default=False, description="Runs as a source function on a thread of its own, as Flink's old sources do."
    )
    cost: DurationNs | None = Field(default=None, description="Virtual time that one record costs.")
    buffer_timeout: TimeoutMs | None = None
    chaining: Literal["always", "never"] = "always"

    @property
    def files(self) -> FilesModel | None:
        """What it reads, where that is files."""
        return self.csv or self.parquet or self.jsonl

    @model_validator(mode="after")
    def _one_kind(self) -> SourceModel:
        one_of(self, SOURCE_KINDS)
        if self.script is not None and self.watermarks is not None and self.script.speaks_of_event_time:
            raise ValueError("the script emits its own watermarks, remove them or watermarks")
        return self
