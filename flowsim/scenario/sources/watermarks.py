"""``watermarks`` of a source or an operator: timestamps, watermark generator, idleness, alignment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field, model_validator

from flowsim.datastream.common.time import Duration
from flowsim.datastream.common.watermark_strategy import WatermarkGenerator, WatermarkStrategy
from flowsim.datastream.output_tag import OutputTag
from flowsim.scenario.context import CompileContext, CompiledStream
from flowsim.scenario.features.inputs import Incoming
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.types import DurationMs, ExpressionSource, Name, PositiveMs, PythonReference, Strict
from flowsim.scenario.yaml.flink_names import FlinkNames
from flowsim.scenario.yaml.positions import Path


class AlignmentModel(Strict):
    """A source whose watermark is too far ahead of its group waits for the other sources."""

    group: Annotated[Name, FlinkNames("watermark_group")] = Field(
        description="Name of the group: the sources of one group wait for each other."
    )
    max_drift: Annotated[DurationMs, FlinkNames("max_allowed_watermark_drift")] = Field(
        description="How far a source may be ahead of the slowest source."
    )
    interval: Annotated[PositiveMs, FlinkNames("update_interval")] = Field(
        default=1000, description="Interval at which the sources report their watermark."
    )


class MissingOutputModel(Strict):
    """Records without a timestamp go to a side output."""

    output: Name = Field(description="Name of the side output: read it as `SOURCE.NAME` or `OPERATOR.NAME`.")


class WatermarksModel(Strict):
    """Timestamps and watermarks: the watermark is the highest timestamp so far, minus the bound, minus 1 ms."""

    timestamp: Annotated[ExpressionSource, FlinkNames("with_timestamp_assigner")] = Field(
        description="Event time of a record in ms, as an integer."
    )
    missing_timestamp: Literal["fail", "drop"] | MissingOutputModel = Field(
        default="fail",
        description="What happens to a record whose timestamp is null: the job fails, the record is dropped and "
        "counted, or it goes to a side output without a timestamp.",
    )
    max_out_of_orderness: Annotated[
        DurationMs, FlinkNames("for_bounded_out_of_orderness", ("for_monotonous_timestamps", "0"))
    ] = Field(
        default=0,
        description="The bound: how far a record may be behind the highest timestamp so far without being late.",
    )
    emit: Annotated[Literal["periodic", "every_record", "never"], FlinkNames(("no_watermarks", "never"))] = Field(
        default="periodic",
        description="`periodic`: every `auto_watermark_interval`, as in Flink; `every_record`: after each record; "
        "`never`: only timestamps are assigned.",
    )
    punctuated: Annotated[ExpressionSource | None, FlinkNames("on_event")] = Field(
        default=None,
        description="Watermarks only after records for which this is true: their timestamp, minus the bound, minus 1 "
        "ms.",
    )
    generator: Annotated[PythonReference | None, FlinkNames("for_generator", "WatermarkGenerator")] = Field(
        default=None, description="A `WatermarkGenerator` class of your own, one instance per subtask."
    )
    idle_after: Annotated[DurationMs | None, FlinkNames("with_idleness", "table.exec.source.idle-timeout")] = Field(
        default=None, description="Declares a subtask idle after this long without records."
    )
    alignment: Annotated[AlignmentModel | None, FlinkNames("with_watermark_alignment")] = Field(
        default=None, description="The source waits for sources with lower watermarks; only for a source."
    )

    def side_output_names(self) -> list[str]:
        """That of records without a timestamp."""
        return [self.missing_timestamp.output] if isinstance(self.missing_timestamp, MissingOutputModel) else []

    @model_validator(mode="after")
    def _one_way(self) -> WatermarksModel:
        if sum((self.punctuated is not None, self.generator is not None, self.emit != "periodic")) > 1:
            raise ValueError("expected one of emit, punctuated and generator")
        return self


def check_watermarks(model: WatermarksModel, has_key: bool) -> None:
    """Raises ValueError for keys that only sources support, and for unused keys."""
    if model.alignment is not None:
        raise ValueError(
            "alignment pauses sources, an operator cannot be paused: move it to the watermarks of a source"
        )
    if has_key:
        raise ValueError("watermarks takes no key_by")


def compile_watermarks(
    context: CompileContext, path: Path, model: WatermarksModel, incoming: Incoming
) -> CompiledStream:
    """Compiles ``watermarks``: returns the same records with new timestamps and watermarks; raises Failed."""
    strategy = watermark_strategy(context, path, model, incoming.schema)
    sides = dict.fromkeys(model.side_output_names(), incoming.schema)
    return CompiledStream(incoming.stream.assign_timestamps_and_watermarks(strategy), incoming.schema, sides)


def watermark_strategy(
    context: CompileContext, path: Path, model: WatermarksModel, schema: RecordSchema
) -> WatermarkStrategy:
    """Returns the strategy that a ``watermarks:`` block describes; raises Failed."""
    at = (*path, "timestamp")
    timestamp = context.expression(at, model.timestamp, schema, takes_timestamp=True, null_if_missing=True)
    if not (timestamp.type.is_integer or timestamp.type is FieldType.ANY):
        raise context.fail(at, f"expected milliseconds as an integer, got {timestamp.type.value}")
    strategy = _generator_of(context, path, model, schema)
    if model.idle_after is not None:
        strategy = strategy.with_idleness(Duration.of_millis(model.idle_after))
    if model.alignment is not None:
        strategy = _aligned(strategy, model.alignment)
    missing = model.missing_timestamp
    policy = OutputTag(missing.output) if isinstance(missing, MissingOutputModel) else missing
    return strategy.with_missing_timestamps(policy).with_timestamp_assigner(timestamp.function)


def _generator_of(
    context: CompileContext, path: Path, model: WatermarksModel, schema: RecordSchema
) -> WatermarkStrategy:
    """Returns the watermark generator, without idleness and alignment."""
    bound = Duration.of_millis(model.max_out_of_orderness)
    if model.generator is not None:
        at = (*path, "generator")
        made = context.python(at, model.generator)
        if not (isinstance(made, type) and issubclass(made, WatermarkGenerator)):
            raise context.fail(at, f"expected a WatermarkGenerator class, got {model.generator}")
        return WatermarkStrategy.for_generator(made)
    if model.punctuated is not None:
        at = (*path, "punctuated")
        marks = context.condition(at, context.expression(at, model.punctuated, schema, takes_timestamp=True))
        return WatermarkStrategy.for_punctuated(PunctuatedByExpression(marks.function, model.max_out_of_orderness))
    if model.emit == "never":
        return WatermarkStrategy.no_watermarks()
    if model.emit == "every_record":
        return WatermarkStrategy.for_each_record(bound)
    return WatermarkStrategy.for_bounded_out_of_orderness(bound)


def _aligned(strategy: WatermarkStrategy, model: AlignmentModel) -> WatermarkStrategy:
    drift, interval = Duration.of_millis(model.max_drift), Duration.of_millis(model.interval)
    return strategy.with_watermark_alignment(model.group, drift, interval)


class PunctuatedByExpression:
    """Emits a watermark after a record for which ``marks`` is true.

    The watermark is the record's timestamp, minus the bound, minus 1 ms (rule 8.3).
    """

    __slots__ = ("_marks", "_delay_ms")

    def __init__(self, marks: Callable[[object, int], object], bound_ms: int) -> None:
        self._marks = marks
        self._delay_ms = bound_ms + 1

    def __call__(self, value: object, timestamp: int) -> int | None:
        return timestamp - self._delay_ms if self._marks(value, timestamp) else None
