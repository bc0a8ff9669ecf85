"""Passes records to the writer of a sink. Flink: SinkWriterOperator."""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from flowsim.errors import ElementAfterEndOfInput, InvariantViolation
from flowsim.operators.sink import (
    WRITER_STATE,
    InitContext,
    SinkWriter,
    StatefulSinkWriter,
    SupportsWriterState,
    WriterFactory,
)
from flowsim.operators.stream_operator import StreamOperator, Value
from flowsim.state.snapshots.operator_state_backend import PartitionableListState
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.streamrecord.elements import LatencyMarker


@mypyc_attr(allow_interpreted_subclasses=True)
class SinkOperator(StreamOperator):
    """Passes every record to a writer. Flink: SinkWriterOperator.

    ``is_open_ended``: also those after the end of the input, as Flink's CollectSinkOperator does; others fail then.
    """

    __slots__ = ("sink", "is_open_ended", "_writer", "_write", "_state", "restored_checkpoint_id")

    def __init__(self, sink: WriterFactory, is_open_ended: bool = False) -> None:
        self.sink = sink
        self.is_open_ended: bool = is_open_ended
        self._writer: SinkWriter | None = None
        self._state: PartitionableListState | None = None
        self.restored_checkpoint_id: int | None = None

    def initialize_state(self, context: StateInitializationContext) -> None:
        self.restored_checkpoint_id = context.restored_checkpoint_id
        if isinstance(self.sink, SupportsWriterState):
            self._state = context.operator_state.get_list_state(WRITER_STATE)

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

    def end_input(self) -> None:
        if not self.is_open_ended:
            self._write = self._refuse

    def _refuse(self, value: Value, timestamp: int | None) -> None:
        raise ElementAfterEndOfInput(value)

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
