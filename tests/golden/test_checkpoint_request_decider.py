"""CheckpointRequestDecider equals the real one (rules 12.38-12.41)."""

from __future__ import annotations

from typing import Any

from flowsim.checkpoints.checkpoint_properties import CheckpointProperties, CheckpointRetentionPolicy
from flowsim.checkpoints.checkpoint_request_decider import CheckpointRequestDecider, CheckpointTriggerRequest
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from tests.support.checkpoints.virtual_time import VirtualTimeExecutor
from tests.support.flink.golden import cases

CHECKPOINT = CheckpointProperties.for_checkpoint(CheckpointRetentionPolicy.NEVER_RETAIN_AFTER_TERMINATION)
PROPERTIES = {
    "checkpoint": CHECKPOINT,
    "periodic": CHECKPOINT,
    "savepoint": CheckpointProperties.for_savepoint(forced=False),
    "forced_savepoint": CheckpointProperties.for_savepoint(forced=True),
}


class Surroundings:
    """The coordinator, as each command describes it."""

    def __init__(self) -> None:
        self.pending_checkpoint_count = 0
        self.cleaning_checkpoint_count = 0
        self.events: list[list[Any]] = []

    def reschedule_trigger(self, now_ms: int, delay_ms: int) -> None:
        self.events.append(["reschedule", now_ms, delay_ms])


class Play:
    def __init__(self, case: dict[str, Any]) -> None:
        self.context = Surroundings()
        self.executor = VirtualTimeExecutor()
        self.decider = CheckpointRequestDecider(
            self.context, self.executor, case["max_concurrent"], case["min_pause"], case["max_queued"]
        )
        self.requests: list[CheckpointTriggerRequest] = []

    def play(self, command: list[Any]) -> dict[str, Any]:
        surroundings = command[-1]
        self.context.events.clear()
        self.executor.now_ms = surroundings["now"]
        self.context.pending_checkpoint_count = surroundings["pending"]
        self.context.cleaning_checkpoint_count = surroundings["cleaning"]
        state = (surroundings["triggering"], surroundings["last_completion"])
        match command:
            case ["request", _, kind, timestamp, _]:
                request = CheckpointTriggerRequest(timestamp, PROPERTIES[kind], None, kind == "periodic")
                self.requests.append(request)
                chosen = self.decider.choose_request_to_execute(request, *state)
            case _:
                chosen = self.decider.choose_queued_request_to_execute(*state)
        return {
            "chosen": None if chosen is None else self.requests.index(chosen),
            "events": list(self.context.events),
            "queued": self.decider.queued_request_count,
            "rejected": dict(self.rejected()),
        }

    def rejected(self) -> list[tuple[str, str]]:
        reasons = []
        for number, request in enumerate(self.requests):
            if request.on_completion.is_done:
                error = request.on_completion.error
                assert isinstance(error, CheckpointException)
                reasons.append((str(number), error.reason.name))
        return reasons


def test_every_decision_equals_flinks() -> None:
    seen = 0
    for case in cases("component/checkpoint_request_decider"):
        play = Play(case)
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            assert play.play(command) == expected, (case["id"], number, command)
        seen += 1
    assert seen == 400
