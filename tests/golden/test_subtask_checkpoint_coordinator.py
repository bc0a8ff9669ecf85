"""SubtaskCheckpointCoordinator over a chain of three operators equals the real one (rules 12.5-12.7, 12.64-12.71, 12.90)."""

from __future__ import annotations

import pytest

from flowsim.streamrecord.checkpoint_exception import CheckpointException
from tests.support.checkpointing.subtask_checkpoints import CoordinatorPlay
from tests.support.flink.golden import cases


def test_every_command_equals_flinks() -> None:
    """All cases, all commands: order of the calls, aborts before and after the barrier, failures, timers."""
    commands = 0
    for case in cases("component/subtask_checkpoint_coordinator"):
        play = CoordinatorPlay(case["max_aborted"])
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            play.log.clear()
            if expected["err"] is None:
                play.play(command)
            else:
                with pytest.raises(CheckpointException) as raised:
                    play.play(command)
                assert ["CheckpointException", str(raised.value)] == expected["err"]
            assert play.log == expected["events"], (case["id"], commands, command)
            commands += 1
    assert commands == 9_002
