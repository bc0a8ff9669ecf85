"""Sources that draw their records from the run's seed: ``generator`` and ``partitioned_generator``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal, assert_never

from pydantic import Field, model_validator

from flowsim.connectors import generator
from flowsim.connectors.generator import GeneratorSource
from flowsim.connectors.partition_log import LEAST_RATE
from flowsim.connectors.partitioned_generator import Burst, Partition, PartitionedGeneratorSource, Pause
from flowsim.connectors.source import Source
from flowsim.scenario.context import CompileContext
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.types import DurationMs, DurationNs, FieldName, Int64, Strict, chosen_of, exactly_one_of, one_of
from flowsim.scenario.yaml.positions import Path

DISTRIBUTIONS = ("sequence", "uniform", "normal", "choice", "event_time")
_CHOICE_TYPES = {bool: FieldType.BOOLEAN, int: FieldType.LONG, float: FieldType.DOUBLE, str: FieldType.STRING}


class SequenceModel(Strict):
    """The number ``start + index * step``, or, with ``modulo``, its remainder."""

    start: Int64 = Field(default=0, description="Value of the first record.")
    step: Int64 = Field(default=1, description="Difference between two records of the source.")
    modulo: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = Field(
        default=None,
        description="The value is the remainder of its division by this number. Without it the value is not limited.",
    )


class UniformModel(Strict):
    """A whole number between two whole limits (both included), or a double between two numbers."""

    low: Int64 | float = Field(description="The smallest value.")
    high: Int64 | float = Field(description="The largest value; included if `low` and `high` are whole numbers.")


class NormalModel(Strict):
    """A double around a mean."""

    mean: float = Field(description="Mean of the distribution.")
    standard_deviation: Annotated[float, Field(ge=0)] = Field(description="Standard deviation of the distribution.")


class ChoiceModel(Strict):
    """One of the values, drawn by weight."""

    values: Annotated[list[bool] | list[Int64] | list[float] | list[str], Field(min_length=1, max_length=10_000)] = (
        Field(description="The values, all of one type.")
    )
    weights: list[Annotated[float, Field(ge=0)]] | None = Field(
        default=None,
        description="One weight per value, not all 0; a value with twice the weight occurs twice as often. "
        "Without it all weights are equal.",
    )


class EventTimeModel(Strict):
    """Event time in ms: ``start + index * step``, minus a uniform jitter of up to ``jitter``."""

    start: Int64 = Field(default=0, description="Event time of the first record in ms.")
    step: DurationMs = Field(default=1, description="Event time between two records of the source.")
    jitter: DurationMs = Field(
        default=0, description="Each record is moved back by a random time up to this one, so records are out of order."
    )


class GeneratedFieldModel(Strict, json_schema_extra=exactly_one_of(*DISTRIBUTIONS)):
    """The distribution of one field."""

    sequence: SequenceModel | None = Field(default=None, description="A counter with a constant step; a long.")
    uniform: UniformModel | None = Field(
        default=None, description="Uniformly distributed numbers: a long between whole numbers, otherwise a double."
    )
    normal: NormalModel | None = Field(default=None, description="Normally distributed numbers; a double.")
    choice: ChoiceModel | None = Field(default=None, description="One of several values, chosen by weight.")
    event_time: EventTimeModel | None = Field(
        default=None, description="Increasing times in ms with random disorder; a long."
    )

    @property
    def distribution(self) -> SequenceModel | UniformModel | NormalModel | ChoiceModel | EventTimeModel:
        """The distribution that is set."""
        value: SequenceModel | UniformModel | NormalModel | ChoiceModel | EventTimeModel
        _, value = chosen_of(self, DISTRIBUTIONS)
        return value

    @model_validator(mode="after")
    def _one_distribution(self) -> GeneratedFieldModel:
        one_of(self, DISTRIBUTIONS)
        return self


class GeneratorModel(Strict):
    """Draws records from the run's seed."""

    count: Annotated[int, Field(ge=1, le=10**12)] | None = Field(
        default=None,
        description="Total number of records, divided between the subtasks; without it the source is endless and needs "
        "`settings.until`, the option `--until` or an [action](#actions).",
    )
    pace: DurationNs | None = Field(
        default=None,
        description="Virtual time between two records of a subtask; without it, the cost limits the speed.",
    )
    fields: Annotated[dict[FieldName, GeneratedFieldModel], Field(min_length=1)] = Field(
        description="The fields of a record, in this order; each with the distribution of its values."
    )


class PauseModel(Strict):
    """A time without new records."""

    from_: DurationMs = Field(alias="from", description="Start of this time, after the start of the run.")
    to: DurationMs = Field(description="End of this time, after the start of the run.")


class BurstModel(PauseModel):
    """A time with another rate."""

    rate: Annotated[float, Field(ge=LEAST_RATE, le=10**9)] = Field(description="Records per second during this time.")


