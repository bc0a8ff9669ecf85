"""The latency of simulated calls of ``async``."""

from __future__ import annotations

from typing import Annotated, Literal, assert_never

from pydantic import Discriminator, Field, Tag, model_validator

from flowsim.connectors.lookup_table import read_latency_trace
from flowsim.operators.async_wait import latency as latencies
from flowsim.scenario.context import CompileContext
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.types import (
    DurationNs,
    ExpressionSource,
    FieldName,
    FilePath,
    PositiveNs,
    Strict,
    chosen_of,
    exactly_one_of,
    one_of,
)
from flowsim.scenario.yaml.positions import Path

Share = Annotated[float, Field(ge=0, le=1)]
LatencyUnit = Literal["ns", "us", "ms", "s"]

DISTRIBUTIONS = ("uniform", "normal", "lognormal", "exponential", "trace", "each")
A_FUNCTION = "an asynchronous function"
"""The name of an ``async`` block in messages about its expressions."""


class UniformLatencyModel(Strict):
    """A latency that is uniform from ``low`` to ``high``."""

    low: DurationNs = Field(description="The smallest latency.")
    high: DurationNs = Field(description="The largest latency; both limits are included.")

    @model_validator(mode="after")
    def _in_order(self) -> UniformLatencyModel:
        if self.low > self.high:
            raise ValueError("expected low <= high")
        return self


class NormalLatencyModel(Strict):
    """A latency that is normal around a mean, never below 0."""

    mean: DurationNs = Field(description="Mean of the distribution, before values below 0 are drawn again.")
    standard_deviation: DurationNs = Field(
        description="The standard deviation; values below 0 are drawn again, which raises a mean near 0."
    )


class LognormalLatencyModel(Strict, json_schema_extra=exactly_one_of("p99", "sigma")):
    """Log-normal: half of the calls are below the median, a few take many times as long; exactly one of p99, sigma."""

    median: PositiveNs = Field(description="Half of the calls take less time.")
    p99: DurationNs | None = Field(
        default=None, description="One call in a hundred takes more time; not below the median."
    )
    sigma: Annotated[float, Field(ge=0, le=10)] | None = Field(
        default=None, description="Standard deviation of the latency's natural logarithm."
    )

    @model_validator(mode="after")
    def _one_width(self) -> LognormalLatencyModel:
        one_of(self, ("p99", "sigma"))
        if self.p99 is not None and self.p99 < self.median:
            raise ValueError("expected p99 >= median")
        return self


class ExponentialLatencyModel(Strict):
    """An exponential latency, as for a constant rate of answers."""

    mean: DurationNs = Field(description="Mean of all latencies.")


class TraceLatencyModel(Strict):
    """Measured latencies in order, repeated from the first."""

    path: FilePath = Field(
        description="A file with one number per line, or a CSV file; relative to the scenario's folder, outside it "
        "only with `--allow-path`."
    )
    column: FieldName | None = Field(
        default=None,
        description="Column of a CSV file with a header line; without it the file has one number per line.",
    )
    unit: LatencyUnit = Field(default="ms", description="Unit of the numbers.")


class LatencyModel(Strict, json_schema_extra=exactly_one_of(*DISTRIBUTIONS)):
    """The latency of calls; exactly one of uniform, normal, lognormal, exponential, trace, each."""

    uniform: UniformLatencyModel | None = Field(default=None, description="Uniformly distributed between two limits.")
    normal: NormalLatencyModel | None = Field(default=None, description="Normally distributed, never below 0.")
    lognormal: LognormalLatencyModel | None = Field(
        default=None, description="Log-normally distributed, with a long tail, as in many real services."
    )
    exponential: ExponentialLatencyModel | None = Field(
        default=None,
        description="Exponentially distributed, as if calls completed at a constant rate: `-mean * ln(u)`.",
    )
    trace: TraceLatencyModel | None = Field(default=None, description="Measured latencies from a file.")
    each: ExpressionSource | None = Field(
        default=None, description="Milliseconds of at least 0, computed from the record."
    )

    @property
    def distribution(self) -> Distribution:
        """The distribution that is set."""
        value: Distribution = chosen_of(self, DISTRIBUTIONS)[1]
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> LatencyModel:
        one_of(self, DISTRIBUTIONS)
        return self


Distribution = (
    UniformLatencyModel
    | NormalLatencyModel
    | LognormalLatencyModel
    | ExponentialLatencyModel
    | TraceLatencyModel
    | ExpressionSource
)


def _form(value: object) -> str:
    return "distribution" if isinstance(value, dict | LatencyModel) else "duration"


# The form selects one of the two types, so that errors are reported only for that type.
Latency = Annotated[
    Annotated[DurationNs, Tag("duration")] | Annotated[LatencyModel, Tag("distribution")], Discriminator(_form)
]


class SpikesModel(Strict):
    """Gives some calls another latency."""

    share: Share = Field(description="Share of all calls.")
    latency: Latency = Field(description="Latency of these calls, instead of `latency`.")


def compile_latency(
    context: CompileContext, path: Path, model: int | LatencyModel, schema: RecordSchema
) -> latencies.Latency:
    """Compiles the ``latency`` at ``path`` for records of a schema. Raises Failed."""
    if isinstance(model, int):
        return latencies.FixedLatency(model)
    match model.distribution:
        case UniformLatencyModel() as uniform:
            return latencies.UniformLatency(uniform.low, uniform.high)
        case NormalLatencyModel() as normal:
            return latencies.NormalLatency(normal.mean, normal.standard_deviation)
        case LognormalLatencyModel() as lognormal:
            if lognormal.p99 is not None:
                return latencies.LognormalLatency.of_percentiles(lognormal.median, lognormal.p99)
            return latencies.LognormalLatency(lognormal.median, lognormal.sigma or 0.0)
        case ExponentialLatencyModel() as exponential:
            return latencies.ExponentialLatency(exponential.mean)
        case TraceLatencyModel() as trace:
            return _trace(context, (*path, "trace"), trace)
        case str() as source:
            return _of_record(context, (*path, "each"), source, schema)
        case unreachable:
            assert_never(unreachable)


def _trace(context: CompileContext, path: Path, model: TraceLatencyModel) -> latencies.Latency:
    at = (*path, "path")
    file = context.input_file(at, model.path)
    return context.attempt(at, lambda: read_latency_trace(file, model.column, model.unit))


def _of_record(context: CompileContext, path: Path, source: str, schema: RecordSchema) -> latencies.Latency:
    ms = context.record_expression(path, source, schema, A_FUNCTION)
    if not (ms.type.is_numeric or ms.type is FieldType.ANY):
        raise context.fail(path, f"expected milliseconds as a number, got {ms.type.value}")
    return latencies.RecordLatency(ms.function)


def compile_spikes(
    context: CompileContext, path: Path, model: SpikesModel, usual: latencies.Latency, schema: RecordSchema
) -> latencies.Latency:
    """Adds the spikes at ``path`` to the usual latency. Raises Failed."""
    spike = compile_latency(context, (*path, "latency"), model.latency, schema)
    return latencies.SpikyLatency(usual, model.share, spike)
