"""SingleCheckpointBarrierHandler equals the real one in its three modes (rules 12.9-12.20, 12.73-12.89, 12.142, 12.143)."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from flowsim.network.checkpointing.checkpointable import InputChannelInfo
from flowsim.network.checkpointing.single_checkpoint_barrier_handler import SingleCheckpointBarrierHandler
from flowsim.streamrecord.checkpoint_options import AlignmentType, CheckpointOptions, SnapshotType
from flowsim.streamrecord.events import CancelCheckpointMarker, CheckpointBarrier
from tests.support.checkpointing.recording_task import (
    Events,
    HandlerClock,
    RecordingInput,
    RecordingTask,
    RecordingTimers,
)
from tests.support.flink.golden import cases

UNORDERED = ("resume", "to_priority")
"""Calls that Flink makes in the order of hashes."""


class Play:
    """A handler over gates with these numbers of channels."""

    def __init__(self, mode: str, gates: list[int], timeout_ms: int | None, after_finish: bool, start_ms: int) -> None:
        self.events: Events = []
        self.clock = HandlerClock(start_ms)
        self.task = RecordingTask(self.events)
        self.timers = RecordingTimers(self.clock, self.events)
        self.timeout_ms = timeout_ms
        inputs = [RecordingInput(gate, self.events) for gate in range(len(gates))]
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
            case ["bytes", size]:
                handler.add_processed_bytes(size)
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


def test_every_command_equals_flinks() -> None:
    """All cases of several gates: announcements, direct triggers, timers, both ways to end a channel, measurements."""
    commands = 0
    for case in cases("component/barrier_handler_2"):
        play = Play(case["mode"], case["gates"], case["aligned_timeout"], case["after_tasks_finish"], case["start_ms"])
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            expected = {**expected, "events": comparable(expected["events"])}
            assert play.observed(command) == expected, (case["id"], commands, command)
            commands += 1
        assert play.task.triggered_metrics() == case["triggered_metrics"], case["id"]
    assert commands == 12_470


def test_every_command_of_one_gate_equals_flinks() -> None:
    """All cases of one gate, in the three modes; here barriers are as old as the command."""
    commands = 0
    for case in cases("component/checkpoint_barrier_handler"):
        timeout = case["aligned_timeout"]
        play = Play(case["mode"], [case["channels"]], timeout, True, 0)
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            play.events.clear()
            play.play(with_gate(command, case["mode"], play.clock.now_ns // 1_000_000))
            recorded = [
                [event[0], *event[2:]]
                if event[0] in ("block", "resume", "started", "stopped", "to_priority")
                else event
                for event in play.events
                if event[0] not in ("timer", "timer_cancel", "timer_fires")
            ]
            events = [event[:2] if event[0] == "init_inputs" else event for event in recorded]
            assert comparable(events) == comparable(expected["events"]), (case["id"], commands, command)
            assert play.handler.latest_checkpoint_id == expected["latest"]
            assert play.handler.is_checkpoint_pending is expected["pending"]
            assert expected["err"] is None
            commands += 1
    assert commands == 7_586


def with_gate(command: list[Any], mode: str, now_ms: int) -> list[Any]:
    """The command in the form of the cases with several gates."""
    kinds = {"aligned": "aligned", "unaligned": "unaligned", "alternating": "timeoutable"}
    match command:
        case ["barrier", channel, checkpoint]:
            return ["barrier", 0, channel, checkpoint, kinds[mode], now_ms]
        case ["cancel" | "end_of_partition" as name, channel, *rest]:
            return [name, 0, channel, *rest]
    return command
