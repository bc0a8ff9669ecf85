"""CheckpointRequestDecider beside the real one (rules 12.38-12.41)."""

from __future__ import annotations

from functools import partial
from random import Random

from flowsim.checkpoints.checkpoint_properties import CheckpointProperties, CheckpointRetentionPolicy
from flowsim.checkpoints.checkpoint_request_decider import CheckpointRequestDecider, CheckpointTriggerRequest
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from tests.support.checkpoints.virtual_time import VirtualTimeExecutor
from tests.support.flink.machine import Answers, Differential

CHECKPOINT = CheckpointProperties.for_checkpoint(CheckpointRetentionPolicy.RETAIN_ON_FAILURE)
PERIODIC = 1
PROPERTIES = (
    CHECKPOINT,
    CHECKPOINT,
    CheckpointProperties.for_savepoint(forced=False),
    CheckpointProperties.for_savepoint(forced=True),
)


def write_script(random: Random) -> list[str]:
    concurrent = random.choice([1, 1, 2, 3])
    script = [f"{concurrent} {random.choice([0, 0, 10, 50])} {random.choice([1000, 3, 2, 1])}"]
    timestamps = random.sample(range(200), 60)  # Flink orders equal ones by their identity hash codes.
    now = last = pending = cleaning = 0
    for _ in range(random.randint(5, 60)):
        step = random.choice([0, 0, 1, 5, 40])
        now += step
        if random.random() < 0.2:
            last = random.choice([now, 0, now - 1])
        if random.random() < 0.4:
            pending = random.randint(0, concurrent + 1)
        if random.random() < 0.2:
            cleaning = random.randint(0, concurrent + 2)
        state = f"{int(random.random() < 0.15)} {step} {last} {pending} {cleaning}"
        number = random.random()
        if number < 0.65:
            script.append(f"request {state} {random.choice([0, 0, 1, 1, 2, 3])} {timestamps.pop()}")
        else:
            script.append(f"{'queued' if number < 0.97 else 'abort'} {state}")
    return script


class Played:
    """Our decider under a script; the coordinator that it asks."""

    def __init__(self, description: str) -> None:
        concurrent, pause_ms, max_queued = map(int, description.split())
        self.pending_checkpoint_count = 0
        self.cleaning_checkpoint_count = 0
        self.events: list[str] = []
        self.requests: list[CheckpointTriggerRequest] = []
        self.executor = VirtualTimeExecutor()
        self.decider = CheckpointRequestDecider(self, self.executor, concurrent, pause_ms, max_queued)

    def reschedule_trigger(self, now_ms: int, delay_ms: int) -> None:
        self.events.append(f"reschedule {now_ms} {delay_ms}")

    def rejected(self, number: int, _: object, error: BaseException | None) -> None:
        assert isinstance(error, CheckpointException)
        self.events.append(f"rejected {number} {error.reason.name}")

    def answer(self, command: str) -> str:
        name, *words = command.split()
        is_triggering, step, last, self.pending_checkpoint_count, self.cleaning_checkpoint_count = map(int, words[:5])
        self.events.clear()
        self.executor.now_ms += step
        chosen = None
        match name:
            case "request":
                kind, timestamp = map(int, words[5:])
                request = CheckpointTriggerRequest(timestamp, PROPERTIES[kind], None, kind == PERIODIC)
                request.on_completion.when_complete(partial(self.rejected, len(self.requests)))
                self.requests.append(request)
                chosen = self.decider.choose_request_to_execute(request, is_triggering == 1, last)
            case "queued":
                chosen = self.decider.choose_queued_request_to_execute(is_triggering == 1, last)
            case _:
                self.decider.abort_all(CheckpointFailureReason.CHECKPOINT_COORDINATOR_SUSPEND)
        number = "none" if chosen is None else self.requests.index(chosen)
        return f"{number} {self.decider.queued_request_count} {'; '.join(self.events)}"


def test_decisions_equal_flinks(differential: Differential) -> None:
    real = differential.flink.java.org.apache.flink.runtime.checkpoint.RequestDeciders

    def play(script: list[str]) -> Answers:
        played = Played(script[0])
        ours = [played.answer(command) for command in script[1:]]
        return ["", *real.run("\n".join(script)).split("\n")], ["", *(ours or [""])]

    differential.run_scripts("CheckpointRequestDecider", write_script, play, examples=100)
