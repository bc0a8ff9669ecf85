"""What a scenario does to its job while it runs."""

from __future__ import annotations

from pydantic import Field, model_validator

from flowsim.scenario.models.types import DurationNs, Strict, one_of


class StopModel(Strict):
    """Ends the sources, and through them the job, which counts as finished."""

    at: DurationNs = Field(description="Time after the start of the job, on its clock.")
    drain: bool = Field(
        default=False, description="Flushes event time, as if the input had ended: all windows and timers fire."
    )


class CancelModel(Strict):
    """Ends the job where it stands; sinks that write files keep nothing."""

    at: DurationNs = Field(description="Time after the start of the job, on its clock.")


class ActionModel(Strict):
    """One thing done to the running job; exactly one of stop, cancel."""

    stop: StopModel | None = None
    cancel: CancelModel | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> ActionModel:
        one_of(self, ("stop", "cancel"))
        return self
