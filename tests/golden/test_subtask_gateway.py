"""The gateways of OperatorCoordinatorHolder equal the real SubtaskGatewayImpl (rule 12.109)."""

from __future__ import annotations

from tests.support.checkpoints.component_plays import GatewayPlay
from tests.support.flink.golden import cases


def test_every_command_equals_flinks() -> None:
    seen = 0
    for case in cases("component/subtask_gateway"):
        play = GatewayPlay(case)
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            assert play.play(command) == {**expected, "err": expected["err"] and expected["err"][0]}, (
                case["id"],
                number,
                command,
            )
        seen += 1
    assert seen == 300
