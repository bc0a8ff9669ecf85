"""The writers of sinks, and the operator that calls them. Flink: SinkWriter, SinkWriterOperator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from flowsim.errors import InvariantViolation
from flowsim.operators.stream_operator import OperatorContext, StreamOperator, Value
from flowsim.state.snapshots.snapshot_contexts import (
    OperatorListState,
    StateInitializationContext,
    StateSnapshotContext,
)
from flowsim.streamrecord.elements import LatencyMarker


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

    @staticmethod
    def of(ctx: OperatorContext, restored_checkpoint_id: int | None) -> InitContext:
        """Returns the context of an operator's subtask."""
        return InitContext(
            ctx.operator_name, ctx.subtask_index, ctx.parallelism, ctx.attempt_number, restored_checkpoint_id
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


class SinkOperator(StreamOperator):
    """Passes every record to a writer. Flink: SinkWriterOperator."""

    __slots__ = ("sink", "_writer", "_write", "_state", "restored_checkpoint_id")

    def __init__(self, sink: WriterFactory) -> None:
        self.sink = sink
        self._writer: SinkWriter | None = None
        self._state: OperatorListState | None = None
        self.restored_checkpoint_id: int | None = None

    def initialize_state(self, context: StateInitializationContext) -> None:
        self.restored_checkpoint_id = context.restored_checkpoint_id
        if isinstance(self.sink, SupportsWriterState):
            self._state = context.operator_state.get_list_state("writer_raw_states")

    def open(self) -> None:
        context = InitContext.of(self.ctx, self.restored_checkpoint_id)
        if isinstance(self.sink, SupportsWriterState) and self._state is not None and self._is_restored:
            self._writer = self.sink.restore_writer(context, self._state.get())
        else:
            self._writer = self.sink.create_writer(context)
        self._write = self._writer.write

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        self._write(value, timestamp)

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        """Reports the latency of a marker; latency markers end at a sink (rule 8.20)."""
        self.report_latency(marker)

    def prepare_snapshot_pre_barrier(self, checkpoint_id: int) -> None:
        """Persists the records before the barrier: they are not replayed after a restore (rule 12.30)."""
        self.writer.flush(False)

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        writer = self.writer
        if self._state is not None and isinstance(writer, StatefulSinkWriter):
            self._state.update(tuple(writer.snapshot_state(context.checkpoint_id)))

    def finish(self) -> None:
        self.writer.flush(True)

    def retain_results(self) -> None:
        self.writer.flush(True)

    def close(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()

    @property
    def _is_restored(self) -> bool:
        return self.restored_checkpoint_id is not None

    @property
    def writer(self) -> SinkWriter:
        """The writer of the current attempt. Raises InvariantViolation before ``open`` and after ``close``."""
        if self._writer is None:
            raise InvariantViolation(
                f"sink {self.ctx.operator_name}: its writer was used before open() or after close()"
            )
        return self._writer
