"""``actions``: actions on the running job of a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from pydantic import Field, model_validator

from flowsim.cluster.run_actions import (
    CancelJob,
    RunAction,
    StopJob,
    StopWithSavepoint,
    TriggerCheckpoint,
    TriggerSavepoint,
)
from flowsim.scenario.context import CompileContext
from flowsim.scenario.features.checkpointing import checkpoint_folder
from flowsim.scenario.types import DurationNs, FilePath, Strict, chosen_of, exactly_one_of, one_of
from flowsim.scenario.yaml.positions import Path

ACTION_KINDS = ("stop", "cancel", "checkpoint", "savepoint")


class StopSavepointModel(Strict):
    """The savepoint of a stop."""

    directory: FilePath | None = Field(
        default=None, description="Where `savepoint-N` is written. Without it, where the checkpoints are."
    )


class StopModel(Strict):
    """Ends the sources, and so the job; the job counts as finished."""

    at: DurationNs = Field(description="Time after the start of the job, on its clock.")
    drain: bool = Field(
        default=False,
        description="Flushes event time, as at the end of the input: all windows and event-time timers fire.",
    )
    savepoint: StopSavepointModel | None = Field(
        default=None,
        description="Takes a savepoint before the job ends, with which another run can go on; `{}`: where the "
        "checkpoints are.",
    )


class CancelModel(Strict):
    """Ends the job at once. Sinks that write files keep no results."""

    at: DurationNs = Field(description="Time after the start of the job, on its clock.")


class CheckpointModel(Strict):
    """Triggers a checkpoint, beside the periodic ones."""

    at: DurationNs = Field(description="Time after the start of the job, on its clock.")


class SavepointModel(Strict):
    """Triggers a savepoint; the job goes on."""

    at: DurationNs = Field(description="Time after the start of the job, on its clock.")
    directory: FilePath | None = Field(
        default=None, description="Where `savepoint-N` is written. Without it, where the checkpoints are."
    )


AnyAction = StopModel | CancelModel | CheckpointModel | SavepointModel


class ActionModel(Strict, json_schema_extra=exactly_one_of(*ACTION_KINDS)):
    """One action on the running job; exactly one of stop, cancel, checkpoint, savepoint."""

    stop: StopModel | None = Field(
        default=None, description="Ends the sources and then the job, whose status is `finished`."
    )
    cancel: CancelModel | None = Field(
        default=None, description="Ends the job immediately; its status is `canceled`, and file sinks keep nothing."
    )
    checkpoint: CheckpointModel | None = Field(
        default=None, description="Triggers a checkpoint, beside the periodic ones."
    )
    savepoint: SavepointModel | None = Field(default=None, description="Triggers a savepoint; the job goes on.")

    @property
    def ends_the_job(self) -> bool:
        return self.stop is not None or self.cancel is not None

    @property
    def action(self) -> AnyAction:
        """The action that is set."""
        value: AnyAction
        _, value = chosen_of(self, ACTION_KINDS)
        return value

    @model_validator(mode="before")
    @classmethod
    def _no_snapshot(cls, data: object) -> object:
        if isinstance(data, Mapping) and "snapshot" in data:
            raise ValueError(
                "there is no action snapshot any more: use checkpoint: {at: ...}, and show what an operator stored with "
                "'flowsim checkpoints DIR --operator NAME --entries 10'"
            )
        return data

    @model_validator(mode="after")
    def _one_kind(self) -> ActionModel:
        one_of(self, ACTION_KINDS)
        return self


def compile_actions(context: CompileContext, models: Sequence[ActionModel]) -> tuple[RunAction, ...]:
    """Compiles the actions. Raises Failed."""
    actions: list[RunAction] = []
    for index, model in enumerate(models):
        match model.action:
            case StopModel(savepoint=StopSavepointModel() as savepoint) as stop:
                path: Path = ("actions", index, "stop", "savepoint", "directory")
                folder = checkpoint_folder(context, path, savepoint.directory)
                actions.append(StopWithSavepoint(stop.at, stop.drain, folder))
            case StopModel() as stop:
                actions.append(StopJob(stop.at, stop.drain))
            case CancelModel() as cancel:
                actions.append(CancelJob(cancel.at))
            case CheckpointModel() as checkpoint:
                actions.append(TriggerCheckpoint(checkpoint.at))
            case SavepointModel() as savepoint:
                path = ("actions", index, "savepoint", "directory")
                actions.append(TriggerSavepoint(savepoint.at, checkpoint_folder(context, path, savepoint.directory)))
            case unreachable:
                assert_never(unreachable)
    return tuple(actions)
