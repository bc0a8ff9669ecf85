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
    Parallelism,
    PythonReference,
    Strict,
    TimeoutMs,
    one_of,
)

Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Scalar = None | bool | int | float | str
Cell = Scalar | list[Scalar]
Row = list[Cell]
CsvPath = Annotated[str, Field(min_length=1, max_length=1000)]


class CsvModel(Strict):
    """Rows of a CSV file (``.gz`` too) with a header line, in file order."""

    path: CsvPath = Field(description="Relative to the scenario's folder; outside it only with --allow-path.")
    columns: FieldTypes = Field(description="The columns to read, in this order, with their types.")
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    split_by: FieldName | None = Field(
        default=None,
        description="With parallelism > 1: every subtask reads the rows of its share of this column's values.",
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


class WatermarksModel(Strict):
    """How timestamps and watermarks come about: the highest timestamp so far, minus the bound, minus 1 ms."""

    timestamp: ExpressionSource = Field(description="Event time of a record in ms.")
    max_out_of_orderness: DurationMs = 0
    emit: Literal["periodic", "every_record"] = Field(
        default="periodic", description="Every auto_watermark_interval (as Flink does), or after every record."
    )
    idle_after: DurationMs | None = Field(
        default=None, description="Declares a subtask idle after this long without records."
    )


class SourceModel(Strict):
    """One source; exactly one of csv, collection, script, generator, python."""

    csv: CsvModel | None = None
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

    @model_validator(mode="after")
    def _one_kind(self) -> SourceModel:
        kind = one_of(self, ("csv", "collection", "script", "generator", "python"))
        if kind == "script" and self.watermarks is not None:
            raise ValueError("a script emits its own watermarks, remove watermarks")
        return self
