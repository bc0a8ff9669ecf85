"""Assigns the state of a checkpoint to the subtasks of a restored job. Flink: StateAssignmentOperation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from flowsim.errors import BadInput
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.key_group_range_assignment import compute_key_group_range_for_operator_index
from flowsim.state.redistribution.operator_state import KeyGroupsStateHandle, OperatorState, OperatorSubtaskState
from flowsim.state.redistribution.operator_state_handle import OperatorStateHandle
from flowsim.state.redistribution.operator_state_repartitioner import RoundRobinOperatorStateRepartitioner

_REPARTITIONER = RoundRobinOperatorStateRepartitioner()


@dataclass(frozen=True, slots=True)
class RestoredVertex:
    """The parallelism of the vertex that the state is assigned to. Flink: ExecutionJobVertex."""

    name: str
    parallelism: int
    max_parallelism: int
    is_max_parallelism_derived: bool
    """True if the job did not set the max parallelism, so that a restored one replaces it (rule 12.23)."""


def check_state_mapping_completeness(
    states: Iterable[OperatorState], operator_ids: Iterable[str], *, allow_non_restored_state: bool
) -> None:
    """Raises BadInput if an operator of the checkpoint is not part of the job (rule 12.26)."""
    known = set(operator_ids)
    for state in states:
        if state.operator_id not in known and not allow_non_restored_state:
            raise BadInput(
                f"There is no operator for the state {state.operator_id}: "
                "restore the job that stored it, or allow state that is not restored"
            )


def restored_max_parallelism(state: OperatorState, vertex: RestoredVertex) -> int:
    """Returns the max parallelism of the restored vertex (rule 12.23). Raises BadInput if the state does not fit."""
    restored = state.max_parallelism
    if restored < vertex.parallelism:
        raise BadInput(
            f"The state for task {vertex.name} can not be restored. The maximum parallelism ({restored}) of the "
            f"restored state is lower than the configured parallelism ({vertex.parallelism}). Please reduce the "
            "parallelism of the task to be lower or equal to the maximum parallelism."
        )
    if restored != vertex.max_parallelism and not vertex.is_max_parallelism_derived:
        raise BadInput(
            f"The maximum parallelism ({restored}) with which the latest checkpoint of the execution job vertex "
            f"{vertex.name} has been taken and the current maximum parallelism ({vertex.max_parallelism}) changed. "
            "This is currently not supported."
        )
    return restored


def create_key_group_partitions(max_parallelism: int, parallelism: int) -> list[KeyGroupRange]:
    """Returns the key groups of each subtask (rule 1.20)."""
    return [
        compute_key_group_range_for_operator_index(max_parallelism, parallelism, subtask)
        for subtask in range(parallelism)
    ]


def assign_state(state: OperatorState, new_parallelism: int) -> list[OperatorSubtaskState]:
    """Returns the state of each subtask of the restored operator, without in-flight data (rules 12.23 to 12.25)."""
    partitions = create_key_group_partitions(state.max_parallelism, new_parallelism)
    old = [state.state(subtask) for subtask in range(state.parallelism)]
    managed = _repartition([each.managed_operator for each in old], new_parallelism)
    raw = _repartition([each.raw_operator for each in old], new_parallelism)
    return [
        OperatorSubtaskState(
            tuple(managed[subtask]),
            tuple(raw[subtask]),
            _keyed_handles(old, lambda each: each.managed_keyed, partitions, subtask),
            _keyed_handles(old, lambda each: each.raw_keyed, partitions, subtask),
        )
        for subtask in range(new_parallelism)
    ]


def _repartition(old: Sequence[Sequence[OperatorStateHandle]], new_parallelism: int) -> list[list[OperatorStateHandle]]:
    return _REPARTITIONER.repartition_state(old, len(old), new_parallelism)


def _keyed_handles(
    old: Sequence[OperatorSubtaskState],
    handles_of: Callable[[OperatorSubtaskState], tuple[KeyGroupsStateHandle, ...]],
    partitions: Sequence[KeyGroupRange],
    subtask: int,
) -> tuple[KeyGroupsStateHandle, ...]:
    """Returns the handles whose key groups ``subtask`` owns, in the order of old subtasks (rules 12.23, 12.106)."""
    if len(old) == len(partitions):
        return handles_of(old[subtask])
    common = (handle.intersection(partitions[subtask]) for each in old for handle in handles_of(each))
    return tuple(handle for handle in common if handle is not None)
