"""``async:`` of a scenario: calls that are simulated, or that Python makes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from flowsim.scenario.models.functions import needs_fields
from flowsim.scenario.models.sources import FilePath
from flowsim.scenario.models.types import (
    DurationNs,
    ExpressionSource,
    FieldName,
    FieldTypes,
    PythonReference,
    Strict,
    TimeoutMs,
    one_of,
)
from flowsim.scenario.models.windows import Count, PositiveMs

Share = Annotated[float, Field(ge=0, le=1)]
Columns = Annotated[dict[FieldName, ExpressionSource], Field(min_length=1)]
LatencyUnit = Literal["ns", "us", "ms", "s"]

DISTRIBUTIONS = ("uniform", "normal", "lognormal", "exponential", "trace", "each")
RESULTS = ("select", "add", "lookup", "python")


class UniformLatencyModel(Strict):
    """Anything from ``low`` to ``high``, each alike."""

    low: DurationNs
    high: DurationNs

    @model_validator(mode="after")
    def _in_order(self) -> UniformLatencyModel:
        if self.low > self.high:
            raise ValueError("expected low <= high")
        return self


class NormalLatencyModel(Strict):
    """Around a mean, never below 0."""

    mean: DurationNs
    standard_deviation: DurationNs = Field(description="What would be below 0 is drawn again.")


class LognormalLatencyModel(Strict):
    """Half of the calls below the median, few of them many times as long; exactly one of p99, sigma."""

    median: Annotated[DurationNs, Field(ge=1)]
    p99: DurationNs | None = Field(default=None, description="One call in a hundred takes longer.")
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
    """As if calls were answered at a constant rate, whatever their age."""

    mean: DurationNs


class TraceLatencyModel(Strict):
    """Latencies that were measured, one after the other, then from the first again."""

    path: FilePath = Field(
        description="A number a line, or a CSV file; relative to the scenario's folder, outside it only with --allow-path."
    )
    column: FieldName | None = Field(
        default=None, description="Column of a CSV file with a header line; none: the file has one number a line."
    )
    unit: LatencyUnit = Field(default="ms", description="What the numbers count.")


class LatencyModel(Strict):
    """How long calls take; exactly one of uniform, normal, lognormal, exponential, trace, each."""

    uniform: UniformLatencyModel | None = None
    normal: NormalLatencyModel | None = None
    lognormal: LognormalLatencyModel | None = None
    exponential: ExponentialLatencyModel | None = None
    trace: TraceLatencyModel | None = None
    each: ExpressionSource | None = Field(default=None, description="Milliseconds of at least 0, of the record.")

    @property
    def kind(self) -> str:
        """Which distribution it is, a member of ``DISTRIBUTIONS``."""
        return one_of(self, DISTRIBUTIONS)

    @model_validator(mode="after")
    def _one_kind(self) -> LatencyModel:
        one_of(self, DISTRIBUTIONS)
        return self


def _form(value: object) -> str:
    return "distribution" if isinstance(value, dict | LatencyModel) else "duration"


# The form decides which of the two is meant, so that a mistake in one is told without the other.
Latency = Annotated[
    Annotated[DurationNs, Tag("duration")] | Annotated[LatencyModel, Tag("distribution")], Discriminator(_form)
]


class SpikesModel(Strict):
    """Some calls take something else."""

    share: Share = Field(description="Of all calls.")
    latency: Latency = Field(description="What those take instead.")


class SilentModel(Strict):
    """Calls that are never answered; share, when or both."""

    share: Share | None = Field(default=None, description="Of the calls, by chance; none: all.")
    when: ExpressionSource | None = Field(default=None, description="Only for records for which this is true.")

    @model_validator(mode="after")
    def _some(self) -> SilentModel:
        if self.share is None and self.when is None:
            raise ValueError("expected share or when, got neither")
        return self


class FailsModel(Strict):
    """Calls that are answered with an error; at least one of share, when, first_attempts, and all that are there hold."""

    share: Share | None = Field(default=None, description="Of the calls, by chance; none: all.")
    when: ExpressionSource | None = Field(default=None, description="Only for records for which this is true.")
    first_attempts: Count | None = Field(
        default=None, description="Only the first so many calls for a record; needs retry."
    )

    @model_validator(mode="after")
    def _some(self) -> FailsModel:
        if self.share is None and self.when is None and self.first_attempts is None:
            raise ValueError("expected share, when or first_attempts, got none of them")
        return self


class LookupModel(Strict):
    """A table that the calls ask: the record and the columns of the row with its key."""

    csv: FilePath = Field(
        description="A CSV file with a header line, relative to the scenario's folder; outside it only with --allow-path."
    )
    columns: FieldTypes = Field(
        description="The columns to read, with their types; one is the key, the others are added."
    )
    key: ExpressionSource = Field(description="What is looked up, of the record.")
    key_column: FieldName = Field(description="Which of the columns holds it, each value once.")
    missing: Literal["nulls", "drop", "fail"] = Field(
        default="nulls",
        description="Where no row has the key: the fields are null, the record is left out, the call fails.",
    )
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","

    @model_validator(mode="after")
    def _has_key(self) -> LookupModel:
        if self.key_column not in self.columns:
            raise ValueError(f"key_column {self.key_column!r} is none of the columns: {', '.join(self.columns)}")
        if len(self.columns) < 2:
            raise ValueError("expected a column beside the key, which the record gets")
        return self


class TimedOutModel(Strict):
    """What a record gives whose time ran out; exactly one of select, add."""

    select: Columns | None = Field(default=None, description="The result's fields, over the record.")
    add: Columns | None = Field(default=None, description="The record with these fields behind its own.")

    @model_validator(mode="after")
    def _one_form(self) -> TimedOutModel:
        one_of(self, ("select", "add"))
        return self


class FixedRetryModel(Strict):
    """The same pause each time."""

    max_attempts: Count = Field(description="Retries, so one call more in all.")
    delay: PositiveMs


class ExponentialRetryModel(Strict):
    """Longer pauses each time, up to a limit; the last one is shared by all records of a subtask."""

    max_attempts: Count = Field(description="Retries, so one call more in all.")
    initial: PositiveMs
    max: PositiveMs
    multiplier: Annotated[float, Field(gt=0, le=1_000_000)]


class RetryModel(Strict):
    """Which calls are made again, and when; exactly one of fixed, exponential."""

    fixed: FixedRetryModel | None = None
    exponential: ExponentialRetryModel | None = None
    when: ExpressionSource | None = Field(
        default=None, description="After an answer with a result for which this is true, over the fields of the result."
    )
    when_empty: bool = Field(default=False, description="After an answer without results.")
    on_error: bool = Field(default=True, description="After an answer that is an error.")

    @model_validator(mode="after")
    def _one_kind(self) -> RetryModel:
        one_of(self, ("fixed", "exponential"))
        if self.when is None and not self.when_empty and not self.on_error:
            raise ValueError("nothing is tried again: expected when, when_empty or on_error")
        return self


class AsyncModel(Strict):
    """Calls that are answered later, many at a time; exactly one of select, add, lookup, python gives the results."""

    mode: Literal["ordered", "unordered"] = Field(
        description="Results in the order of the records, or as they come, but never past a watermark."
    )
    capacity: Count = Field(default=100, description="How many records and watermarks a subtask holds at most.")
    timeout: TimeoutMs = Field(default=-1, description="For all attempts of a record together.")
    design: Literal["mailbox", "legacy"] = Field(
        default="mailbox", description="As Flink has it, or with the thread that emitted before Flink 1.10."
    )
    latency: Latency | None = Field(default=None, description="How long calls take.")
    spikes: SpikesModel | None = None
    fails: FailsModel | None = Field(default=None, description="Which calls are answered with an error.")
    silent: SilentModel | None = Field(default=None, description="Which calls are never answered.")
    select: Columns | None = Field(default=None, description="The result's fields, over the record.")
    add: Columns | None = Field(
        default=None, description="The record with these fields behind its own; a known name replaces that field."
    )
    lookup: LookupModel | None = Field(default=None, description="The record with columns of a table.")
    python: PythonReference | None = Field(
        default=None, description="An AsyncFunction class of your own; only with --allow-python."
    )
    fields: FieldTypes | None = Field(default=None, description="What its results are, tuples of these.")
    on_timeout: Literal["fail", "drop", "nothing"] | TimedOutModel = Field(
        default="fail",
        description="Fails the job, gives no results, does nothing at all (the record waits for its answer), or gives these.",
    )
    retry: RetryModel | None = None

    @property
    def timeout_ms(self) -> int:
        """In ms, 0 for none."""
        return max(self.timeout, 0)

    @model_validator(mode="after")
    def _consistent(self) -> AsyncModel:
        form = one_of(self, RESULTS)
        needs_fields(form, self.fields)
        self._check_calls(form)
        if self.timeout_ms == 0 and self.on_timeout != "fail":
            raise ValueError("on_timeout needs a timeout")
        if self.retry is not None and self.timeout_ms == 0:
            raise ValueError("retry needs a timeout, which all attempts of a record share")
        if self.retry is not None and self.design == "legacy":
            raise ValueError("the legacy design knows no retry, remove retry or design")
        return self

    def _check_calls(self, form: str) -> None:
        if form != "python" and self.latency is None:
            raise ValueError("expected latency: how long calls take")
        if form == "python":
            told = ("latency", "spikes", "fails", "silent")
            said = [key for key in told if getattr(self, key) is not None]
            said += ["on_timeout"] if self.on_timeout != "fail" else []
            if said:
                raise ValueError(f"a Python function says itself what its calls do, remove {' and '.join(said)}")
        if self.fails is not None and self.fails.first_attempts is not None and self.retry is None:
            raise ValueError("fails.first_attempts needs retry: without it there is one attempt only")
