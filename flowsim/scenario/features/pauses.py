"""``pauses`` of a scenario: subtasks that stand still for a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field, model_validator

from flowsim.errors import did_you_mean
from flowsim.graph.operator_cost import Pause
from flowsim.scenario.types import DurationNs, Name, Strict
from flowsim.scenario.yaml.problems import Problems


class PauseOfTaskModel(Strict):
    """A subtask stands still inside a record, as in a long garbage collection or a slow call."""

    task: Name = Field(description="A source, operator or sink, which pauses with the task of its whole chain.")
    subtask: Annotated[int, Field(ge=0, le=32767)] | None = Field(
        default=None, description="Index of the subtask, from 0; without it every subtask."
    )
    start: DurationNs = Field(
        alias="from",
        description="Time after the start of the job: the first record that arrives from then on waits.",
    )
    to: DurationNs = Field(
        description="Time after the start of the job, at which this record is processed; later records do not wait."
    )

    @model_validator(mode="after")
    def _lasts(self) -> PauseOfTaskModel:
        if self.to <= self.start:
            raise ValueError("expected an end after the start of the pause: to above from")
        return self


def compile_pauses(
    models: Sequence[PauseOfTaskModel], graph_names: Mapping[str, str], problems: Problems
) -> dict[str, tuple[Pause, ...]]:
    """Returns the pauses by the names of their nodes in the graph; reports every unknown node."""
    pauses: dict[str, tuple[Pause, ...]] = {}
    for index, model in enumerate(models):
        if model.task not in graph_names:
            message = f"there is no node {model.task!r}{did_you_mean(model.task, graph_names)}"
            problems.at(("pauses", index, "task"), message)
            continue
        name = graph_names[model.task]
        pauses[name] = (*pauses.get(name, ()), Pause(model.subtask, model.start, model.to))
    return pauses
