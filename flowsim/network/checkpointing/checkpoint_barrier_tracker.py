"""Counts barriers without blocking channels: at least once. Flink: CheckpointBarrierTracker."""

from __future__ import annotations

from collections import deque
from typing import Final

from flowsim.errors import InvariantViolation
from flowsim.network.checkpointing.checkpoint_barrier_handler import CheckpointBarrierHandler
from flowsim.network.checkpointing.checkpointable import CheckpointableTask
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.checkpoint_exception import CheckpointFailureReason
from flowsim.streamrecord.events import CancelCheckpointMarker, CheckpointBarrier
from flowsim.task_clock import Clock

MAX_CHECKPOINTS_TO_TRACK: Final = 50
"""The number of checkpoints that a tracker remembers (rule 12.79)."""


class CheckpointBarrierCount:
    """The channels that delivered one checkpoint. Flink: CheckpointBarrierTracker.CheckpointBarrierCount.

    ``barrier`` is None if a cancellation came first. ``target_channels``: the channels that were open then.
    """

    __slots__ = ("checkpoint_id", "barrier", "target_channels", "is_aborted", "_aligned")

    def __init__(
        self, checkpoint_id: int, barrier: CheckpointBarrier | None, channel: InputChannelInfo, target_channels: int
    ) -> None:
        self.checkpoint_id = checkpoint_id
        self.barrier = barrier
        self.target_channels = target_channels
        self.is_aborted = False
        self._aligned = {channel}

    def mark_channel_aligned(self, channel: InputChannelInfo) -> bool:
        """Adds a channel; returns True if all channels delivered the checkpoint."""
        self._aligned.add(channel)
        return len(self._aligned) == self.target_channels

    def mark_aborted(self) -> bool:
        """Marks the checkpoint as aborted; returns True the first time."""
        is_first = not self.is_aborted
        self.is_aborted = True
        return is_first


class CheckpointBarrierTracker(CheckpointBarrierHandler):
    """Triggers a checkpoint when all channels delivered its barrier (rules 12.16, 12.79 to 12.82).

    Flink: CheckpointBarrierTracker.
    """

    def __init__(
        self, open_channels: int, task: CheckpointableTask, clock: Clock, checkpoints_after_tasks_finish: bool
    ) -> None:
        super().__init__(task, clock, checkpoints_after_tasks_finish)
        self.open_channels = open_channels
        self._pending: deque[CheckpointBarrierCount] = deque()
        self._latest_pending_id = -1

    @property
    def pending_checkpoint_ids(self) -> list[int]:
        return [count.checkpoint_id for count in self._pending]

    @property
    def latest_checkpoint_id(self) -> int:
        return self._pending[-1].checkpoint_id if self._pending else -1

    @property
    def is_checkpoint_pending(self) -> bool:
        return bool(self._pending)

    def process_barrier(self, barrier: CheckpointBarrier, channel: InputChannelInfo, *, is_rpc_triggered: bool) -> None:
        checkpoint_id = barrier.checkpoint_id
        if checkpoint_id > self._latest_pending_id and self.open_channels == 1:
            # Rule 12.80: the checkpoint is not recorded.
            self._mark_alignment_start_and_end(barrier)
            self._notify_checkpoint(barrier)
            return
        count = next((count for count in self._pending if count.checkpoint_id == checkpoint_id), None)
        if count is not None:
            if count.mark_channel_aligned(channel):
                self._complete(count)
        elif checkpoint_id > self._latest_pending_id:
            self._mark_alignment_start(barrier)
            self._latest_pending_id = checkpoint_id
            self._pending.append(CheckpointBarrierCount(checkpoint_id, barrier, channel, self.open_channels))
            if len(self._pending) > MAX_CHECKPOINTS_TO_TRACK:
                self._pending.popleft()

    def process_barrier_announcement(
        self, announced: CheckpointBarrier, sequence_number: int, channel: InputChannelInfo
    ) -> None:
        """Does nothing: barriers of at least once are never announced."""

    def process_cancellation_barrier(self, marker: CancelCheckpointMarker, channel: InputChannelInfo) -> None:
        """Aborts a checkpoint and all older ones (rule 12.81)."""
        checkpoint_id = marker.checkpoint_id
        if checkpoint_id > self._latest_pending_id and self.open_channels == 1:
            self._reset_alignment()
            self._abort_on_cancellation(checkpoint_id)
            return
        while self._pending and self._pending[0].checkpoint_id < checkpoint_id:
            older = self._pending.popleft()
            if older.mark_aborted():
                self._abort_on_cancellation(older.checkpoint_id)
        if self._pending and self._pending[0].checkpoint_id == checkpoint_id:
            count = self._pending[0]
            if count.mark_aborted():
                self._abort_on_cancellation(checkpoint_id)
            if count.mark_channel_aligned(channel):
                self._pending.popleft()
        elif checkpoint_id > self._latest_pending_id:
            self._abort_on_cancellation(checkpoint_id)
            self._latest_pending_id = checkpoint_id
            count = CheckpointBarrierCount(checkpoint_id, None, channel, self.open_channels)
            count.mark_aborted()
            self._pending.appendleft(count)

    def process_end_of_partition(self, channel: InputChannelInfo) -> None:
        """Counts an ended channel as one that delivers all pending checkpoints (rule 12.82)."""
        self.open_channels -= 1
        if self.checkpoints_after_tasks_finish:
            for count in reversed(self._pending):
                if count.mark_channel_aligned(channel):
                    self._complete(count)
                    break
            return
        while self._pending:
            count = self._pending.popleft()
            if count.mark_aborted():
                self._notify_abort(count.checkpoint_id, CheckpointFailureReason.CHECKPOINT_DECLINED_INPUT_END_OF_STREAM)
        self._reset_alignment()

    def _complete(self, count: CheckpointBarrierCount) -> None:
        """Forgets a checkpoint and all older ones, and triggers it unless it was aborted (rule 12.16)."""
        while self._pending.popleft() is not count:
            pass
        if count.is_aborted:
            return
        if count.checkpoint_id == self._latest_pending_id:
            self._mark_alignment_end()
        if count.barrier is None:
            raise InvariantViolation("Pending checkpoint barrier must exist for non-aborted checkpoints.")
        self._notify_checkpoint(count.barrier)

    def _abort_on_cancellation(self, checkpoint_id: int) -> None:
        self._notify_abort(checkpoint_id, CheckpointFailureReason.CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER)
