"""The barrier handlers beside the real ones: tracker, aligned, alternating and unaligned (rules 12.9-12.20, 12.73-12.89)."""

from __future__ import annotations

from random import Random

import pytest

from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetrics
from flowsim.network.errors import IllegalState
from tests.support.checkpointing.barrier_handlers import HandlerPlay, comparable
from tests.support.checkpointing.recording_task import Events
from tests.support.checkpointing.trackers import TrackerPlay
from tests.support.flink.machine import Answers, Differential, java_text

Command = tuple[object, ...]


class Writer:
    """Writes a script: barriers whose ids mostly grow per channel, as senders make them."""

    def __init__(self, random: Random, mode: str) -> None:
        self.random = random
        self.mode = mode
        gates = random.choice([[1], [2], [3], [5], [1, 1], [2, 1], [2, 2], [1, 2, 1]]) if mode != "tracker" else None
        self.gates = gates or [random.randint(1, 5)]
        self.timeout_ms = random.choice([0, 5, 10, 25]) if mode == "alternating" else -1
        self.open = [(gate, channel) for gate, count in enumerate(self.gates) for channel in range(count)]
        self.next_ids = dict.fromkeys(self.open, 1)
        self.announced: dict[tuple[int, int], int] = {}
        self.kinds: dict[int, str] = {}
        self.timestamps: dict[int, int] = {}
        self.now_ms = 1000
        self.numbers = 0
        self.has_late_timer = False
        self.is_in_step = random.random() < 0.4
        """Channels stay at one checkpoint, and most barriers are announced before the first one arrives."""

    def script(self) -> list[Command]:
        after = self.random.random() < 0.8
        commands: list[Command] = [(self.mode, after, self.timeout_ms, *self.gates)]
        for _ in range(self.random.randint(5, 60)):
            if self.open:
                commands.append(self.command())
        return [*commands, ("metrics",)]

    def command(self) -> Command:
        random, channel = self.random, self.random.choice(self.open)
        if self.is_in_step and random.random() < 0.8:
            channel = min(self.open, key=lambda each: (self.next_ids[each], each in self.announced))
        is_late, self.has_late_timer = self.has_late_timer, False
        chance = 0.75 if is_late and random.random() < 0.3 else random.random()
        if chance < 0.66:
            return self.barrier(channel)
        if chance < 0.74:
            checkpoint = max(1, self.next_ids[channel] - (random.random() < 0.1))
            self.next_ids[channel] = checkpoint + 1
            self.announced.pop(channel, None)
            return ("cancel", *channel, checkpoint)
        if chance < 0.79:
            self.open.remove(channel)
            return ("end_of_partition", *channel)
        if chance < 0.85:
            return ("bytes", random.randint(1, 50))
        if chance < 0.88 and self.mode in ("alternating", "unaligned"):
            return ("refuse",)
        duration_ms = random.randint(1, 12)
        self.now_ms += duration_ms
        # A timer is a mail, which may wait behind elements.
        self.has_late_timer = self.mode != "tracker" and random.random() < 0.3
        return ("late_ms" if self.has_late_timer else "advance_ms", duration_ms)

    def barrier(self, channel: tuple[int, int]) -> Command:
        random = self.random
        is_announced = channel in self.announced
        checkpoint = self.announced.pop(channel, self.next_ids[channel])
        if not is_announced and random.random() < 0.04:
            checkpoint = max(1, checkpoint - random.randint(1, 3))
        kind = self.kinds.setdefault(checkpoint, self.kind())
        timestamp = self.timestamps.setdefault(checkpoint, self.now_ms - random.choice([0, 0, 3, 12]))
        if kind == "timeoutable" and not is_announced:
            if random.random() < 0.15:
                kind = "unaligned"
            elif random.random() < (0.85 if self.is_in_step else 0.5):
                self.announced[channel] = checkpoint
                self.numbers += 1
                return ("announce", *channel, checkpoint, self.numbers, timestamp)
        self.next_ids[channel] = checkpoint + (1 if random.random() < 0.9 else 2)
        is_rpc = self.mode != "tracker" and random.random() < 0.08
        return ("rpc_barrier" if is_rpc else "barrier", *channel, checkpoint, kind, timestamp)

    def kind(self) -> str:
        if self.mode == "tracker":
            return "at_least_once"
        if self.mode == "alternating":
            return "savepoint" if self.random.random() < 0.1 else "timeoutable" if self.timeout_ms else "unaligned"
        return self.mode


@pytest.mark.parametrize("mode", ["tracker", "aligned", "alternating", "unaligned"])
def test_every_command_equals_flinks(differential: Differential, mode: str) -> None:
    real = differential.flink.java.org.apache.flink.streaming.runtime.io.checkpointing.BarrierHandlers
    subject = "CheckpointBarrierTracker" if mode == "tracker" else f"SingleCheckpointBarrierHandler, {mode}"

    def play(commands: list[Command]) -> Answers:
        lines = [" ".join(map(java_text, command)) for command in commands]
        theirs = real.run("\n".join(lines)).split("\n") if len(lines) > 1 else []
        return ["-", *map(sorted_calls, theirs)], ["-", *map(sorted_calls, ours(commands))]

    differential.run_scripts(subject, lambda random: Writer(random, mode).script(), play, examples=40)


def ours(commands: list[Command]) -> list[str]:
    mode, after, timeout, *gates = commands[0]
    assert isinstance(mode, str)
    assert isinstance(after, bool)
    assert isinstance(timeout, int)
    channels = [gate for gate in gates if isinstance(gate, int)]
    handler = HandlerPlay(mode, channels, timeout, after, 1000) if mode != "tracker" else None
    tracker = TrackerPlay({"channels": channels[0], "after_tasks_finish": after})
    play = handler or tracker
    answers = []
    for command in commands[1:]:
        play.events.clear()
        if command == ("metrics",):
            answers.append(";".join(f"{checkpoint} {measured(metrics)}" for checkpoint, metrics in play.task.triggered))
            continue
        try:
            play.play(list(command))
        except IllegalState:
            play.events.append(["!IllegalStateException"])
        events = ";".join(" ".join(map(str, event)) for event in play.events)
        seen = play.handler
        state = (seen.latest_checkpoint_id, seen.is_checkpoint_pending, seen.alignment_duration_ns, seen.start_delay_ns)
        barriers = "-" if handler is None else all_barriers(handler)
        answers.append(f"{events}|{' '.join(map(java_text, state))} {barriers}")
    return answers


def all_barriers(play: HandlerPlay) -> str:
    """The completion that an asynchronous part waits for (rule 12.90)."""
    received = play.handler.all_barriers_received(play.handler.latest_checkpoint_id)
    if received.error is not None:
        return "failed"
    return "received" if received.is_done else "open"


def measured(metrics: CheckpointMetrics) -> str:
    alignment = metrics.alignment
    values = (alignment.duration_ns, alignment.processed_bytes, metrics.start_delay_ns)
    return " ".join("-" if value is None else str(value) for value in values)


def sorted_calls(answer: str) -> str:
    events, bar, state = answer.partition("|")
    calls: Events = [event.split(" ") for event in events.split(";")]
    return ";".join(" ".join(call) for call in comparable(calls)) + bar + state
