"""ChannelStatePersister beside the real one (rules 12.83, 12.86)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from flowsim.network.gates.channel_state_persister import ChannelStatePersister
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.streamrecord.events import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    EndOfData,
    EndOfPartitionEvent,
    Event,
    EventAnnouncement,
    StopMode,
)
from tests.support.barriers import BY_NAME
from tests.support.flink.machine import Answers, Differential, java_text

PAYLOAD_BYTES = 4


def write_script(random: Random) -> list[str]:
    """Ids around the newest one, mostly in the order of a channel: start, data, barrier, data, stop."""
    script: list[str] = []
    newest = payload = 0
    for _ in range(random.randint(5, 60)):
        checkpoint = max(0, newest + random.choice([-2, -1, 0, 0, 0, 1, 1, 1, 2]))
        newest = max(newest, checkpoint)
        chance = random.random()
        if chance < 0.22:
            queued = range(payload, payload + random.randint(0, 3))
            payload = queued.stop
            script.append(" ".join(map(str, ("start", checkpoint, *queued))))
        elif chance < 0.36:
            script.append(f"stop {checkpoint}")
        elif chance < 0.62:
            script.append(f"data {payload}")
            payload += 1
        elif chance < 0.86:
            script.append(f"event {random.choice(['aligned', 'timeoutable', 'unaligned'])} {checkpoint}")
        elif chance < 0.96:
            script.append(f"announcement {random.choice(['timeoutable', 'unaligned'])} {checkpoint}")
        else:
            script.append(f"event {random.choice(['cancel', 'drain', 'end'])} {checkpoint}")
    return script


class Played:
    """Our persister under a script; the writer of its channel."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.persister = ChannelStatePersister(self, InputChannelInfo(0, 0))

    def add_input_data(self, checkpoint_id: int, channel: InputChannelInfo, payloads: Sequence[bytes]) -> None:
        numbers = [int.from_bytes(payload, "big") for payload in payloads]
        self.events.append(" ".join(map(str, ("store", checkpoint_id, *numbers))))

    def answer(self, command: str) -> str:
        self.events.clear()
        try:
            self._play(command.split(" "))
        except CheckpointException as error:
            self.events.append(f"!CheckpointException {error}")
        persister = self.persister
        state = f"ChannelStatePersister(lastSeenBarrier={persister.last_seen_barrier} ({persister.status.name})}}"
        return f"{';'.join(self.events)}|{java_text(persister.has_barrier_received)} {state}"

    def _play(self, words: list[str]) -> None:
        match words:
            case ["start", checkpoint, *queued]:
                payloads = [int(number).to_bytes(PAYLOAD_BYTES, "big") for number in queued]
                self.persister.start_persisting(int(checkpoint), payloads)
            case ["stop", checkpoint]:
                self.persister.stop_persisting(int(checkpoint))
            case ["data", number]:
                self.persister.maybe_persist(int(number).to_bytes(PAYLOAD_BYTES, "big"))
            case ["announcement", kind, checkpoint]:
                self._check(EventAnnouncement(CheckpointBarrier(int(checkpoint), 1, BY_NAME[kind]), 3))
            case ["event", kind, checkpoint]:
                self._check(event_of(kind, int(checkpoint)))

    def _check(self, event: Event) -> None:
        found = self.persister.check_for_barrier(event)
        if found is not None:
            self.events.append(f"found {found}")


def event_of(kind: str, checkpoint: int) -> Event:
    match kind:
        case "cancel":
            return CancelCheckpointMarker(checkpoint)
        case "drain":
            return EndOfData(StopMode.DRAIN)
        case "end":
            return EndOfPartitionEvent()
    return CheckpointBarrier(checkpoint, 1, BY_NAME[kind])


def test_every_command_equals_flinks(differential: Differential) -> None:
    real = differential.flink.java.org.apache.flink.runtime.io.network.partition.consumer.Persisters

    def play(commands: list[str]) -> Answers:
        played = Played()
        return real.run("\n".join(commands)).split("\n"), [played.answer(command) for command in commands]

    differential.run_scripts("ChannelStatePersister", write_script, play, examples=40)
