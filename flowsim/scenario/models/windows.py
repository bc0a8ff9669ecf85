"""Windows of a scenario: assigner, trigger, evictor, lateness."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from flowsim.scenario.models.types import (
    DurationMs,
    ExpressionSource,
    Name,
    PythonReference,
    SignedDurationMs,
    Strict,
    one_of,
)

PositiveMs = Annotated[DurationMs, Field(ge=1)]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]


class SlidingModel(Strict):
    """Windows that begin every ``slide`` and are ``size`` long."""

    size: PositiveMs
    slide: PositiveMs


class GapModel(Strict):
    """The gap of a session, told by each record."""

    gap: ExpressionSource = Field(description="Milliseconds above 0, of a record.")


class CountWindowModel(Strict):
    """Windows of records instead of time: the last ``size`` records of a key, every ``slide`` records."""

    size: Count
    slide: Count


class DeltaModel(Strict):
    """How far a record is away from another: the difference of one expression over both."""

    of: ExpressionSource = Field(description="A number; the distance is the later record's minus the earlier's.")
    threshold: float | int


class TimeoutTriggerModel(Strict):
    """Another trigger, which also fires so long after a record came, by the clock."""

    of: TriggerModel
    after: PositiveMs
    reset_on_record: bool = Field(default=False, description="Every record starts the time anew, not only the first.")
    clear_on_timeout: bool = Field(default=True, description="Firing by time-out also clears the other trigger.")


class TriggerChoiceModel(Strict):
    """A trigger with parameters; exactly one of them."""

    count: Count | None = Field(default=None, description="Fires at every so many records; they stay.")
    continuous_event_time: PositiveMs | None = Field(default=None, description="Fires every so often in event time.")
    continuous_processing_time: PositiveMs | None = Field(
        default=None, description="Fires every so often by the clock."
    )
    delta: DeltaModel | None = Field(
        default=None, description="Fires when a record is farther away than the threshold."
    )
    purging: TriggerModel | None = Field(
        default=None, description="Another trigger; the window is emptied as it fires."
    )
    timeout: TimeoutTriggerModel | None = None
    python: PythonReference | None = Field(default=None, description="A Trigger class of your own.")

    @model_validator(mode="after")
    def _one_kind(self) -> TriggerChoiceModel:
        one_of(self, TRIGGER_KINDS)
        return self


TRIGGER_KINDS = (
    "count",
    "continuous_event_time",
    "continuous_processing_time",
    "delta",
    "purging",
    "timeout",
    "python",
)
NamedTrigger = Literal["event_time", "processing_time", "never", "end_of_stream"]
TriggerModel = NamedTrigger | TriggerChoiceModel


class EvictorModel(Strict):
    """Takes records out of a window as it fires; exactly one of count, time, delta, python."""

    count: Count | None = Field(default=None, description="Keeps the last so many records.")
    time: DurationMs | None = Field(default=None, description="Keeps what is younger than the youngest less this.")
    delta: DeltaModel | None = Field(default=None, description="Keeps what is nearer to the last than the threshold.")
    python: PythonReference | None = Field(default=None, description="An Evictor class of your own.")
    after: bool = Field(default=False, description="After the window function instead of before.")

    @model_validator(mode="after")
    def _one_kind(self) -> EvictorModel:
        one_of(self, ("count", "time", "delta", "python"))
        if self.python is not None and self.after:
            raise ValueError("an evictor of your own decides itself what it does before and after, remove after")
        return self


ASSIGNERS = ("tumbling", "sliding", "session", "global_window", "count")


class PlainWindowModel(Strict):
    """Which windows a record belongs to, and when they fire; exactly one of tumbling, sliding, session, global_window, count."""

    tumbling: PositiveMs | None = Field(default=None, description="Size of windows that stand end to end.")
    sliding: SlidingModel | None = None
    session: PositiveMs | GapModel | None = Field(
        default=None, description="The gap that ends a session, or an expression for it."
    )
    global_window: Literal[True] | None = Field(default=None, description="One window for all; needs a trigger.")
    count: Count | CountWindowModel | None = Field(
        default=None, description="Windows of so many records of a key; or of the last so many, every so many."
    )
    offset: SignedDurationMs = Field(default=0, description="Shifts tumbling and sliding windows.")
    stagger: Literal["aligned", "random", "natural"] = Field(
        default="aligned",
        description="Shifts tumbling windows per subtask: by chance, or to the first record's arrival.",
    )
    time: Literal["event", "processing"] = Field(
        default="event", description="What tumbling, sliding and session go by."
    )
    trigger: TriggerModel | None = Field(default=None, description="Else the assigner's own.")
    evictor: EvictorModel | None = None
    allowed_lateness: DurationMs = 0

    @property
    def assigner(self) -> str:
        """Which assigner it is, a member of ``ASSIGNERS``."""
        return one_of(self, ASSIGNERS)

    @property
    def has_bounds(self) -> bool:
        """Whether its windows begin and end at a time."""
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
            raise ValueError("global_window never fires by itself, give it a trigger")
        if kind == "count" and (self.trigger is not None or self.evictor is not None):
            raise ValueError("count brings its own trigger and evictor, use global_window to choose them")
        if self.allowed_lateness and (self.time == "processing" or not self.has_bounds):
            raise ValueError("allowed_lateness is for windows of event time")
        return self


class WindowModel(PlainWindowModel):
    """A window of an operator; late rows can be kept."""

    late_output: Name | None = Field(
        default=None, description="Name of a side output for the rows that come too late: read it as OPERATOR.NAME."
    )

    @model_validator(mode="after")
    def _late_rows_exist(self) -> WindowModel:
        if self.late_output is not None and (self.time == "processing" or not self.has_bounds):
            raise ValueError("late_output is for windows of event time, nothing comes late elsewhere")
        return self
