"""CommittableCollector beside the real one, snapshots and merges included (rules 12.31, 12.33, 12.131-12.133)."""

from __future__ import annotations

from random import Random

from flowsim.connectors.sinks.committables.commit_request import CommitFailed
from flowsim.connectors.sinks.committables.committable_message import END_OF_INPUT
from flowsim.errors import InvariantViolation
from tests.support.checkpointing.committables import CollectorPlay
from tests.support.flink.machine import Answers, Differential, java_text

Command = tuple[object, ...]
BEHAVIOURS = ["ok"] * 8 + ["already", "failed", "retry1", "retry2", "update", "forever", "unknown"]


def script(random: Random) -> list[Command]:
    """Writers of one to twenty subtasks, whose messages are mostly complete; commits and restores among them."""
    subtasks = random.choice([1, 2, 3, 3, 20])
    retries = random.choice([0, 1, 3, 10])
    checkpoint, number = 1, 0
    commands: list[Command] = [("snapshot",)]
    for _ in range(random.randint(3, 25)):
        chance = random.random()
        if chance < 0.45:
            subtask = random.randrange(subtasks)
            target = random.choice([checkpoint] * 5 + [checkpoint + 1, END_OF_INPUT])
            count = random.randint(0, 3)
            commands.append(("summary", subtask, subtasks, target, count))
            for _ in range(count if random.random() < 0.92 else random.randint(0, count + 1)):
                commands.append(("committable", subtask, target, f"t{number}:{random.choice(BEHAVIOURS)}"))
                number += 1
        elif chance < 0.50:
            commands.append(("committable", random.randrange(subtasks + 1), checkpoint, f"y{number}:ok"))
            number += 1
        elif chance < 0.58:
            checkpoint += 1
        elif chance < 0.72:
            commands.append(random.choice([("snapshot",), ("restore_merge",)]))
        else:
            commands.append(("complete", random.choice([checkpoint, checkpoint - 1, END_OF_INPUT]), retries))
    return commands


def test_every_command_equals_flinks(differential: Differential) -> None:
    real = differential.flink.java.org.apache.flink.streaming.runtime.operators.sink.committables.Committables

    def play(commands: list[Command]) -> Answers:
        collector = CollectorPlay(behaviour)
        theirs = real.run("\n".join(" ".join(map(str, command)) for command in commands)).split("\n")
        return theirs, [answer(collector, command) for command in commands]

    differential.run_scripts("CommittableCollector", script, play, examples=60)


def behaviour(committable: str) -> str:
    return committable.partition(":")[2]


def answer(play: CollectorPlay, command: Command) -> str:
    play.committer.calls.clear()
    error = ""
    try:
        play.play(list(command))
    except CommitFailed as raised:
        error = "!" + str(raised).partition(": [")[0]
    except InvariantViolation:
        error = "!illegal"
    events = [f"commit {' '.join(batch)}" for batch in play.committer.calls]
    state = []
    for manager in play.collector.checkpoint_committables:
        state.append(f"#{manager.checkpoint_id} {java_text(manager.has_globally_received_all)}")
        for subtask in manager.subtask_committable_managers:
            state.append(f"{subtask.subtask} {java_text(subtask.has_received_all)}")
            state += [f"{each.committable} {each.state.name} {each.number_of_retries}" for each in subtask.requests]
    seen = f"{';'.join(state)}|{java_text(play.collector.is_finished)}"
    return f"{';'.join([*events, *([error] if error else [])])}|{seen}"
