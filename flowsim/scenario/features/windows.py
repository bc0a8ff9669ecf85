"""Windows: assigner, lateness, trigger and evictor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, assert_never, get_args

from pydantic import Field, model_validator

from flowsim.datastream import window as api
from flowsim.datastream.common.time import Duration
from flowsim.limits import to_raise
from flowsim.operators.windowing.triggers.trigger import AnyTrigger as Trigger
from flowsim.quantities import count_text
from flowsim.scenario.context import CompileContext
from flowsim.scenario.features.triggers import (
    EvictorModel,
    TriggerModel,
    WindowedRecords,
    compile_evictor,
    compile_trigger,
)
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.types import (
    Count,
    DurationMs,
    ExpressionSource,
    Name,
    PositiveMs,
    SignedDurationMs,
    Strict,
    chosen_of,
    exactly_one_of,
    one_of,
)
from flowsim.scenario.yaml.flink_names import FlinkNames
from flowsim.scenario.yaml.positions import Path


class SlidingModel(Strict):
    """Windows of length ``size`` that begin every ``slide``."""

    size: PositiveMs = Field(description="Length of a window.")
    slide: PositiveMs = Field(description="Time between the starts of two windows.")


class GapModel(Strict):
    """The gap of a session, computed from each record."""

    gap: Annotated[ExpressionSource, FlinkNames("with_dynamic_gap", "SessionWindowTimeGapExtractor")] = Field(
        description="Computed from a record: how many ms after it its session ends, above 0."
    )


class CountWindowModel(Strict):
    """Windows by count: each window has the last ``size`` records of a key, with one window every ``slide`` records."""

    size: Count = Field(description="A window contains this number of last records.")
    slide: Count = Field(description="A window fires after this number of records.")


AssignerKind = Literal["tumbling", "sliding", "session", "global_window", "count"]
ASSIGNERS: tuple[AssignerKind, ...] = get_args(AssignerKind)


class PlainWindowModel(Strict, json_schema_extra=exactly_one_of(*ASSIGNERS)):
    """The windows of a record, and when they fire; exactly one of tumbling, sliding, session, global_window, count."""

    tumbling: Annotated[PositiveMs | None, FlinkNames("TumblingEventTimeWindows", "TumblingProcessingTimeWindows")] = (
        Field(default=None, description="Size of the windows, which do not overlap.")
    )
    sliding: Annotated[SlidingModel | None, FlinkNames("SlidingEventTimeWindows", "SlidingProcessingTimeWindows")] = (
        Field(default=None, description="Windows of one length that overlap: a record is in several windows.")
    )
    session: Annotated[
        PositiveMs | GapModel | None, FlinkNames("EventTimeSessionWindows", "ProcessingTimeSessionWindows", "with_gap")
    ] = Field(default=None, description="One window per period of activity; a gap of this length ends it.")
    global_window: Annotated[Literal[True] | None, FlinkNames(("GlobalWindows", "true"))] = Field(
        default=None, description="One window for all records of a key; it needs a `trigger`."
    )
    count: Annotated[Count | CountWindowModel | None, FlinkNames("count_window", "count_window_all")] = Field(
        default=None,
        description="Windows with this number of records of a key; or sliding windows over the last records.",
    )
    offset: SignedDurationMs = Field(
        default=0, description="Shifts tumbling and sliding windows; shorter than the size or the slide."
    )
    stagger: Annotated[Literal["aligned", "random", "natural"], FlinkNames("WindowStagger")] = Field(
        default="aligned",
        description="Shifts tumbling windows once per subtask: at random, or to the arrival of its first record.",
    )
    time: Literal["event", "processing"] = Field(
        default="event", description="The time of tumbling, sliding and session windows: event time or processing time."
    )
    trigger: Annotated[
        TriggerModel | None,
        FlinkNames(
            ("EventTimeTrigger", "event_time"), ("ProcessingTimeTrigger", "processing_time"), ("NeverTrigger", "never")
        ),
    ] = Field(default=None, description="When the windows fire. Without it the default trigger of the assigner.")
    evictor: EvictorModel | None = Field(default=None, description="Removes records from a window when it fires.")
    allowed_lateness: DurationMs = Field(
        default=0,
        description="How long after its end a window still accepts records, and fires for each of them.",
    )

    @property
    def assigner(self) -> str:
        """The assigner that is set, a member of ``ASSIGNERS``."""
        return one_of(self, ASSIGNERS)

    @property
    def has_bounds(self) -> bool:
        """True if the windows have a start and end time."""
        return self.assigner in ("tumbling", "sliding", "session")

    @model_validator(mode="after")
    def _consistent(self) -> PlainWindowModel:
        kind = one_of(self, ASSIGNERS)
        limit = self.tumbling or (self.sliding.slide if self.sliding is not None else None)
        if self.offset and limit is None:
            raise ValueError(f"offset is for tumbling and sliding windows, this one is {kind}")
        if limit is not None and abs(self.offset) >= limit:
            raise ValueError("expected an offset shorter than the " + ("window" if kind == "tumbling" else "slide"))
        if self.stagger != "aligned" and kind != "tumbling":
            raise ValueError(f"stagger is for tumbling windows, this one is {kind}")
        if self.time == "processing" and not self.has_bounds:
            raise ValueError(f"time is for tumbling, sliding and session windows, this one is {kind}")
        if kind == "global_window" and self.trigger is None:
            raise ValueError("global_window has no trigger by default, add a trigger")
        if kind == "count" and (self.trigger is not None or self.evictor is not None):
            raise ValueError("count has its own trigger and evictor, use global_window to choose others")
        if self.allowed_lateness and (self.time == "processing" or not self.has_bounds):
            raise ValueError("allowed_lateness is for windows of event time")
        return self


class WindowModel(PlainWindowModel):
    """A window of an operator. Late records can be kept in a side output."""

    late_output: Annotated[Name | None, FlinkNames("side_output_late_data")] = Field(
        default=None,
        description="A side output for late records: read it as `OPERATOR.NAME`. Without it, late records are only "
        "counted.",
    )

    def side_output_names(self) -> list[str]:
        """Returns the name of the side output for late records."""
        return [] if self.late_output is None else [self.late_output]

    @model_validator(mode="after")
    def _late_rows_exist(self) -> WindowModel:
        if self.late_output is not None and (self.time == "processing" or not self.has_bounds):
            raise ValueError("late_output is only for event-time windows, other windows have no late records")
        return self


class WindowParts:
    """The assigner, trigger and evictor of a block, for records of one schema. Raises Failed."""

    def __init__(self, context: CompileContext, path: Path, window: PlainWindowModel, schema: RecordSchema) -> None:
        records = WindowedRecords(context, schema)
        self.assigner = _assigner(records, path, window)
        self.trigger: Trigger | None = None
        self.evictor: api.Evictor | None = None
        if isinstance(window.count, CountWindowModel):
            # As Flink's countWindow: the global window with a count trigger.
            self.trigger = api.CountTrigger.of(window.count.slide)
            self.evictor = api.CountEvictor.of(window.count.size)
        elif window.count is not None:
            self.trigger = api.PurgingTrigger.of(api.CountTrigger.of(window.count))
        elif window.trigger is not None:
            self.trigger = compile_trigger(records, (*path, "trigger"), window.trigger)
        if window.evictor is not None:
            self.evictor = compile_evictor(records, (*path, "evictor"), window.evictor)


def _assigner(records: WindowedRecords, path: Path, window: PlainWindowModel) -> api.WindowAssigner[Any, Any]:
    by_event_time = window.time == "event"
    offset = Duration.of_millis(window.offset)
    kind, value = chosen_of(window, ASSIGNERS)
    match kind:
        case "tumbling":
            tumbling = api.TumblingEventTimeWindows if by_event_time else api.TumblingProcessingTimeWindows
            return tumbling.of(Duration.of_millis(value), offset, api.WindowStagger[window.stagger.upper()])
        case "sliding":
            windows, most = -(-value.size // value.slide), records.context.limits.windows_per_record
            if windows > most:
                raise records.context.fail(
                    (*path, "sliding"),
                    f"expected at most {count_text(most, 'window')} per record {to_raise('windows_per_record')}, got {windows} "
                    "(size / slide): increase slide or decrease size",
                )
            sliding = api.SlidingEventTimeWindows if by_event_time else api.SlidingProcessingTimeWindows
            return sliding.of(Duration.of_millis(value.size), Duration.of_millis(value.slide), offset)
        case "session":
            session = api.EventTimeSessionWindows if by_event_time else api.ProcessingTimeSessionWindows
            if isinstance(value, GapModel):
                return session.with_dynamic_gap(_gap(records, (*path, "session", "gap"), value))
            return session.with_gap(Duration.of_millis(value))
        case "global_window" | "count":
            return api.GlobalWindows.create()
    assert_never(kind)


def _gap(records: WindowedRecords, path: Path, model: GapModel) -> Gap:
    gap = records.number(path, model.gap)
    if not (gap.type.is_integer or gap.type is FieldType.ANY):
        raise records.context.fail(path, f"expected milliseconds as an integer, got {gap.type.value}")
    return Gap(gap.function)


class Gap:
    """A SessionWindowTimeGapExtractor: the gap of a record's session in ms."""

    __slots__ = ("extract",)

    def __init__(self, gap: Callable[[object], int]) -> None:
        self.extract = gap
