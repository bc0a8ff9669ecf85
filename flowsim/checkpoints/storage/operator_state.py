"""The state of one operator in a snapshot, by subtask. Flink: OperatorState, OperatorSubtaskState, TaskStateSnapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from flowsim.errors import InvariantViolation


class OperatorSubtaskState(Protocol):
    """The state of an operator in one subtask; opaque here. Flink: OperatorSubtaskState."""

    @property
    def has_union_list_state(self) -> bool:
        """True if a list state is redistributed by union (rule 12.25)."""
        ...

    @property
    def state_size_bytes(self) -> int: ...

    def discard_state(self) -> None:
        """Deletes the files of the state."""
        ...


class FinishedOperatorSubtaskState:
    """The state of a subtask that had finished (rule 12.99). Flink: FinishedOperatorSubtaskState."""

    __slots__ = ()

    has_union_list_state = False
    state_size_bytes = 0

    def discard_state(self) -> None:
        """There are no files."""


class TaskStateSnapshot(Protocol):
    """The states that a task acknowledges a checkpoint with. Flink: TaskStateSnapshot."""

    @property
    def is_task_deployed_as_finished(self) -> bool:
        """True if the task was restored as finished: it has no state (rule 12.8)."""
        ...

    @property
    def is_task_finished(self) -> bool:
        """True if all operators of the task had finished (rule 12.8)."""
        ...

    @property
    def subtask_states(self) -> Mapping[str, OperatorSubtaskState]:
        """The states by operator id."""
        ...

    def discard_state(self) -> None:
        """Deletes the files of all states."""
        ...


@dataclass(slots=True)
class OperatorState:
    """The state of an operator in a snapshot. Flink: OperatorState, FullyFinishedOperatorState."""

    operator_id: str
    parallelism: int
    max_parallelism: int
    subtask_states: dict[int, OperatorSubtaskState] = field(default_factory=dict)
    """By subtask; a subtask without state is left out."""
    coordinator_state: bytes | None = None
    is_fully_finished: bool = False
    """True if all subtasks had finished: the operator is restored as finished (rule 12.100)."""

    @property
    def state_size_bytes(self) -> int:
        return sum(state.state_size_bytes for state in self.subtask_states.values()) + len(
            self.coordinator_state or b""
        )

    def put_state(self, subtask: int, state: OperatorSubtaskState) -> None:
        if not 0 <= subtask < self.parallelism:
            raise InvariantViolation(f"subtask {subtask} of an operator with parallelism {self.parallelism}")
        self.subtask_states[subtask] = state

    def discard_state(self) -> None:
        for state in self.subtask_states.values():
            state.discard_state()
