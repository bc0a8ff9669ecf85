"""SubtaskCheckpointCoordinator beside the real one, over a chain of three operators (rules 12.5-12.7, 12.64-12.71)."""

from __future__ import annotations

from random import Random

from flowsim.network.errors import IllegalState
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from tests.support.checkpointing.subtask_checkpoints import CoordinatorPlay
from tests.support.flink.machine import Answers, Differential, java_text

Command = tuple[object, ...]
FAMILIES = (
    ("aligned",),
    ("at_least_once",),
    ("unaligned", "unaligned", "forced_unaligned"),
    ("timeoutable", "timeoutable", "forced_timeoutable", "unaligned"),
)
RARE = ("write_will_fail", "notification_will_fail", "subsumed", "inputs_fail", "inputs_done")


def script(random: Random) -> list[Command]:
    """Checkpoints with growing ids, each opened as the barrier handler does it, among everything that can come between."""
    commands: list[Command] = [("remembered", random.choice([1, 1, 2, 3]))]
    kinds = random.choice(FAMILIES)
    next_id = 1
    for _ in range(random.randint(5, 50)):
        chance = random.random()
        near = max(1, next_id + random.choice([-2, -1, -1, 0, 0, 1, 3]))
        if chance < 0.40:
            checkpoint = next_id if random.random() < 0.9 else max(1, next_id - 1)
            next_id = max(next_id, checkpoint + 1) + (random.random() < 0.1)
            kind = random.choice(kinds)
            if kind in ("unaligned", "timeoutable"):
                commands.append(("init_inputs", checkpoint, kind))
            if random.random() < 0.08:
                commands.append(("snapshot_will_fail", checkpoint))
            if random.random() < 0.08:
                side, cause = random.choice(["inputs", "outputs"]), random.choice(["reason", "error"])
                commands.append(("channels_will_fail", checkpoint, side, cause))
            commands.append(("checkpoint", checkpoint, kind))
        elif chance < 0.52:
            commands.append(("run_async",))
        elif chance < 0.78:
            commands.append((random.choice(["complete", "aborted", "aborted", "abort_on_barrier"]), near))
        elif chance < 0.90:
            commands.append((random.choice(RARE), near))
        elif chance < 0.95:
            commands.append(("fire_timer",))
        elif chance < 0.99:
            commands.append(("running", random.random() < 0.7))
        else:
            commands.append(("close",))
    return commands


def test_every_command_equals_flinks(differential: Differential) -> None:
    real = differential.flink.java.org.apache.flink.streaming.runtime.tasks.SubtaskCheckpoints

    def play(commands: list[Command]) -> Answers:
        remembered = commands[0][1]
        assert isinstance(remembered, int)
        coordinator = CoordinatorPlay(remembered)
        ours = [answer(coordinator, command) for command in commands[1:]]
        lines = [str(remembered), *(" ".join(map(java_text, command)) for command in commands[1:])]
        theirs = real.run("\n".join(lines)).split("\n") if len(lines) > 1 else []
        pairs = list(zip(commands[1:], theirs, ours, strict=True))
        return [comparable(command, real) for command, real, _ in pairs], [
            comparable(each[0], each[2]) for each in pairs
        ]

    differential.run_scripts("SubtaskCheckpointCoordinator", script, play, examples=60)


def answer(play: CoordinatorPlay, command: Command) -> str:
    play.log.clear()
    try:
        play.play(command)
    except CheckpointException:
        play.log.append("!CheckpointException")
    except IllegalState:
        play.log.append("!IllegalStateException")
    return ";".join(play.log)


def comparable(command: Command, events: str) -> str:
    """The end closes the asynchronous parts in the order of hashes."""
    return ";".join(sorted(events.split(";"))) if command == ("close",) else events
