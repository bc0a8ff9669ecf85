"""Which subtask runs on which task manager. Flink: SlotManager, as far as it decides what is local (rule 6.18)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

TaskManagers = Literal["each", "one"] | Mapping[str, Sequence[str]]
"""``each``: one task manager per subtask; ``one``: all on one; else what runs on each of those named."""


@dataclass(frozen=True, slots=True)
class Placement:
    """``task_manager_of`` stands at the index of a subtask's id; ``names`` at that of the task manager's."""

    task_manager_of: Sequence[int] = ()
    names: Sequence[str] = field(default_factory=tuple)

    def share(self, subtask: int, other: int) -> bool:
        """Whether two subtasks run on the same task manager: the channels between them are local."""
        return self.task_manager_of[subtask] == self.task_manager_of[other]


def place(wanted: TaskManagers, subtasks: Sequence[tuple[Sequence[str], int]]) -> Placement:
    """``subtasks``: names of the operators of the chain, and the index of the subtask in it."""
    if wanted == "one":
        return Placement([0] * len(subtasks), ["task manager"])
    return Placement(list(range(len(subtasks))), [f"{' -> '.join(names)} ({index + 1})" for names, index in subtasks])
