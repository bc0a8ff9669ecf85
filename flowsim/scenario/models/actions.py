"""What a scenario does to its job while it runs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from flowsim.scenario.models.types import DurationNs, Name, Strict, one_of


class StopModel(Strict):
    """Ends the sources, and through them the job, which counts as finished."""

    at: DurationNs = Field(description="Time after the start of the job, on its clock.")
    drain: bool = Field(
        default=False, description="Flushes event time, as if the input had ended: all windows and timers fire."
    )


class CancelModel(Strict):
    """Ends the job where it stands; sinks that write files keep nothing."""

    at: DurationNs = Field(description="Time after the start of the job, on its clock.")


class SnapshotModel(Strict):
    """Asks the operators of a task for their state, as a checkpoint would; nothing is stored."""

    at: DurationNs = Field(description="Time after the start of the job, on its clock.")
    task: Name = Field(description="A source, operator or sink: all operators chained to it are asked too.")
    subtask: Annotated[int, Field(ge=0, le=32767)] | None = Field(
        default=None, description="One subtask, else every one."
    )


class ActionModel(Strict):
    """One thing done to the running job; exactly one of stop, cancel, snapshot."""

    stop: StopModel | None = None
    cancel: CancelModel | None = None
    snapshot: SnapshotModel | None = None

    @property
    def ends_the_job(self) -> bool:
        return self.snapshot is None

    @model_validator(mode="after")
    def _one_kind(self) -> ActionModel:
        one_of(self, ("stop", "cancel", "snapshot"))
        return self
