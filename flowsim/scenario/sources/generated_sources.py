"""``generator``: a source that draws its records from the run's seed."""

from __future__ import annotations

from functools import partial
from typing import Annotated, assert_never

from pydantic import Field, model_validator

from flowsim.connectors import generator
from flowsim.connectors.generator import GeneratorSource
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
        default=None, description="Total number of records; without it the source is endless."
    )
    pace: DurationNs | None = Field(default=None, description="Virtual time between two records of a subtask.")
    fields: Annotated[dict[FieldName, GeneratedFieldModel], Field(min_length=1)] = Field(
        description="The fields of a record, in this order; each with the distribution of its values."
    )


def compile_generator(
    context: CompileContext, path: Path, model: GeneratorModel, parallelism: int
) -> tuple[Source, RecordSchema]:
    """Compiles a source of random records. Raises Failed."""
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
