"""``failures`` of a scenario: what fails at set places of the run, and is recovered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, assert_never

from pydantic import Field, model_validator

from flowsim.cluster.failures import FailAnyTask, FailTask, LoseJobManager, LoseTaskManager, RunFailure
from flowsim.errors import did_you_mean
from flowsim.scenario.types import Count, DurationNs, Name, Strict, chosen_of, exactly_one_of, one_of
from flowsim.scenario.yaml.problems import Problems

FAILURE_KINDS = ("fail_task", "lose_task_manager", "lose_job_manager", "fail_any_task")
PLACES = ("at_record", "at", "in_snapshot", "in_notification")


class FailTaskModel(Strict, json_schema_extra=exactly_one_of(*PLACES)):
    """One attempt of a subtask fails, at exactly one of four places."""

    task: Name = Field(description="A source, operator or sink; the failure ends the task of its whole chain.")
    subtask: Annotated[int, Field(ge=0, le=32767)] = Field(default=0, description="Index of the subtask, from 0.")
    at_record: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = Field(
        default=None, description="The record of this attempt before which the task fails, counted from 0."
    )
    at: DurationNs | None = Field(default=None, description="Time after the start of the job, on its clock.")
    in_snapshot: Count | None = Field(
        default=None, description="Number of the checkpoint in whose synchronous part the task fails."
    )
    in_notification: Count | None = Field(
        default=None, description="Number of the checkpoint at whose notification of completion the task fails."
    )
    attempt: Annotated[int, Field(ge=0, le=2**31 - 1)] = Field(
        default=0, description="The attempt that fails: `0` is the first, `1` the one after a restart."
    )

    @model_validator(mode="after")
    def _one_place(self) -> FailTaskModel:
        one_of(self, PLACES)
        return self


class LoseTaskManagerModel(Strict):
    """A task manager is lost: its tasks fail, and what it has finished is gone."""

    name: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        description="Name of the task manager, as `flowsim graph` shows it."
    )
    at: DurationNs = Field(description="Time after the start of the job, on its clock.")


class LoseJobManagerModel(Strict):
    """The job manager is lost: all tasks restart from the last completed checkpoint."""

    at: DurationNs = Field(description="Time after the start of the job, on its clock.")


class FailAnyTaskModel(Strict):
    """Any task fails at any point, while the runtime space is explored; other runs have no such failure."""

    most: Annotated[int, Field(ge=1, le=9)] = Field(default=1, description="How often a task fails in a run, at most.")


class FailureModel(Strict, json_schema_extra=exactly_one_of(*FAILURE_KINDS)):
    """A failure of the run; exactly one of fail_task, lose_task_manager, lose_job_manager, fail_any_task."""

    fail_task: FailTaskModel | None = Field(default=None, description="An attempt of a task fails.")
    lose_task_manager: LoseTaskManagerModel | None = Field(
        default=None, description="All tasks of a task manager fail, and its finished results are gone."
    )
    lose_job_manager: LoseJobManagerModel | None = Field(
        default=None, description="All tasks restart from the last completed checkpoint."
    )
    fail_any_task: FailAnyTaskModel | None = Field(
        default=None,
        description="A task fails, and an [exploration](exploration.md) of the runtime space chooses which one and when.",
    )

    @model_validator(mode="after")
    def _one_kind(self) -> FailureModel:
        one_of(self, FAILURE_KINDS)
        return self


def compile_failures(
    models: Sequence[FailureModel], graph_names: Mapping[str, str], problems: Problems
) -> tuple[RunFailure, ...]:
    """Compiles the failures to names of the graph; reports every unknown node."""
    failures: list[RunFailure] = []
    for index, model in enumerate(models):
        failure: FailTaskModel | LoseTaskManagerModel | LoseJobManagerModel | FailAnyTaskModel
        _, failure = chosen_of(model, FAILURE_KINDS)
        match failure:
            case FailTaskModel(task=task) if task not in graph_names:
                message = f"there is no node {task!r}{did_you_mean(task, graph_names)}"
                problems.at(("failures", index, "fail_task", "task"), message)
            case FailTaskModel(task=task):
                place = (failure.at_record, failure.at, failure.in_snapshot, failure.in_notification)
                failures.append(FailTask(graph_names[task], failure.subtask, *place, failure.attempt))
            case LoseTaskManagerModel():
                failures.append(LoseTaskManager(failure.name, failure.at))
            case LoseJobManagerModel():
                failures.append(LoseJobManager(failure.at))
            case FailAnyTaskModel():
                failures.append(FailAnyTask(failure.most))
            case _:
                assert_never(failure)
    return tuple(failures)
