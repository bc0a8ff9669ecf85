"""The steps of a checkpoint in the operators of a task, in their order. Flink: RegularOperatorChain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData
from flowsim.state.redistribution.operator_state import OperatorSubtaskState
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.streamrecord.checkpoint_options import CheckpointOptions
from flowsim.streamrecord.events import Event


class OperatorSnapshotFutures(Protocol):
    """A consistent copy of an operator's state, not yet written (rule 12.66). Flink: OperatorSnapshotFutures."""

    @property
    def size_bytes(self) -> int:
        """The size of the copied values (rule 12.142)."""

    def finalize(self) -> OperatorSubtaskState:
        """Writes the state; runs in the asynchronous part of the checkpoint."""

    def cancel(self) -> None:
        """Discards the copy."""


class CheckpointedOperator(Protocol):
    """An operator of a job with checkpoints. Flink: StreamOperator, CheckpointListener."""

    @property
    def operator_id(self) -> str: ...

    @property
    def is_closed(self) -> bool: ...

    def prepare_snapshot_pre_barrier(self, checkpoint_id: int) -> None:
        """Called before the barrier leaves; the operator may emit records, which precede the barrier."""

    def snapshot_state(
        self, checkpoint_id: int, timestamp_ms: int, options: CheckpointOptions
    ) -> OperatorSnapshotFutures:
        """Copies the state. An exception fails the task (rule 12.7)."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None: ...

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None: ...

    def notify_checkpoint_subsumed(self, checkpoint_id: int) -> None: ...


class CheckpointedOutputs(Protocol):
    """The outputs of a task. Flink: RecordWriterOutput."""

    def broadcast_event(self, event: Event, *, is_priority: bool) -> None:
        """Sends an event to all subpartitions of all outputs."""

    def aligned_barrier_timeout(self, checkpoint_id: int) -> None:
        """Makes queued barriers unaligned (rule 12.90)."""

    def abort_checkpoint(self, checkpoint_id: int, cause: CheckpointException) -> None:
        """Fails the stored output of the checkpoint (rule 12.71)."""


class OperatorEventGateway(Protocol):
    """Sends events to the coordinators of the task's operators. Flink: OperatorEventDispatcher."""

    def send_acknowledge_checkpoint_event(self, checkpoint_id: int) -> None:
        """Reports the end of the synchronous part (rules 12.6, 12.109)."""


class OperatorChainCheckpoints:
    """Calls the operators of a task, given head first, in the order of rule 12.6. Flink: RegularOperatorChain.

    ``is_task_deployed_as_finished``: the task was restored as finished, and its operators do not run (rule 12.100).
    """

    __slots__ = ("_operators", "outputs", "_coordinators", "is_task_deployed_as_finished")

    def __init__(
        self,
        operators: Sequence[CheckpointedOperator],
        outputs: CheckpointedOutputs,
        coordinators: OperatorEventGateway,
        *,
        is_task_deployed_as_finished: bool = False,
    ) -> None:
        self._operators = tuple(operators)
        self.outputs = outputs
        self._coordinators = coordinators
        self.is_task_deployed_as_finished = is_task_deployed_as_finished

    def prepare_snapshot_pre_barrier(self, checkpoint_id: int) -> None:
        """Prepares the operators, head to tail; a closed one is skipped (rule 12.65)."""
        for operator in self._operators:
            if not operator.is_closed:
                operator.prepare_snapshot_pre_barrier(checkpoint_id)

    def snapshot_state(
        self, meta_data: CheckpointMetaData, options: CheckpointOptions, snapshots: dict[str, OperatorSnapshotFutures]
    ) -> None:
        """Adds the snapshots of all operators, tail to head, to ``snapshots``, which has the first ones if one fails."""
        for operator in reversed(self._operators):
            if not operator.is_closed:
                snapshots[operator.operator_id] = operator.snapshot_state(
                    meta_data.checkpoint_id, meta_data.timestamp_ms, options
                )
        self._coordinators.send_acknowledge_checkpoint_event(meta_data.checkpoint_id)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Notifies the operators, tail to head, except closed ones (rule 12.69)."""
        self._notify(lambda operator: operator.notify_checkpoint_complete(checkpoint_id), skip_closed=True)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Notifies the operators, tail to head (rule 12.69)."""
        self._notify(lambda operator: operator.notify_checkpoint_aborted(checkpoint_id), skip_closed=False)

    def notify_checkpoint_subsumed(self, checkpoint_id: int) -> None:
        """Notifies the operators, tail to head, except closed ones."""
        self._notify(lambda operator: operator.notify_checkpoint_subsumed(checkpoint_id), skip_closed=True)

    def _notify(self, notify: Callable[[CheckpointedOperator], None], *, skip_closed: bool) -> None:
        """Notifies all operators, and raises the first error after that; a task restored as finished notifies none."""
        if self.is_task_deployed_as_finished:
            return
        first_error: Exception | None = None
        for operator in reversed(self._operators):
            if skip_closed and operator.is_closed:
                continue
            try:
                notify(operator)
            except Exception as error:
                first_error = first_error or error
        if first_error is not None:
            raise first_error
