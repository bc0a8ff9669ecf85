"""``actions``: actions on the running job of a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, assert_never

from pydantic import Field, model_validator

from flowsim.cluster.run_actions import (
    CancelJob,
    RunAction,
    SnapshotTask,
    StopJob,
    StopWithSavepoint,
    TriggerCheckpoint,
    TriggerSavepoint,
)
from flowsim.errors import did_you_mean
from flowsim.scenario.context import CompileContext
from flowsim.scenario.features.checkpointing import checkpoint_folder
from flowsim.scenario.types import DurationNs, FilePath, Name, Strict, chosen_of, exactly_one_of, one_of
from flowsim.scenario.yaml.positions import Path

ACTION_KINDS = ("stop", "cancel", "checkpoint", "savepoint", "snapshot")


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
        description="Advances event time to its end, as at the end of input: all windows and timers fire.",
    )
    savepoint: StopSavepointModel | None = Field(
        default=None, description="Takes a savepoint first, with which another run can go on: `{}` or its directory."
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


class SnapshotModel(Strict):
    """Requests the state of a task's operators, as a checkpoint does; nothing is stored."""

    at: DurationNs = Field(description="Time after the start of the job, on its clock.")
    task: Name = Field(description="A source, operator or sink; the snapshot includes all operators in its chain.")
    subtask: Annotated[int, Field(ge=0, le=32767)] | None = Field(
        default=None, description="Index of one subtask; without it all subtasks."
    )


AnyAction = StopModel | CancelModel | CheckpointModel | SavepointModel | SnapshotModel


class ActionModel(Strict, json_schema_extra=exactly_one_of(*ACTION_KINDS)):
    """One action on the running job; exactly one of stop, cancel, checkpoint, savepoint, snapshot."""

    stop: StopModel | None = Field(
        default=None, description="Ends the sources and then the job, whose status is `finished`."
    )
    cancel: CancelModel | None = Field(default=None, description="Ends the job immediately; its status is `canceled`.")
    checkpoint: CheckpointModel | None = Field(default=None, description="Triggers a checkpoint.")
    savepoint: SavepointModel | None = Field(default=None, description="Triggers a savepoint; the job goes on.")
    snapshot: SnapshotModel | None = Field(default=None, description="Requests the state of the operators of one task.")

    @property
    def ends_the_job(self) -> bool:
        return self.stop is not None or self.cancel is not None

    @property
    def action(self) -> AnyAction:
        """The action that is set."""
        value: AnyAction
        _, value = chosen_of(self, ACTION_KINDS)
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> ActionModel:
        one_of(self, ACTION_KINDS)
        return self


def compile_actions(
    context: CompileContext, models: Sequence[ActionModel], graph_names: Mapping[str, str]
) -> tuple[RunAction, ...]:
    """Compiles the actions to names of the graph; reports every unknown node. Raises Failed."""
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
            case SnapshotModel(task=task) as snapshot:
                if task in graph_names:
                    actions.append(SnapshotTask(snapshot.at, graph_names[task], snapshot.subtask))
                else:
                    message = f"there is no node {task!r}{did_you_mean(task, graph_names)}"
                    context.problems.at(("actions", index, "snapshot", "task"), message)
            case unreachable:
                assert_never(unreachable)
    return tuple(actions)
