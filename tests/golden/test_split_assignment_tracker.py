"""SplitAssignmentTracker equals the real one (rules 12.112, 12.113)."""

from __future__ import annotations

from tests.support.checkpoints.component_plays import SplitTrackerPlay
from tests.support.flink.golden import cases


def test_every_command_equals_flinks() -> None:
    seen = 0
    for case in cases("component/split_assignment_tracker"):
        play = SplitTrackerPlay(case)
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            assert play.play(command) == expected, (case["id"], number, command)
        seen += 1
    assert seen == 300
