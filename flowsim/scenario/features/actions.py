"""``actions``: actions on the running job of a scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, assert_never

from pydantic import Field, model_validator

from flowsim.cluster.run_actions import CancelJob, RunAction, SnapshotTask, StopJob
from flowsim.errors import did_you_mean
from flowsim.scenario.types import DurationNs, Name, Strict, chosen_of, exactly_one_of, one_of
from flowsim.scenario.yaml.problems import Problems

ACTION_KINDS = ("stop", "cancel", "snapshot")


class StopModel(Strict):
    """Ends the sources, and so the job; the job counts as finished."""

    at: DurationNs = Field(description="Time after the start of the job, on its clock.")
    drain: bool = Field(
        default=False,
        description="Advances event time to its end, as at the end of input: all windows and timers fire.",
    )


class CancelModel(Strict):
    """Ends the job at once. Sinks that write files keep no results."""

    at: DurationNs = Field(description="Time after the start of the job, on its clock.")


class SnapshotModel(Strict):
    """Requests the state of a task's operators, as a checkpoint does; nothing is stored."""

    at: DurationNs = Field(description="Time after the start of the job, on its clock.")
    task: Name = Field(description="A source, operator or sink; the snapshot includes all operators in its chain.")
    subtask: Annotated[int, Field(ge=0, le=32767)] | None = Field(
        default=None, description="Index of one subtask; without it all subtasks."
    )


class ActionModel(Strict, json_schema_extra=exactly_one_of(*ACTION_KINDS)):
    """One action on the running job; exactly one of stop, cancel, snapshot."""

    stop: StopModel | None = Field(
        default=None, description="Ends the sources and then the job, whose status is `finished`."
    )
    cancel: CancelModel | None = Field(default=None, description="Ends the job immediately; its status is `canceled`.")
    snapshot: SnapshotModel | None = Field(default=None, description="Requests the state of the operators of one task.")

    @property
    def ends_the_job(self) -> bool:
        return self.snapshot is None

    @property
    def action(self) -> StopModel | CancelModel | SnapshotModel:
        """The action that is set."""
        value: StopModel | CancelModel | SnapshotModel
        _, value = chosen_of(self, ACTION_KINDS)
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> ActionModel:
        one_of(self, ACTION_KINDS)
        return self


def compile_actions(
    models: Sequence[ActionModel], graph_names: Mapping[str, str], problems: Problems
) -> tuple[RunAction, ...]:
    """Compiles the actions to names of the graph; reports every unknown node."""
    actions: list[RunAction] = []
    for index, model in enumerate(models):
        match model.action:
            case StopModel() as stop:
                actions.append(StopJob(stop.at, stop.drain))
            case CancelModel() as cancel:
                actions.append(CancelJob(cancel.at))
            case SnapshotModel(task=task) as snapshot:
                if task in graph_names:
                    actions.append(SnapshotTask(snapshot.at, graph_names[task], snapshot.subtask))
                else:
                    message = f"there is no node {task!r}{did_you_mean(task, graph_names)}"
                    problems.at(("actions", index, "snapshot", "task"), message)
            case unreachable:
                assert_never(unreachable)
    return tuple(actions)
