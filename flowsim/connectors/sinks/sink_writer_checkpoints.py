"""When a sink writer sends its committables. Flink: SinkWriterOperator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar, runtime_checkable

from flowsim.connectors.sinks.committables.committable_message import (
    CommittableMessage,
    CommittableSummary,
    CommittableWithLineage,
)
from flowsim.operators.sink import SinkWriter

C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)


@runtime_checkable
class CommittingSinkWriter(SinkWriter, Protocol[C_co]):
    """Writes records to a place where they are not yet visible. Flink: CommittingSinkWriter."""

    def prepare_commit(self) -> Sequence[C_co]:
        """Returns what makes the records since the last call visible: values of the closed set."""


class CommittableOutput(Protocol[C]):
    """The consumer of committables, usually a committer in the same chain."""

    def emit(self, message: CommittableMessage[C]) -> None: ...


class SinkWriterCheckpoints(Generic[C]):
    """Sends the committables of one writer before each barrier and at the end (rules 12.30, 12.32).

    ``restored_checkpoint_id``: 0 if nothing was restored. Flink: SinkWriterOperator.
    """

    __slots__ = ("last_known_checkpoint_id", "is_end_of_input", "_writer", "_output", "_subtask", "_parallelism")

    def __init__(
        self,
        writer: CommittingSinkWriter[C],
        output: CommittableOutput[C],
        subtask: int,
        parallelism: int,
        restored_checkpoint_id: int = 0,
    ) -> None:
        self.last_known_checkpoint_id = restored_checkpoint_id
        self.is_end_of_input = False
        self._writer = writer
        self._output = output
        self._subtask = subtask
        self._parallelism = parallelism

    def prepare_snapshot_pre_barrier(self, checkpoint_id: int) -> None:
        """Sends the committables of a checkpoint; nothing after the end of input (rule 12.30)."""
        if not self.is_end_of_input:
            self._writer.flush(False)
            self._emit_committables(checkpoint_id)

    def end_input(self) -> None:
        """Sends the last committables, which the next completed checkpoint commits (rule 12.32)."""
        if not self.is_end_of_input:
            self.is_end_of_input = True
            self._writer.flush(True)
            self._emit_committables(self.last_known_checkpoint_id + 1)

    def _emit_committables(self, checkpoint_id: int) -> None:
        self.last_known_checkpoint_id = checkpoint_id
        committables = self._writer.prepare_commit()
        self._output.emit(CommittableSummary(self._subtask, self._parallelism, checkpoint_id, len(committables)))
        for committable in committables:
            self._output.emit(CommittableWithLineage(committable, checkpoint_id, self._subtask))
