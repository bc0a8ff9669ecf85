"""SubtaskGateway equals the real SubtaskGatewayImpl (rule 12.109)."""

from __future__ import annotations

from functools import partial
from typing import Any

from flowsim.checkpoints.coordination.subtask_gateway import SubtaskGateway
from flowsim.errors import InvariantViolation
from tests.support.flink.golden import cases


def play(gateway: SubtaskGateway, sent: list[int], command: list[Any]) -> bool | None:
    match command:
        case ["send", number]:
            gateway.send_event(partial(sent.append, number))
        case ["mark", checkpoint_id]:
            gateway.mark_for_checkpoint(checkpoint_id)
        case ["close", checkpoint_id]:
            return gateway.try_close_gateway(checkpoint_id)
        case ["open", checkpoint_id]:
            gateway.open_gateway_and_unmark_checkpoint(checkpoint_id)
        case ["open_last"]:
            gateway.open_gateway_and_unmark_last_checkpoint_if_any()
        case ["open_all"]:
            gateway.open_gateway_and_unmark_all_checkpoint()
        case _:
            raise AssertionError(f"unknown command {command}")
    return None


def test_every_command_equals_flinks() -> None:
    seen = 0
    for case in cases("component/subtask_gateway"):
        gateway = SubtaskGateway()
        sent: list[int] = []
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            sent.clear()
            answer: bool | None = None
            refusal: str | None = None
            try:
                answer = play(gateway, sent, command)
            except InvariantViolation:
                refusal = "IllegalStateException"
            theirs = {**expected, "err": expected["err"] and expected["err"][0]}
            assert {"sent": sent, "ret": answer, "err": refusal} == theirs, (case["id"], number, command)
        seen += 1
    assert seen == 300
