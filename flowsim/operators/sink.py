"""The writers of sinks. Flink: SinkWriter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from flowsim.operators.stream_operator import OperatorContext, Value
from flowsim.timers.processing_time_service import ProcessingTimeService

WRITER_STATE: Final = "writer_raw_states"
"""The name of the state of the writers in a checkpoint."""


@dataclass(frozen=True, slots=True)
class InitContext:
    """The subtask of a writer or a committer. Flink: WriterInitContext, CommitterInitContext."""

    operator_name: str
    subtask_index: int
    parallelism: int
    attempt_number: int = 0
    """The number of earlier attempts of this subtask."""
    restored_checkpoint_id: int | None = None
    """The checkpoint from which the attempt starts; None: it starts without state."""
    processing_time: ProcessingTimeService | None = None
    """The clock of the task, and its timers; None in tests of single writers."""

    @staticmethod
    def of(ctx: OperatorContext, restored_checkpoint_id: int | None) -> InitContext:
        """Returns the context of an operator's subtask."""
        return InitContext(
            ctx.operator_name,
            ctx.subtask_index,
            ctx.parallelism,
            ctx.attempt_number,
            restored_checkpoint_id,
            ctx.processing_time,
        )


class SinkWriter(Protocol):
    """Writes the records of a sink; one per subtask and attempt. Flink: SinkWriter."""

    def write(self, value: Value, timestamp: int | None) -> None: ...

    def flush(self, end_of_input: bool) -> None:
        """Persists all records written so far; called before each barrier, and at the end of the input."""

    def close(self) -> None:
        """Called exactly once after the writer was created, also after a failure."""


@runtime_checkable
class StatefulSinkWriter(SinkWriter, Protocol):
    """A writer with state in checkpoints. Flink: StatefulSinkWriter."""

    def snapshot_state(self, checkpoint_id: int) -> Sequence[Value]:
        """Returns the state after the barrier of this checkpoint: values of the closed set."""


class WriterFactory(Protocol):
    """Creates the writer of one subtask."""

    def create_writer(self, context: InitContext) -> SinkWriter: ...


@runtime_checkable
class SupportsWriterState(Protocol):
    """A sink whose writers have state. Flink: SupportsWriterState."""

    def restore_writer(self, context: InitContext, recovered_state: Sequence[Value]) -> StatefulSinkWriter:
        """Creates a writer from the restored states of one or several writers; empty after an upscaling."""
