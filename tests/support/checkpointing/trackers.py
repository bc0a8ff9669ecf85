"""A CheckpointBarrierTracker under the commands of the golden file."""

from __future__ import annotations

from typing import Any

from flowsim.network.checkpointing.checkpoint_barrier_tracker import CheckpointBarrierTracker
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.checkpoint_options import AlignmentType, CheckpointOptions, SnapshotType
from flowsim.streamrecord.events import CancelCheckpointMarker, CheckpointBarrier
from tests.support.checkpointing.recording_task import Events, HandlerClock, RecordingTask

AT_LEAST_ONCE = CheckpointOptions(SnapshotType.CHECKPOINT, AlignmentType.AT_LEAST_ONCE)


class TrackerPlay:
    def __init__(self, case: dict[str, Any]) -> None:
        self.events: Events = []
        self.clock = HandlerClock(1000)
        self.task = RecordingTask(self.events)
        self.handler = CheckpointBarrierTracker(case["channels"], self.task, self.clock, case["after_tasks_finish"])

    def play(self, command: list[Any]) -> None:
        tracker = self.handler
        match command:
            case ["barrier", channel, checkpoint, timestamp] | ["barrier", _, channel, checkpoint, _, timestamp]:
                barrier = CheckpointBarrier(checkpoint, timestamp, AT_LEAST_ONCE)
                tracker.process_barrier(barrier, InputChannelInfo(0, channel), is_rpc_triggered=False)
            case ["cancel", channel, checkpoint] | ["cancel", _, channel, checkpoint]:
                tracker.process_cancellation_barrier(CancelCheckpointMarker(checkpoint), InputChannelInfo(0, channel))
            case ["end_of_partition", channel] | ["end_of_partition", _, channel]:
                tracker.process_end_of_partition(InputChannelInfo(0, channel))
            case ["bytes", size]:
                tracker.add_processed_bytes(size)
            case ["advance_ms", duration]:
                self.clock.advance_ms(duration)
            case _:
                raise AssertionError(f"unknown command {command}")

    def observed(self, command: list[Any]) -> dict[str, Any]:
        self.events.clear()
        self.play(command)
        return {
            "events": list(self.events),
            "err": None,
            "latest": self.handler.latest_checkpoint_id,
            "pending": self.handler.pending_checkpoint_ids,
            "alignment_nanos": self.handler.alignment_duration_ns,
            "start_delay_nanos": self.handler.start_delay_ns,
        }
