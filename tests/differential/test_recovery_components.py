"""Small components of checkpoints and recovery beside the real ones, under random scripts of the golden form.

CheckpointFailureManager, CompletedCheckpointStore, SplitAssignmentTracker, the gateways of OperatorCoordinatorHolder, and
the restart strategies (rules 12.52, 12.53, 12.60, 12.63, 12.109, 12.112, 12.113, 12.125-12.128).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from flowsim.streamrecord.checkpoint_exception import CheckpointFailureReason
from tests.support.checkpoints.component_plays import (
    ComponentPlay,
    FailureManagerPlay,
    GatewayPlay,
    RestartStrategyPlay,
    SplitTrackerPlay,
    StorePlay,
)
from tests.support.flink.machine import Answers, Differential

Script = list[Any]
KINDS = ["checkpoint"] * 4 + ["savepoint", "sync_savepoint"]
COUNTED = [
    "CHECKPOINT_DECLINED", "CHECKPOINT_EXPIRED", "CHECKPOINT_ASYNC_EXCEPTION", "IO_EXCEPTION",
    "FINALIZE_CHECKPOINT_FAILURE", "CHECKPOINT_SUBSUMED",
]  # fmt: skip
MAX_INT = 2**31 - 1


def failures(random: Random) -> Script:
    script: Script = [{"tolerable": random.choice([0, 0, 1, 2, 3, MAX_INT])}]
    reasons = COUNTED if random.random() < 0.6 else [reason.name for reason in CheckpointFailureReason]
    latest = 1
    for _ in range(random.randint(5, 40)):
        checkpoint = max(1, latest - random.choice([0, 0, 1, 2]))
        latest += random.choice([0, 1, 1])
        by = random.choice(["jm", "task"])
        pending = None if by == "jm" and random.random() < 0.3 else checkpoint
        if random.random() < 0.25:
            script.append(["success", checkpoint])
        else:
            script.append(["failure", pending, random.choice(KINDS), random.choice(reasons), by])
    return script


def completed(random: Random) -> Script:
    policy = random.choice(["NEVER_RETAIN_AFTER_TERMINATION", "RETAIN_ON_FAILURE", "RETAIN_ON_CANCELLATION"])
    script: Script = [{"retain": random.choice([1, 1, 2, 3, 5]), "policy": policy}]
    checkpoint = 0
    for _ in range(random.randint(3, 30)):
        checkpoint += random.choice([1, 1, 2])
        script.append(["add", checkpoint, random.choice(KINDS)])
    return [*script, ["shutdown", random.choice(["FINISHED", "CANCELED", "FAILED", "SUSPENDED"])]]


def splits(random: Random) -> Script:
    script: Script = [{}]
    checkpoint = number = 0
    for _ in range(random.randint(5, 40)):
        chance = random.random()
        if chance < 0.4:
            assignment = {}
            for subtask in random.sample(range(5), random.randint(1, 3)):
                count = random.randint(0, 3)
                assignment[str(subtask)] = [f"s{each}" for each in range(number, number + count)]
                number += count
                if number and random.random() < 0.2:
                    assignment[str(subtask)].append(f"s{random.randrange(number)}")
            script.append(["assign", assignment])
        elif chance < 0.65:
            checkpoint += 1
            script.append(["checkpoint", checkpoint])
        elif chance < 0.8:
            script.append(["complete", random.randint(0, checkpoint)])
        else:
            script.append(["reset", random.randrange(5), random.randint(-1, checkpoint)])
    return script


def events(random: Random) -> Script:
    script: Script = [{}]
    number = checkpoint = 0
    marked = [1]
    for _ in range(random.randint(8, 60)):
        chance = random.random()
        if chance < 0.45:
            script.append(["send", number])
            number += 1
        elif chance < 0.62:
            checkpoint += random.random() < 0.93
            marked.append(checkpoint)
            script.append(["mark", checkpoint])
        elif chance < 0.78:
            script.append(["close", random.choice(marked[-3:])])
        elif chance < 0.94:
            script.append(["open", random.choice(marked[-4:]) + (random.random() < 0.05)])
        else:
            script.append([random.choice(["open_last", "open_all"])])
    return script


def restarts(random: Random) -> Script:
    kind, start, now = random.choice(["fixed_delay", "failure_rate", "exponential_delay"]), 10_000_000, 10_000_000
    attempts = random.choice([0, 1, 2, 3, 5, MAX_INT])
    params: dict[str, float] = {"attempts": attempts, "delay": random.choice([0, 10, 1000])}
    if kind == "failure_rate":
        params |= {"max_failures": random.randint(1, 5), "interval": random.choice([10, 100, 1000])}
    elif kind == "exponential_delay":
        initial = random.choice([1, 7, 100, 1000])
        params |= {"initial": initial, "max": initial * random.choice([1, 3, 60]), "attempts": max(1, attempts)}
        params |= {"multiplier": random.choice([1.01, 1.5, 2.0, 3.3]), "threshold": random.choice([1, 50, 1000, 3.6e6])}
    script: Script = [{"kind": kind, "start": start, "params": {name: round(n, 2) for name, n in params.items()}}]
    step = int(params.get("threshold", params.get("interval", 100)))
    for _ in range(random.randint(4, 40)):
        now += max(0, random.choice([0, 0, 1, 5, step, step - 1, step + 1, step // 2, random.randint(0, 2 * step)]))
        chance = random.random()
        script.append(["delay"] if chance < 0.05 else ["query", now] if chance < 0.2 else ["failure", now])
    return script


@pytest.mark.parametrize(
    ("subject", "probe", "write", "ours"),
    [
        ("CheckpointFailureManager", "checkpoint.CompletedCheckpoints.runFailures", failures, FailureManagerPlay),
        ("CompletedCheckpointStore", "checkpoint.CompletedCheckpoints.runStore", completed, StorePlay),
        ("SplitAssignmentTracker", "source.coordinator.SplitTrackers.run", splits, SplitTrackerPlay),
        ("SubtaskGateway", "operators.coordination.Gateways.run", events, GatewayPlay),
        ("RestartBackoffTimeStrategy", "executiongraph.failover.RestartStrategies.run", restarts, RestartStrategyPlay),
    ],
    ids=["failure manager", "completed store", "split tracker", "subtask gateway", "restart strategies"],
)
def test_every_command_equals_flinks(
    differential: Differential,
    subject: str,
    probe: str,
    write: Callable[[Random], Script],
    ours: Callable[[dict[str, Any]], ComponentPlay],
) -> None:
    real: Any = differential.flink.java.org.apache.flink.runtime
    for part in probe.split("."):
        real = getattr(real, part)

    def play(script: Script) -> Answers:
        component = ours(script[0])
        answers = [text(component.play(command)) for command in script[1:]]
        return ["-", *map(text, json.loads(real(json.dumps(script))))], ["-", *answers]

    differential.run_scripts(subject, write, play, examples=40)


def text(answer: object) -> str:
    return json.dumps(answer, sort_keys=True)
