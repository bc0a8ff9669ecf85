"""Timers of a scenario without Python."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from flowsim.scenario.models.types import DurationMs, ExpressionSource, FieldName, Strict


class AlarmModel(Strict):
    """A timer per key: set by one record, cancelled by another, or else it goes off."""

    when: ExpressionSource = Field(
        default="True", description="A record for which this is true sets the alarm of its key."
    )
    after: DurationMs = Field(description="How long after the record's timestamp, or after its arrival, it goes off.")
    time: Literal["event", "processing"] = Field(default="event", description="What `after` is measured in.")
    cancel: ExpressionSource | None = Field(
        default=None, description="A record for which this is true cancels the alarm; it is asked before `when`."
    )
    renew: bool = Field(
        default=True, description="A record that sets an alarm which is set already moves it; else the first one stays."
    )
    emit: Annotated[dict[FieldName, ExpressionSource], Field(min_length=1)] = Field(
        description="The output's fields, over the record that set the alarm; alarm_ms, its time, comes behind them."
    )
