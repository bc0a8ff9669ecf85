"""CompletedCheckpointStore and CheckpointsCleaner equal the real ones (rules 12.60, 12.63)."""

from __future__ import annotations

from tests.support.checkpoints.component_plays import StorePlay
from tests.support.flink.golden import cases


def test_every_command_equals_flinks() -> None:
    seen = 0
    for case in cases("component/completed_checkpoint_store"):
        play = StorePlay(case)
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            assert play.play(command) == expected, (case["id"], number, command)
        seen += 1
    assert seen == 400
