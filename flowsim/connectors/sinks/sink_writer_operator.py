"""The operator of a sink's writers in a sink with committer. Flink: SinkWriterOperator."""

from __future__ import annotations

from flowsim.connectors.sinks.committable_trace import PreparedCommittables
from flowsim.connectors.sinks.committables.committable_message import CommittableMessage, record_of
from flowsim.connectors.sinks.sink_writer_checkpoints import (
    CommittableOutput,
    CommittingSinkWriter,
    SinkWriterCheckpoints,
)
from flowsim.errors import BadInput
from flowsim.operators.sink_operator import SinkOperator
from flowsim.streamrecord.output import Output


class CommittableRecords:
    """Sends messages as records to the committer."""

    __slots__ = ("_output",)

    def __init__(self, output: Output) -> None:
        self._output = output

    def emit(self, message: CommittableMessage[object]) -> None:
        self._output.collect(record_of(message), None)


class SinkWriterOperator(SinkOperator):
    """Passes records to a writer, and its committables to a committer (rules 12.30, 12.32). Flink: SinkWriterOperator."""

    __slots__ = ("_checkpoints",)

    def open(self) -> None:
        super().open()
        writer, ctx = self.writer, self.ctx
        if not isinstance(writer, CommittingSinkWriter):
            raise BadInput(
                f"sink {ctx.operator_name}: it has a committer, so its writer needs prepare_commit(), but "
                f"{type(writer).__name__} has none"
            )
        output: CommittableOutput[object] = CommittableRecords(self.output)
        if ctx.trace is not None:
            prepared = PreparedCommittables(ctx.trace.checkpoints, ctx.operator_index, output, self._write)
            self._write, output = prepared.write, prepared
        self._checkpoints: SinkWriterCheckpoints[object] = SinkWriterCheckpoints(
            writer,
            output,
            ctx.subtask_index,
            ctx.parallelism,
            self.restored_checkpoint_id or 0,
        )

    def prepare_snapshot_pre_barrier(self, checkpoint_id: int) -> None:
        self._checkpoints.prepare_snapshot_pre_barrier(checkpoint_id)

    def end_input(self) -> None:
        self._checkpoints.end_input()
        super().end_input()

    def finish(self) -> None:
        """Does nothing: ``end_input`` has sent the last committables."""

    def retain_results(self) -> None:
        """Does nothing: without a checkpoint the last records are not committed."""
