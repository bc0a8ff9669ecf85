"""The states in a snapshot of a job. Flink: OperatorState, FullyFinishedOperatorState, FinishedOperatorSubtaskState."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsim.state.redistribution.operator_state import OperatorState, OperatorSubtaskState
from flowsim.state.redistribution.operator_state_handle import DistributionMode


@dataclass(frozen=True, slots=True)
class SnapshotState:
    """What the tasks and the operator coordinators have acknowledged, by operator id."""

    operator_states: dict[str, OperatorState] = field(default_factory=dict)
    """The states of subtasks; an operator is here when one of its subtasks has acknowledged."""
    coordinator_states: dict[str, bytes] = field(default_factory=dict)
    fully_finished_operators: set[str] = field(default_factory=set)
    """The operators all of whose subtasks had finished; they are restored as finished (rule 12.100)."""
    finished_subtasks: dict[str, set[int]] = field(default_factory=dict)
    """The finished subtasks of the other operators; they have no state."""

    def put_subtask_states(
        self, operator_id: str, parallelism: int, max_parallelism: int, states: dict[int, OperatorSubtaskState]
    ) -> None:
        """Adds states of subtasks of an operator."""
        before = self.operator_states.get(operator_id)
        states = {**(before.subtask_states if before is not None else {}), **states}
        self.operator_states[operator_id] = OperatorState(operator_id, parallelism, max_parallelism, states)

    def stream_ids(self) -> tuple[str, ...]:
        """Returns the streams that the handles name, in the order of operators and subtasks."""
        named = {
            handle.stream: None
            for _, operator in sorted(self.operator_states.items())
            for _, of_subtask in sorted(operator.subtask_states.items())
            for handle in of_subtask.handles
        }
        return tuple(named)

    def has_union_list_state(self, operator_id: str) -> bool:
        """True if a list state of the operator is redistributed by union (rule 12.25)."""
        state = self.operator_states.get(operator_id)
        return state is not None and any(
            info.mode is DistributionMode.UNION
            for subtask in state.subtask_states.values()
            for handle in (*subtask.managed_operator, *subtask.raw_operator)
            for info in handle.states.values()
        )
