"""A SingleCheckpointBarrierHandler under the commands of the golden files."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from flowsim.network.checkpointing.single_checkpoint_barrier_handler import SingleCheckpointBarrierHandler
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.checkpoint_options import AlignmentType, CheckpointOptions, SnapshotType
from flowsim.streamrecord.events import CancelCheckpointMarker, CheckpointBarrier
from tests.support.checkpointing.recording_task import (
    Events,
    HandlerClock,
    RecordingInput,
    RecordingTask,
    RecordingTimers,
    Refusal,
)

UNORDERED = ("resume", "to_priority")
"""Calls that Flink makes in the order of hashes."""


class HandlerPlay:
    """A handler over gates with these numbers of channels."""

    def __init__(self, mode: str, gates: list[int], timeout_ms: int | None, after_finish: bool, start_ms: int) -> None:
        self.events: Events = []
        self.clock = HandlerClock(start_ms)
        self.task = RecordingTask(self.events)
        self.timers = RecordingTimers(self.clock, self.events)
        self.timeout_ms = timeout_ms
        self.refusal = Refusal()
        inputs = [RecordingInput(gate, self.events, self.refusal) for gate in range(len(gates))]
        if mode == "aligned":
            self.handler = SingleCheckpointBarrierHandler.aligned(
                self.task,
                self.clock,
                sum(gates),
                self.timers,
                inputs,
                checkpoints_after_tasks_finish=after_finish,
            )
            return
        create = (
            SingleCheckpointBarrierHandler.alternating
            if mode == "alternating"
            else SingleCheckpointBarrierHandler.unaligned
        )
        self.handler = create(
            self.task,
            self.task,
            self.clock,
            sum(gates),
            self.timers,
            inputs,
            checkpoints_after_tasks_finish=after_finish,
        )

    def options(self, kind: str) -> CheckpointOptions:
        match kind:
            case "savepoint":
                return CheckpointOptions(SnapshotType.SAVEPOINT, AlignmentType.ALIGNED)
            case "aligned":
                return CheckpointOptions(SnapshotType.CHECKPOINT, AlignmentType.ALIGNED)
            case "unaligned":
                return CheckpointOptions(SnapshotType.CHECKPOINT, AlignmentType.UNALIGNED)
            case "timeoutable" if self.timeout_ms is not None:
                return CheckpointOptions(SnapshotType.CHECKPOINT, AlignmentType.ALIGNED, self.timeout_ms)
        raise AssertionError(f"unknown kind {kind}")

    def play(self, command: list[Any]) -> None:
        handler = self.handler
        match command:
            case ["barrier" | "rpc_barrier" as name, gate, channel, checkpoint, kind, timestamp]:
                barrier = CheckpointBarrier(checkpoint, timestamp, self.options(kind))
                handler.process_barrier(
                    barrier, InputChannelInfo(gate, channel), is_rpc_triggered=name == "rpc_barrier"
                )
            case ["announce", gate, channel, checkpoint, number, timestamp]:
                barrier = CheckpointBarrier(checkpoint, timestamp, self.options("timeoutable"))
                handler.process_barrier_announcement(barrier, number, InputChannelInfo(gate, channel))
            case ["cancel", gate, channel, checkpoint]:
                handler.process_cancellation_barrier(
                    CancelCheckpointMarker(checkpoint), InputChannelInfo(gate, channel)
                )
            case ["end_of_partition", gate, channel]:
                handler.process_end_of_partition(InputChannelInfo(gate, channel))
            case ["refuse"]:
                self.refusal.is_due = True
            case ["bytes", size]:
                handler.add_processed_bytes(size)
            case ["late_ms", duration]:
                self.clock.advance_ms(duration)
            case ["advance_ms", duration]:
                self.timers.advance_ms(duration)
            case _:
                raise AssertionError(f"unknown command {command}")

    def observed(self, command: list[Any]) -> dict[str, Any]:
        self.events.clear()
        self.play(command)
        return {
            "events": comparable(self.events),
            "err": None,
            "latest": self.handler.latest_checkpoint_id,
            "pending": self.handler.is_checkpoint_pending,
            "alignment_nanos": self.handler.alignment_duration_ns,
            "start_delay_nanos": self.handler.start_delay_ns,
        }


def comparable(events: Events) -> Events:
    """Sorts the calls in a row whose order is that of hashes."""
    result: Events = []
    for name, group in groupby(events, key=lambda event: str(event[0])):
        calls = list(group)
        result += sorted(calls) if name in UNORDERED else calls
    return result
