"""SinkWriterOperator and CommitterOperator beside the real ones, through restores with another parallelism (12.30-12.33).

Compared after each command: flushes, the messages of writers and committers, the calls of the committer, and errors.
"""

from __future__ import annotations

from random import Random

from tests.support.checkpointing.sink_operators import Command, SinkOperatorsPlay
from tests.support.flink.machine import Answers, Differential

BEHAVIOURS = ["ok"] * 10 + ["already", "failed", "retry1", "retry2", "update", "forever", "unknown"]


def script(random: Random) -> list[Command]:
    """Records, checkpoints that complete or not, restarts with another parallelism, ends of inputs."""
    booleans = ["true", "false"]
    commands: list[Command] = [
        ("job", random.randint(1, 4), random.choice([0, 1, 3, 10]), random.choice(booleans), random.choice(booleans))
    ]
    checkpoint, number = 0, 0
    for _ in range(random.randint(5, 40)):
        chance = random.random()
        if chance < 0.40:
            commands.append(("write", random.randrange(4), f"t{number}:{random.choice(BEHAVIOURS)}"))
            number += 1
        elif chance < 0.62:
            checkpoint += 1
            commands.append(("snapshot", checkpoint))
        elif chance < 0.82:
            commands.append(("complete", max(0, checkpoint + random.choice([0, 0, 0, -1, -2, 1]))))
        elif chance < 0.93:
            commands.append(("restart", random.randint(1, 4)))
        else:
            commands.append(("end", random.randrange(4)))
    return commands


def test_every_command_equals_flinks(differential: Differential) -> None:
    real = differential.flink.java.org.apache.flink.streaming.runtime.operators.sink.SinkOperators

    def play(commands: list[Command]) -> Answers:
        ours = SinkOperatorsPlay()
        theirs = real.run("\n".join(" ".join(map(str, command)) for command in commands)).split("\n")
        return theirs, [ours.answer(command) for command in commands]

    differential.run_scripts("SinkWriterOperator, CommitterOperator", script, play, examples=80)
