"""Handles the barriers of one checkpoint at a time, exactly once. Flink: SingleCheckpointBarrierHandler."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.errors import InvariantViolation
from flowsim.network.checkpointing.aligned_states import WaitingForFirstBarrier
from flowsim.network.checkpointing.alternating_states import (
    AlternatingWaitingForFirstBarrier,
    AlternatingWaitingForFirstBarrierUnaligned,
)
from flowsim.network.checkpointing.barrier_handler_state import BarrierHandlerState, ChannelState
from flowsim.network.checkpointing.checkpoint_barrier_handler import CheckpointBarrierHandler
from flowsim.network.checkpointing.checkpointable import (
    CheckpointableInput,
    CheckpointableTask,
    DelayableTimer,
    InputsCheckpointInitializer,
)
from flowsim.network.completion import Completion
from flowsim.network.errors import IllegalState
from flowsim.sim.scheduler import Timer
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.events import CancelCheckpointMarker, CheckpointBarrier
from flowsim.task_clock import Clock


class SingleCheckpointBarrierHandler(CheckpointBarrierHandler):
    """Collects the barriers of the newest checkpoint; its states decide when the task takes it (rule 12.9).

    A newer checkpoint aborts the one that is pending. Invariant: a checkpoint is pending if and only if
    ``latest_checkpoint_id`` is neither -1 nor the last cancelled or completed one. Flink:
    SingleCheckpointBarrierHandler.
    """

    def __init__(
        self,
        task: CheckpointableTask,
        clock: Clock,
        open_channels: int,
        timers: DelayableTimer,
        inputs: Sequence[CheckpointableInput],
        state: BarrierHandlerState,
        *,
        coordinator: InputsCheckpointInitializer | None,
        is_alternating: bool,
        checkpoints_after_tasks_finish: bool,
    ) -> None:
        super().__init__(task, clock, checkpoints_after_tasks_finish)
        self.open_channels = open_channels
        self.pending_checkpoint_barrier: CheckpointBarrier | None = None
        self._timers = timers
        self._inputs = inputs
        self._state = state
        self._coordinator = coordinator
        self._is_alternating = is_alternating
        self._current_id = -1
        self._last_cancelled_or_completed_id = -1
        self._aligned_channels: set[InputChannelInfo] = set()
        self._target_channels = 0
        self._all_barriers_received: Completion[None] = Completion()
        self._alignment_timer: Timer | None = None

    @classmethod
    def aligned(
        cls,
        task: CheckpointableTask,
        clock: Clock,
        open_channels: int,
        timers: DelayableTimer,
        inputs: Sequence[CheckpointableInput],
        *,
        checkpoints_after_tasks_finish: bool,
    ) -> SingleCheckpointBarrierHandler:
        """Returns the handler of a job without unaligned checkpoints."""
        return cls(
            task,
            clock,
            open_channels,
            timers,
            inputs,
            WaitingForFirstBarrier(ChannelState(inputs)),
            coordinator=None,
            is_alternating=False,
            checkpoints_after_tasks_finish=checkpoints_after_tasks_finish,
        )

    @classmethod
    def alternating(
        cls,
        task: CheckpointableTask,
        coordinator: InputsCheckpointInitializer,
        clock: Clock,
        open_channels: int,
        timers: DelayableTimer,
        inputs: Sequence[CheckpointableInput],
        *,
        checkpoints_after_tasks_finish: bool,
    ) -> SingleCheckpointBarrierHandler:
        """Returns the handler of a job with unaligned checkpoints (rule 12.17)."""
        return cls(
            task,
            clock,
            open_channels,
            timers,
            inputs,
            AlternatingWaitingForFirstBarrier(ChannelState(inputs)),
            coordinator=coordinator,
            is_alternating=True,
            checkpoints_after_tasks_finish=checkpoints_after_tasks_finish,
        )

    @classmethod
    def unaligned(
        cls,
        task: CheckpointableTask,
        coordinator: InputsCheckpointInitializer,
        clock: Clock,
        open_channels: int,
        timers: DelayableTimer,
        inputs: Sequence[CheckpointableInput],
        *,
        checkpoints_after_tasks_finish: bool,
    ) -> SingleCheckpointBarrierHandler:
        """Returns a handler that never aligns; Flink uses it only in tests (rule 12.17)."""
        return cls(
            task,
            clock,
            open_channels,
            timers,
            inputs,
            AlternatingWaitingForFirstBarrierUnaligned(ChannelState(inputs), is_alternating=False),
            coordinator=coordinator,
            is_alternating=False,
            checkpoints_after_tasks_finish=checkpoints_after_tasks_finish,
        )

    @property
    def latest_checkpoint_id(self) -> int:
        return self._current_id

    @property
    def is_checkpoint_pending(self) -> bool:
        return self._current_id not in (-1, self._last_cancelled_or_completed_id)

    def process_barrier(self, barrier: CheckpointBarrier, channel: InputChannelInfo, *, is_rpc_triggered: bool) -> None:
        """Handles a barrier (rules 12.10 to 12.14)."""
        if self._is_obsolete(barrier.checkpoint_id):
            # Rule 12.10: an unaligned barrier has not blocked its channel.
            if not barrier.options.is_unaligned_checkpoint:
                self._inputs[channel.gate].resume_consumption(channel)
            return
        self._check_new_checkpoint(barrier)
        self._mark_channel_aligned(
            channel,
            barrier,
            lambda: self._state.barrier_received(self, channel, barrier, mark_channel_blocked=not is_rpc_triggered),
        )

    def process_barrier_announcement(
        self, announced: CheckpointBarrier, sequence_number: int, channel: InputChannelInfo
    ) -> None:
        self._check_new_checkpoint(announced)
        if not self._is_obsolete(announced.checkpoint_id):
            self._state = self._state.announcement_received(self, channel, sequence_number)

    def process_cancellation_barrier(self, marker: CancelCheckpointMarker, channel: InputChannelInfo) -> None:
        """Aborts the checkpoint, unless this is known already (rules 12.13, 12.75, 12.76)."""
        checkpoint_id = marker.checkpoint_id
        if checkpoint_id > self._current_id or (checkpoint_id == self._current_id and self._aligned_channels):
            self._abort(checkpoint_id, CheckpointFailureReason.CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER)

    def process_end_of_partition(self, channel: InputChannelInfo) -> None:
        """Counts an ended channel as one that delivered the pending barrier (rules 12.12, 12.74)."""
        self.open_channels -= 1
        if not self.is_checkpoint_pending:
            return
        if not self.checkpoints_after_tasks_finish:
            self._abort(self._current_id, CheckpointFailureReason.CHECKPOINT_DECLINED_INPUT_END_OF_STREAM)
            return
        barrier = self.pending_checkpoint_barrier
        if barrier is None:
            raise InvariantViolation("pending checkpoint barrier should not be null when there is pending checkpoint.")
        self._mark_channel_aligned(channel, barrier, lambda: self._state.end_of_partition_received(self, channel))

    def all_barriers_received(self, checkpoint_id: int) -> Completion[None]:
        if checkpoint_id < self._current_id or self.open_channels == 0:
            return Completion.completed()
        if checkpoint_id > self._current_id:
            raise IllegalState(f"Checkpoint {checkpoint_id} has not been started at all")
        return self._all_barriers_received

    def close(self) -> None:
        """Cancels the alignment timer, and fails the completion of the last barrier."""
        self._reset_alignment_timer()
        self._all_barriers_received.complete_exceptionally(IllegalState("the task is ending"))

    # The controller of the states.

    def trigger_global_checkpoint(self, barrier: CheckpointBarrier) -> None:
        self._notify_checkpoint(barrier)

    def init_inputs_checkpoint(self, barrier: CheckpointBarrier) -> None:
        if self._coordinator is None:
            raise IllegalState("a handler that only aligns has no channel state")
        self._coordinator.init_inputs_checkpoint(barrier.checkpoint_id, barrier.options)

    def is_timed_out(self, barrier: CheckpointBarrier) -> bool:
        options = barrier.options
        return (
            options.is_timeoutable
            and barrier.checkpoint_id <= self._current_id
            and options.aligned_timeout_ms < self._now_ms - barrier.timestamp_ms
        )

    @property
    def has_all_barriers(self) -> bool:
        return len(self._aligned_channels) == self._target_channels

    # Details.

    def _is_obsolete(self, checkpoint_id: int) -> bool:
        return checkpoint_id < self._current_id or (
            checkpoint_id == self._current_id and not self.is_checkpoint_pending
        )

    def _check_new_checkpoint(self, barrier: CheckpointBarrier) -> None:
        """Starts the alignment of a newer checkpoint (rule 12.73)."""
        if barrier.checkpoint_id <= self._current_id:
            return
        if self.is_checkpoint_pending:
            self._abort(self._current_id, CheckpointFailureReason.CHECKPOINT_DECLINED_SUBSUMED)
        self._current_id = barrier.checkpoint_id
        self.pending_checkpoint_barrier = barrier
        self._aligned_channels.clear()
        self._target_channels = self.open_channels
        self._all_barriers_received = Completion()
        if self._is_alternating and barrier.options.is_timeoutable:
            delay_ms = max(0, barrier.options.aligned_timeout_ms - (self._now_ms - barrier.timestamp_ms))
            self._alignment_timer = self._timers.register_task(lambda: self._on_timeout(barrier), delay_ms)

    def _mark_channel_aligned(
        self, channel: InputChannelInfo, barrier: CheckpointBarrier, next_state: Callable[[], BarrierHandlerState]
    ) -> None:
        """Counts a channel, and lets the state handle its barrier or end (rules 12.11, 12.77)."""
        self._aligned_channels.add(channel)
        if len(self._aligned_channels) == 1:
            if self._target_channels == 1:
                self._mark_alignment_start_and_end(barrier)
            else:
                self._mark_alignment_start(barrier)
        # The barrier must be counted before the state handles it: the task reads the measurements there.
        if self.has_all_barriers and self._target_channels > 1:
            self._mark_alignment_end()
        try:
            self._state = next_state()
        except CheckpointException as error:
            self._abort_for(self._current_id, error)
        if self.has_all_barriers:
            self._aligned_channels.clear()
            self._last_cancelled_or_completed_id = self._current_id
            self._reset_alignment_timer()
            self._all_barriers_received.complete(None)

    def _on_timeout(self, barrier: CheckpointBarrier) -> None:
        """Makes the pending checkpoint unaligned (rule 12.20)."""
        if barrier.checkpoint_id == self._current_id and not self._all_barriers_received.is_done:
            try:
                self._state = self._state.aligned_checkpoint_timeout(self, barrier)
            except CheckpointException as error:
                self._abort_for(barrier.checkpoint_id, error)
        self._alignment_timer = None

    def _abort(self, checkpoint_id: int, reason: CheckpointFailureReason) -> None:
        self._abort_for(checkpoint_id, CheckpointException(reason))

    def _abort_for(self, checkpoint_id: int, error: CheckpointException) -> None:
        """Resumes all channels, and reports the abort of ``checkpoint_id`` (rules 12.13, 12.75)."""
        self._current_id = max(checkpoint_id, self._current_id)
        self._last_cancelled_or_completed_id = max(self._last_cancelled_or_completed_id, checkpoint_id)
        self.pending_checkpoint_barrier = None
        self._aligned_channels.clear()
        self._target_channels = 0
        self._reset_alignment_timer()
        self._state = self._state.abort(checkpoint_id)
        if checkpoint_id == self._current_id:
            self._reset_alignment()
        self._task.abort_checkpoint_on_barrier(checkpoint_id, error)
        self._all_barriers_received.complete_exceptionally(error)

    def _reset_alignment_timer(self) -> None:
        if self._alignment_timer is not None:
            self._alignment_timer.cancel()
            self._alignment_timer = None
