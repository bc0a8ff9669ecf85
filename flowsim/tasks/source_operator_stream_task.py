"""A task with a source as head, and the input that polls the source. Flink: SourceOperatorStreamTask,
StreamTaskSourceInput.
"""

from __future__ import annotations

from collections.abc import Callable

from flowsim.mailbox.task_mailbox import MailboxState
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.stream_operator import DataInputStatus, StreamOperator
from flowsim.sim.origin import Origin
from flowsim.streamrecord.checkpoint_options import CheckpointOptions
from flowsim.streamrecord.events import StopMode
from flowsim.tasks.checkpointing.task_checkpoints import TaskCheckpoints
from flowsim.tasks.inputs.task_input import TaskInput
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.tasks.processing_time import TaskTimers
from flowsim.tasks.stream_task import StreamTask
from flowsim.units import NO_TIMESTAMP


class StreamTaskSourceInput:
    """Polls the reader of a source. Flink: StreamTaskSourceInput."""

    __slots__ = ("_source", "_timers")

    records_in = 0
    """Always 0: no records come from the network."""

    current_watermark = NO_TIMESTAMP
    queued_buffers = 0
    waits_for = "input"

    def __init__(self, source: SourceOperator, timers: TaskTimers) -> None:
        self._source = source
        self._timers = timers

    @property
    def is_available(self) -> bool:
        if self._source.stopping is not None:
            return True
        wake_time_ns = self._source.wake_time_ns
        return wake_time_ns is not None and wake_time_ns <= self._timers.clock.now_ns

    def emit_next(self) -> DataInputStatus:
        return self._source.poll_next()

    def when_available(self, callback: Callable[[], None]) -> None:
        """Calls back at the time that the reader set, or when the source is stopped or may read again."""
        self._source.on_available = callback
        wake_time_ns = self._source.wake_time_ns
        if wake_time_ns is not None:
            self._timers.call_at_ns(wake_time_ns, callback)

    def end_of_input_with_drain(self, chain: OperatorChain) -> None:
        """Emits MAX_WATERMARK, which only sources emit (rule 4.10)."""
        self._source.advance_to_end_of_event_time()

    def close(self) -> None:
        """Does nothing: the operator closes its reader."""


class ExploredSourceInput(StreamTaskSourceInput):
    """Reads each record when the exploration chooses to, if something else can happen to the task before.

    In Flink a record can come late, and the thread of a source can be slow; timers of its task, such as those of periodic
    watermarks, then come between two records.
    """

    __slots__ = ("_has_more", "_may_read", "_reading", "_waits_to_read")

    def __init__(self, source: SourceOperator, timers: TaskTimers) -> None:
        super().__init__(source, timers)
        self._reading = Origin("read", timers.actor_id)
        self._has_more = True
        self._may_read = self._waits_to_read = False

    @property
    def is_available(self) -> bool:
        return super().is_available and not self._waits_to_read

    def emit_next(self) -> DataInputStatus:
        can_read = self._has_more or super().is_available
        if can_read and not self._may_read and self._timers.scheduler.can_act_before_reading(self._timers.actor_id):
            self._waits_to_read = True
            return DataInputStatus.NOTHING_AVAILABLE
        self._may_read = False
        status = super().emit_next()
        self._has_more = status is not DataInputStatus.NOTHING_AVAILABLE
        return status

    def when_available(self, callback: Callable[[], None]) -> None:
        if not self._waits_to_read:
            super().when_available(callback)
            return

        def read() -> None:
            self._waits_to_read, self._may_read = False, True
            callback()

        self._source.on_available = callback
        scheduler = self._timers.scheduler
        scheduler.call_at_ns(scheduler.now_ns, read, origin=self._reading)


class SourceOperatorStreamTask(StreamTask):
    """Polls its source in the default action; a mail stops it. Flink: SourceOperatorStreamTask."""

    def create_source_input(self, source: StreamOperator) -> TaskInput:
        assert isinstance(source, SourceOperator)
        is_ordered = self.timers.scheduler.separates_elements
        return (ExploredSourceInput if is_ordered else StreamTaskSourceInput)(source, self.timers)

    def stop(self, mode: StopMode) -> None:
        """Stops the source from outside the task; does nothing for a task that has ended (rule 4.20)."""
        if self.mailbox.state is MailboxState.OPEN:
            executor = self.mailbox_processor.executor()
            executor.execute(lambda: self._stop_source(mode), f"stop, {mode.name.lower()}")

    def trigger_checkpoint(self, meta_data: CheckpointMetaData, options: CheckpointOptions) -> None:
        """Enqueues the trigger; a savepoint that stops the job stops the source first (rules 4.20, 12.139)."""
        checkpoints = self.checkpoints
        if checkpoints is None or not options.snapshot_type.is_synchronous:
            super().trigger_checkpoint(meta_data, options)
            return
        mode = StopMode.DRAIN if options.snapshot_type.should_drain else StopMode.NO_DRAIN
        trigger = super().trigger_checkpoint

        def stop() -> None:
            checkpoints.set_synchronous_savepoint(meta_data.checkpoint_id)
            self._stop_source(mode)
            self._when_stopped(mode, lambda: trigger(meta_data, options))

        self.mailbox_processor.executor().execute(stop, f"stop with savepoint {meta_data.checkpoint_id}")

    def _when_stopped(self, mode: StopMode, callback: Callable[[], None]) -> None:
        """Calls back when the source has ended; without drain at once.

        A source that was restored as finished and drains never calls back: it does not finish again (rule 4.20).
        """
        head = self.chain.head
        if mode is StopMode.DRAIN and isinstance(head, SourceOperator):
            head.when_finished(callback)
        else:
            callback()

    def _end_data(self, mode: StopMode) -> None:
        super()._end_data(mode)
        if mode is StopMode.NO_DRAIN and self.checkpoints is not None and self._reports_stop(self.checkpoints):
            self.checkpoints.gateway.notify_end_of_data()

    def _reports_stop(self, checkpoints: TaskCheckpoints) -> bool:
        """True if an end of data without drain is reported; a stop with savepoint has its checkpoint already."""
        return checkpoints.synchronous_savepoint_id is None and isinstance(self.chain.head, SourceOperator)

    def _stop_source(self, mode: StopMode) -> None:
        head = self.chain.head
        if isinstance(head, SourceOperator) and head.stop(mode):
            self.trace_stop(mode)
