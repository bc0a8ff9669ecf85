"""SingleCheckpointBarrierHandler equals the real one in its three modes (rules 12.9-12.20, 12.73-12.89, 12.142, 12.143)."""

from __future__ import annotations

from typing import Any

from tests.support.checkpointing.barrier_handlers import HandlerPlay, comparable
from tests.support.flink.golden import cases


def test_every_command_equals_flinks() -> None:
    """All cases of several gates: announcements, direct triggers, timers, both ways to end a channel, measurements."""
    commands = 0
    for case in cases("component/barrier_handler_2"):
        play = HandlerPlay(
            case["mode"], case["gates"], case["aligned_timeout"], case["after_tasks_finish"], case["start_ms"]
        )
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
        play = HandlerPlay(case["mode"], [case["channels"]], timeout, True, 0)
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
