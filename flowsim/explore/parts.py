"""The parts of a job that cannot tell the order of each other's events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flowsim.graph.execution_graph import ExecutionGraph

BEFORE: Final = -1
"""In place of a part: a task before the parts, to which nothing happens in another order."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The part of each task, by its id: ``BEFORE``, or the number of a part from 0. Tasks of two parts share no later task."""

    of_task: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many parts there are; with fewer than two, nothing can be explored by itself."""
        return max(self.of_task, default=BEFORE) + 1

    def of(self, actor: int) -> int | None:
        """Returns the part of an actor; None if the actor is no task."""
        return self.of_task[actor] if 0 <= actor < len(self.of_task) else None


def parts_of(execution: ExecutionGraph) -> Parts:
    """Returns the parts of a job. A task that reads one channel, or none, is before them if all tasks before it are."""
    inputs = _inputs(execution)
    parts = list(range(len(inputs)))
    before = [False] * len(inputs)
    for task, senders in enumerate(inputs):
        before[task] = len(senders) <= 1 and all(before[sender] for sender in senders)
        for sender in senders:
            if not before[sender]:
                joined, own = parts[sender], parts[task]
                parts = [own if part == joined else part for part in parts]
    numbers: dict[int, int] = {}
    return Parts(
        tuple(
            BEFORE if is_before else numbers.setdefault(part, len(numbers))
            for part, is_before in zip(parts, before, strict=True)
        )
    )


def _inputs(execution: ExecutionGraph) -> list[list[int]]:
    """Returns the tasks from which each task reads, once for each channel; tasks are in topological order."""
    first: dict[int, int] = {}
    for subtask in execution.subtasks:
        first.setdefault(subtask.vertex.id, subtask.id)
    inputs: list[list[int]] = [[] for _ in execution.subtasks]
    for expansion in execution.expansions:
        edge = expansion.edge
        for subtask in execution.subtasks_of(edge.target):
            for number in range(expansion.input_count(subtask.index)):
                source, _ = expansion.input_at(subtask.index, number)
                inputs[subtask.id].append(first[edge.source.id] + source)
    return inputs