class PartitionModel(Strict):
    """How records are appended to one partition."""

    rate: Annotated[float, Field(ge=LEAST_RATE, le=10**9)] = Field(
        description="Records per second, outside bursts; also before the start of the run."
    )
    start_lag: Annotated[int, Field(ge=0, le=10**12)] = Field(
        default=0, description="Number of records that are there at the start of the run."
    )
    records: Annotated[int, Field(ge=0, le=10**12)] | None = Field(
        default=None, description="Number of all records; without it the partition never ends."
    )
    from_: DurationMs = Field(
        default=0,
        alias="from",
        description="Creation of the partition, after the start of the run; its first record is appended then.",
    )
    to: DurationMs | None = Field(
        default=None,
        description="Deletion of the partition, with the records that are not read; it needs a partition without `records`. "
        "Without it the partition stays.",
    )
    out_of_orderness: DurationMs = Field(
        default=0, description="Timestamps are earlier than the append by a random time up to this one."
    )
    pauses: list[PauseModel] = Field(default=[], description="Times without new records.")
    bursts: list[BurstModel] = Field(default=[], description="Times with another rate.")


class PartitionedGeneratorModel(Strict):
    """A log with partitions, as a topic of Kafka: records are appended whether they are read or not."""

    partitions: Annotated[list[PartitionModel], Field(min_length=1, max_length=10_000)] = Field(
        description="The partitions; each is a split, read by subtask i modulo parallelism at first."
    )
    fields: Annotated[dict[FieldName, GeneratedFieldModel], Field(min_length=1)] = Field(
        description="The fields of a record, in this order; a `sequence` counts over all partitions in turn, so that "
        "its remainder by their number is the partition."
    )
    timestamp_field: FieldName | None = Field(
        default=None, description="An additional last field, a long: the timestamp of the record in ms."
    )
    starting_offsets: Literal["earliest", "latest"] | Annotated[int, Field(ge=0)] = Field(
        default="earliest", description="Where reading starts; `latest`: without the records of the start."
    )
    start_timestamp: Int64 | None = Field(
        default=None,
        description="Event time of the start of the run in ms. Without it the oldest record was appended at 0.",
    )
    max_poll_records: Annotated[int, Field(ge=1)] = Field(
        default=500, description="Records of one partition that a subtask reads before it goes to the next one."
    )
    discovery_interval: DurationMs = Field(
        default=300_000,
        description="How often new partitions are discovered, from the start on; `0`: only at the start.",
    )


def compile_generator(
    context: CompileContext, path: Path, model: GeneratorModel, parallelism: int
) -> tuple[Source, RecordSchema]:
    """Compiles a source of random records. Raises Failed."""
    fields, schema = _fields(context, path, model.fields)
    source = context.attempt(path, lambda: GeneratorSource(model.count, fields, pace_ns=model.pace))
    return source, schema


def compile_partitioned_generator(
    context: CompileContext, path: Path, model: PartitionedGeneratorModel, parallelism: int
) -> tuple[Source, RecordSchema]:
    """Compiles a generated log. Raises Failed."""
    fields, schema = _fields(context, path, model.fields)
    partitions = [
        context.attempt((*path, "partitions", i), partial(_partition, partition))
        for i, partition in enumerate(model.partitions)
    ]
    source = context.attempt(
        path,
        lambda: PartitionedGeneratorSource(
            partitions,
            fields,
            timestamp_field=model.timestamp_field,
            starting_offsets=model.starting_offsets,
            start_timestamp_ms=model.start_timestamp,
            max_poll_records=model.max_poll_records,
            discovery_interval_ms=model.discovery_interval,
        ),
    )
    if model.timestamp_field is not None:
        schema = RecordSchema((*schema.names, model.timestamp_field), (*schema.types, FieldType.LONG))
    return source, schema


def _partition(model: PartitionModel) -> Partition:
    return Partition(
        model.rate,
        model.start_lag,
        model.records,
        model.out_of_orderness,
        [Pause(pause.from_, pause.to) for pause in model.pauses],
        [Burst(burst.from_, burst.to, burst.rate) for burst in model.bursts],
        model.from_,
        model.to,
    )


def _fields(
    context: CompileContext, path: Path, models: Mapping[str, GeneratedFieldModel]
) -> tuple[dict[str, generator.Distribution], RecordSchema]:
    fields: dict[str, generator.Distribution] = {}
    types: list[FieldType] = []
    for name, field in models.items():
        at = (*path, "fields", name)
        distribution, kind = context.attempt(at, partial(_distribution, field))
        fields[name] = distribution
        types.append(kind)
    return fields, RecordSchema(tuple(fields), tuple(types))


def _distribution(model: GeneratedFieldModel) -> tuple[generator.Distribution, FieldType]:
    match model.distribution:
        case SequenceModel(start=start, step=step, modulo=modulo):
            return generator.SequenceOf(start, step, modulo), FieldType.LONG
        case UniformModel(low=int() as low, high=int() as high):
            return generator.UniformInt(low, high), FieldType.LONG
        case UniformModel(low=low, high=high):
            return generator.UniformDouble(float(low), float(high)), FieldType.DOUBLE
        case NormalModel() as normal:
            return generator.Normal(normal.mean, normal.standard_deviation), FieldType.DOUBLE
        case ChoiceModel() as choice:
            return generator.Choice(choice.values, choice.weights), _CHOICE_TYPES[type(choice.values[0])]
        case EventTimeModel() as time:
            return generator.JitteredTime(time.start, time.step, time.jitter), FieldType.LONG
        case unreachable:
            assert_never(unreachable)
