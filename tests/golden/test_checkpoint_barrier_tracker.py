"""CheckpointBarrierTracker equals the real one, its measurements included (rules 12.16, 12.79-12.82, 12.142, 12.143)."""

from __future__ import annotations

from tests.support.checkpointing.trackers import TrackerPlay
from tests.support.flink.golden import cases


def test_every_command_equals_flinks() -> None:
    """All cases, all commands: old and repeated ids, cancellations, ends of channels, more than 50 checkpoints."""
    commands = 0
    for case in cases("component/barrier_tracker"):
        play = TrackerPlay(case)
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            assert play.observed(command) == expected, (case["id"], commands, command)
            commands += 1
        assert play.task.triggered_metrics() == case["triggered_metrics"], case["id"]
    assert commands == 11_120
