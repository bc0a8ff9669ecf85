"""CheckpointBarrierTracker equals the real one, its measurements included (rules 12.16, 12.79-12.82, 12.142, 12.143)."""

from __future__ import annotations

from typing import Any

from flowsim.network.checkpointing.checkpoint_barrier_tracker import CheckpointBarrierTracker
from flowsim.network.checkpointing.checkpointable import InputChannelInfo
from flowsim.streamrecord.checkpoint_options import AlignmentType, CheckpointOptions, SnapshotType
from flowsim.streamrecord.events import CancelCheckpointMarker, CheckpointBarrier
from tests.support.checkpointing.recording_task import Events, HandlerClock, RecordingTask
from tests.support.flink.golden import cases

AT_LEAST_ONCE = CheckpointOptions(SnapshotType.CHECKPOINT, AlignmentType.AT_LEAST_ONCE)


class Play:
    def __init__(self, case: dict[str, Any]) -> None:
        self.events: Events = []
        self.clock = HandlerClock(1000)
        self.task = RecordingTask(self.events)
        self.tracker = CheckpointBarrierTracker(case["channels"], self.task, self.clock, case["after_tasks_finish"])

    def play(self, command: list[Any]) -> None:
        tracker = self.tracker
        match command:
            case ["barrier", channel, checkpoint, timestamp]:
                barrier = CheckpointBarrier(checkpoint, timestamp, AT_LEAST_ONCE)
                tracker.process_barrier(barrier, InputChannelInfo(0, channel), is_rpc_triggered=False)
            case ["cancel", channel, checkpoint]:
                tracker.process_cancellation_barrier(CancelCheckpointMarker(checkpoint), InputChannelInfo(0, channel))
            case ["end_of_partition", channel]:
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
            "latest": self.tracker.latest_checkpoint_id,
            "pending": self.tracker.pending_checkpoint_ids,
            "alignment_nanos": self.tracker.alignment_duration_ns,
            "start_delay_nanos": self.tracker.start_delay_ns,
        }


def test_every_command_equals_flinks() -> None:
    """All cases, all commands: old and repeated ids, cancellations, ends of channels, more than 50 checkpoints."""
    commands = 0
    for case in cases("component/barrier_tracker"):
        play = Play(case)
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            assert play.observed(command) == expected, (case["id"], commands, command)
            commands += 1
        assert play.task.triggered_metrics() == case["triggered_metrics"], case["id"]
    assert commands == 11_120
