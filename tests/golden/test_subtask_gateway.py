"""SubtaskGateway equals the real SubtaskGatewayImpl (rule 12.109)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flowsim.checkpoints.completable_future import CompletableFuture
from flowsim.checkpoints.coordination.subtask_gateway import IncompleteFuturesTracker, OperatorEventLost, SubtaskGateway
from flowsim.errors import InvariantViolation
from flowsim.streamrecord.operator_event import OperatorEvent
from tests.support.flink.golden import cases


@dataclass(frozen=True)
class Numbered(OperatorEvent):
    number: int


class Task:
    """Confirms every event at once."""

    name = "task"
    is_still_running = True

    def __init__(self) -> None:
        self.received: list[int] = []

    def send_event(self, event: OperatorEvent) -> CompletableFuture[None]:
        assert isinstance(event, Numbered)
        self.received.append(event.number)
        confirmed: CompletableFuture[None] = CompletableFuture()
        confirmed.complete(None)
        return confirmed

    def trigger_task_failover(self, cause: OperatorEventLost) -> None:
        raise AssertionError("no event is lost")


def play(gateway: SubtaskGateway, command: list[Any]) -> bool | None:
    match command:
        case ["send", number]:
            gateway.send_event(Numbered(number))
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
        task = Task()
        gateway = SubtaskGateway(task, IncompleteFuturesTracker())
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            task.received.clear()
            answer: bool | None = None
            refusal: str | None = None
            try:
                answer = play(gateway, command)
            except InvariantViolation:
                refusal = "IllegalStateException"
            theirs = {**expected, "err": expected["err"] and expected["err"][0]}
            assert {"sent": task.received, "ret": answer, "err": refusal} == theirs, (case["id"], number, command)
        seen += 1
    assert seen == 300
