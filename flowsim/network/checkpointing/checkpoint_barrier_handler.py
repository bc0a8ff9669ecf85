"""The base of barrier handlers, which measures the alignment. Flink: CheckpointBarrierHandler."""

from __future__ import annotations

from typing import assert_never

from flowsim.network.checkpointing.checkpoint_metrics import Alignment, CheckpointMetaData, CheckpointMetrics
from flowsim.network.checkpointing.checkpointable import CheckpointableTask
from flowsim.network.completion import Completion
from flowsim.network.errors import IllegalState
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.events import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    EndOfData,
    EndOfInputChannelStateEvent,
    EndOfOutputChannelStateEvent,
    EndOfPartitionEvent,
    Event,
    EventAnnouncement,
    SubtaskConnectionDescriptor,
)
from flowsim.task_clock import Clock
from flowsim.units import NS_PER_MS


class CheckpointBarrierHandler:
    """Decides when a task takes a checkpoint, by the barriers of its channels. Flink: CheckpointBarrierHandler.

    ``checkpoints_after_tasks_finish``: a channel that ended counts as one that delivered the barrier (rule 12.12).
    """

    def __init__(self, task: CheckpointableTask, clock: Clock, checkpoints_after_tasks_finish: bool) -> None:
        self.checkpoints_after_tasks_finish = checkpoints_after_tasks_finish
        self.start_delay_ns = 0
        """The age of the newest checkpoint at its first barrier (rule 12.142)."""
        self._task = task
        self._clock = clock
        self._alignment = Alignment()
        self._alignment_start_ns: int | None = None
        self._alignment_checkpoint = -1
        self._bytes_during_alignment = 0

    def process_event(self, channel: InputChannelInfo, event: Event) -> None:
        """Handles an event that the task read from ``channel``."""
        match event:
            case CheckpointBarrier():
                self.process_barrier(event, channel, is_rpc_triggered=False)
            case CancelCheckpointMarker():
                self.process_cancellation_barrier(event, channel)
            case EndOfPartitionEvent():
                self.process_end_of_partition(channel)
            case EventAnnouncement(announced, sequence_number):
                self.process_barrier_announcement(announced, sequence_number, channel)
            case EndOfData() | EndOfOutputChannelStateEvent() | EndOfInputChannelStateEvent():
                pass
            case SubtaskConnectionDescriptor():
                pass
            case _:
                assert_never(event)

    def process_barrier(self, barrier: CheckpointBarrier, channel: InputChannelInfo, *, is_rpc_triggered: bool) -> None:
        """Handles a barrier. ``is_rpc_triggered``: the coordinator triggered the task directly (rule 12.14)."""
        raise NotImplementedError

    def process_barrier_announcement(
        self, announced: CheckpointBarrier, sequence_number: int, channel: InputChannelInfo
    ) -> None:
        """Handles the announcement of a barrier that arrived behind data (rule 12.20)."""
        raise NotImplementedError

    def process_cancellation_barrier(self, marker: CancelCheckpointMarker, channel: InputChannelInfo) -> None:
        raise NotImplementedError

    def process_end_of_partition(self, channel: InputChannelInfo) -> None:
        raise NotImplementedError

    @property
    def latest_checkpoint_id(self) -> int:
        """The newest checkpoint that the handler knows, -1 if there is none."""
        raise NotImplementedError

    @property
    def is_checkpoint_pending(self) -> bool:
        """Returns True if barriers of a checkpoint are missing."""
        raise NotImplementedError

    def all_barriers_received(self, checkpoint_id: int) -> Completion[None]:
        """Returns the completion of the last barrier. Raises IllegalState for an unknown, newer checkpoint."""
        return Completion.completed()

    def close(self) -> None:
        """Called when the task ends."""

    @property
    def alignment_duration_ns(self) -> int:
        """The duration of the running or last alignment (rule 12.143)."""
        if self._alignment_start_ns is not None:
            return self._clock.now_ns - self._alignment_start_ns
        return self._alignment.duration_ns or 0

    def add_processed_bytes(self, size_bytes: int) -> None:
        """Counts a data buffer that the task read (rule 12.142)."""
        if self._alignment_start_ns is not None:
            self._bytes_during_alignment += size_bytes

    def _notify_checkpoint(self, barrier: CheckpointBarrier) -> None:
        meta_data = CheckpointMetaData(barrier.checkpoint_id, barrier.timestamp_ms, self._now_ms)
        if barrier.checkpoint_id == self._alignment_checkpoint:
            metrics = CheckpointMetrics(self._alignment, self.start_delay_ns)
        else:
            # Rule 12.143: the alignment of another checkpoint was measured.
            metrics = CheckpointMetrics(Alignment(0, 0), 0)
        self._task.trigger_checkpoint_on_barrier(meta_data, barrier.options, metrics)

    def _notify_abort(self, checkpoint_id: int, reason: CheckpointFailureReason) -> None:
        self._task.abort_checkpoint_on_barrier(checkpoint_id, CheckpointException(reason))

    def _mark_alignment_start_and_end(self, barrier: CheckpointBarrier) -> None:
        self._mark_alignment_start(barrier)
        self._end_alignment(0)

    def _mark_alignment_start(self, barrier: CheckpointBarrier) -> None:
        self.start_delay_ns = NS_PER_MS * max(0, self._now_ms - barrier.timestamp_ms)
        self._reset_alignment()
        self._alignment_start_ns = self._clock.now_ns
        self._alignment_checkpoint = barrier.checkpoint_id

    def _mark_alignment_end(self) -> None:
        if self._alignment_start_ns is None:
            raise IllegalState("no alignment is running")
        self._end_alignment(self._clock.now_ns - self._alignment_start_ns)

    def _reset_alignment(self) -> None:
        """Ends the measurement with a duration of 0 (rule 12.143)."""
        self._end_alignment(0)
        self._alignment = Alignment()

    def _end_alignment(self, duration_ns: int) -> None:
        self._alignment.end(duration_ns, self._bytes_during_alignment)
        self._alignment_start_ns = None
        self._bytes_during_alignment = 0

    @property
    def _now_ms(self) -> int:
        return self._clock.now_ns // NS_PER_MS
