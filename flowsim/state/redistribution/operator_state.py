"""The state of an operator in a checkpoint, by subtask. Flink: OperatorState, TaskStateSnapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from flowsim.facts.kinds import StoredKind
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.redistribution.channel_state_handles import InputChannelStateHandle, ResultSubpartitionStateHandle
from flowsim.state.redistribution.inflight_data_rescaling_descriptor import (
    NO_RESCALE,
    InflightDataRescalingDescriptor,
)
from flowsim.state.redistribution.operator_state_handle import OperatorStateHandle


@dataclass(frozen=True, slots=True)
class KeyGroupsStateHandle:
    """The keyed state of consecutive key groups in one stored stream. Flink: KeyGroupsStateHandle."""

    stream: str
    """The identifier of the stream, unique in its checkpoint."""
    key_groups: KeyGroupRange

    def intersection(self, key_groups: KeyGroupRange) -> KeyGroupsStateHandle | None:
        """Returns the handle of the common key groups; None if there is none."""
        common = KeyGroupRange(max(self.key_groups.start, key_groups.start), min(self.key_groups.end, key_groups.end))
        return KeyGroupsStateHandle(self.stream, common) if common.size else None


StateHandle = OperatorStateHandle | KeyGroupsStateHandle | InputChannelStateHandle | ResultSubpartitionStateHandle
"""Names a stored stream, or a part of one."""


class StoredContent(NamedTuple):
    """What one state contains, as a run records it (table ``stored_state``)."""

    kind: StoredKind
    state: int
    """The fingerprint of its name."""
    key_group: int
    """-1 for operator state."""
    entries: int
    fingerprint_sum: int


@dataclass(frozen=True, slots=True)
class OperatorSubtaskState:
    """The state of one subtask of an operator. Flink: OperatorSubtaskState.

    ``raw`` state is what an operator wrote to a stream by itself, such as timers.
    """

    managed_operator: tuple[OperatorStateHandle, ...] = ()
    raw_operator: tuple[OperatorStateHandle, ...] = ()
    managed_keyed: tuple[KeyGroupsStateHandle, ...] = ()
    raw_keyed: tuple[KeyGroupsStateHandle, ...] = ()
    input_channels: tuple[InputChannelStateHandle, ...] = ()
    """The in-flight data of the task's inputs; only the head of a task has any (rule 12.83)."""
    result_subpartitions: tuple[ResultSubpartitionStateHandle, ...] = ()
    """The in-flight data of the task's outputs; only the tail of a task has any (rule 12.84)."""
    input_rescaling: InflightDataRescalingDescriptor = NO_RESCALE
    """Only in an assigned state: the sources of ``input_channels``, and of what senders restore (rule 12.102)."""
    output_rescaling: InflightDataRescalingDescriptor = NO_RESCALE
    """Only in an assigned state: the sources of ``result_subpartitions``."""
    contents: tuple[StoredContent, ...] = ()
    """Only in a snapshot: what the subtask stored, as its run recorded it; the run that restores it records it too."""

    @property
    def handles(self) -> tuple[StateHandle, ...]:
        """All handles, in the order of the fields."""
        operator = (*self.managed_operator, *self.raw_operator)
        return (*operator, *self.managed_keyed, *self.raw_keyed, *self.input_channels, *self.result_subpartitions)


NO_STATE = OperatorSubtaskState()
"""The state of a subtask that reported none, e.g. because it had finished (rule 12.119)."""


@dataclass(frozen=True, slots=True)
class OperatorState:
    """The state of all subtasks of an operator. Flink: OperatorState."""

    operator_id: str
    parallelism: int
    max_parallelism: int
    subtask_states: Mapping[int, OperatorSubtaskState] = field(default_factory=dict)
    """By subtask; a subtask without an entry reported no state."""

    @property
    def has_state(self) -> bool:
        """True if a subtask stored anything."""
        return any(each.handles for each in self.subtask_states.values())

    @property
    def has_channel_state(self) -> bool:
        """True if a subtask stored in-flight data."""
        return any(each.input_channels or each.result_subpartitions for each in self.subtask_states.values())

    def state(self, subtask: int) -> OperatorSubtaskState:
        """Returns the state of a subtask, which may be empty."""
        return self.subtask_states.get(subtask, NO_STATE)


@dataclass(frozen=True, slots=True)
class TaskStateSnapshot:
    """The state of all operators of one task, as it acknowledges it. Flink: TaskStateSnapshot."""

    subtask_states: Mapping[str, OperatorSubtaskState] = field(default_factory=dict)
    """By operator id."""
    is_task_deployed_as_finished: bool = False
    """True if the task was restored as finished; it has no state (rule 12.8)."""
    is_task_finished: bool = False
    """True if the operators had finished when the snapshot was taken (rule 12.8)."""


FINISHED_ON_RESTORE = TaskStateSnapshot(is_task_deployed_as_finished=True, is_task_finished=True)
"""The snapshot of a task that was restored as finished. Flink: TaskStateSnapshot.FINISHED_ON_RESTORE."""
