"""DemultiplexingRecordDeserializer with its virtual channels and record filters beside the real one (12.102 to 12.104)."""

from __future__ import annotations

import json
from functools import partial
from random import Random
from typing import Any

from flowsim.cluster.partitioners import create_partitioner
from flowsim.graph.stream_graph import PartitionerSpec
from flowsim.network.buffers.buffer import FREEING, BufferSlice, MemorySegment, NetworkBuffer
from flowsim.network.errors import IllegalState
from flowsim.network.gates.input_channel import InputChannel
from flowsim.state.redistribution.inflight_data_rescaling_descriptor import (
    InflightDataGateOrPartitionRescalingDescriptor,
    MappingType,
)
from flowsim.state.redistribution.rescale_mappings import RescaleMappings
from flowsim.streamrecord.codec import LATENCY_MARKER_LENGTH, RECORD_LENGTH, WATERMARK_LENGTH, Element
from flowsim.streamrecord.events import SubtaskConnectionDescriptor
from flowsim.tasks.inputs.demultiplexing_record_deserializer import (
    DemultiplexingRecordDeserializer,
    RecordFilter,
    VirtualChannels,
    virtual_channels,
)
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.differential.test_network_input import LONG, MOST_CUTS, encode
from tests.support.flink.machine import Answers, Differential


class Writer:
    """Writes a task and what its channels receive."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.number = 0
        self.selected: set[int] = set()

    def script(self) -> list[str]:
        random = self.random
        parallelism = random.randint(1, 5)
        gates = [self.gate() for _ in range(random.choice([1, 1, 2]))]
        task = {
            "parallelism": parallelism,
            "max_parallelism": random.choice([parallelism, 7, 16, 128]),
            "subtask": random.randrange(parallelism),
            "gates": gates,
        }
        old = [
            [(subtask, each) for subtask in gate["old_subtasks"] for each in mapped]
            for gate in gates
            for mapped in [*gate["mappings"], *[[]] * gate["channels"]][: gate["channels"]]
        ]
        return [json.dumps(task), *(self.command(old) for _ in range(random.randint(10, 60)))]

    def gate(self) -> dict[str, Any]:
        random = self.random
        channels, old_channels = random.randint(1, 4), random.randint(1, 5)
        old_subtasks = sorted(random.sample(range(6), random.choice([0, 1, 1, 2, 2, 3])))
        return {
            "channels": channels,
            "old_channels": old_channels,
            "old_subtasks": old_subtasks,
            "mappings": [
                sorted(random.sample(range(old_channels), random.randint(0, min(3, old_channels))))
                for _ in range(random.choice([channels, channels, channels, channels - 1]))
            ],
            "ambiguous": sorted(random.sample(range(6), random.choice([0, 0, 2, 4, 6]))),
        }

    def command(self, old: list[list[tuple[int, int]]]) -> str:
        random = self.random
        with_data = [channel for channel, known in enumerate(old) if known]
        channel = random.choice(with_data) if with_data and random.random() < 0.97 else random.randrange(len(old))
        chance = random.random()
        if chance < 0.3 or (chance < 0.98 and channel not in self.selected):
            self.selected.add(channel)
            known = random.random() < 0.98 and old[channel]
            subtask, each = random.choice(old[channel]) if known else (random.randrange(7), random.randrange(6))
            return f"select {channel} {subtask} {each}"
        if chance < 0.99:
            cut = random.choice([0, 0, random.randint(300, 700)])
            elements = [self.element() for _ in range(random.choice([0, 1, 1, 2, 3, 6]))]
            return " ".join(["data", str(channel), str(cut), *elements])
        return f"unconsumed {channel}"

    def element(self) -> str:
        random = self.random
        self.number += 1
        chance = random.random()
        if chance < 0.5:
            padding = random.choice([0, 0, 0, 0, 10, 300, 1500])
            if random.random() < 0.01:
                padding = 200_000
            return f"r/{random.randrange(1000)}/{padding}/{random.choice(['-', self.number])}"
        if chance < 0.75:
            timestamp = random.choice([self.number, self.number, random.randint(-9, 99), MAX_WATERMARK, NO_TIMESTAMP])
            return f"w/{timestamp}"
        return random.choice(["idle", "idle", "active", f"m/{self.number}"])


class Buffer(BufferSlice):
    """A buffer that counts how often it is recycled."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(payload, NetworkBuffer(MemorySegment(0), FREEING))
        self.recycled = 0

    def recycle(self) -> None:
        self.recycled += 1


class Played:
    """Our deserializer of all channels under a script."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.task = task
        self.old: list[VirtualChannels] = []
        for number, gate in enumerate(task["gates"]):
            descriptor = InflightDataGateOrPartitionRescalingDescriptor(
                tuple(gate["old_subtasks"]),
                RescaleMappings(tuple(map(tuple, gate["mappings"])), gate["old_channels"]),
                frozenset(gate["ambiguous"]),
                MappingType.RESCALING,
            )
            self.old += virtual_channels(descriptor, gate["channels"], partial(self.filter, number))
        self.deserializer = DemultiplexingRecordDeserializer(self.old)
        nowhere: Any = None
        self.channels = [InputChannel(nowhere, index, index, None) for index in range(len(self.old))]
        self.selected: dict[int, tuple[int, ...]] = {}
        self.left: dict[tuple[int, ...], bytes] = {}
        self.cuts: dict[tuple[int, ...], int] = {}
        self.failed: set[int] = set()

    def filter(self, gate: int) -> RecordFilter:
        hash_of = PartitionerSpec("HASH", key_selector=lambda value: number_of(value) + gate, key_type="INT")
        partitioner = create_partitioner(hash_of, self.task["parallelism"], self.task["max_parallelism"], Random(0))
        return lambda value: partitioner.select_channel(value) == self.task["subtask"]

    def known(self) -> str:
        return " ".join(
            ",".join(sorted(f"{each.input_subtask}/{each.output_subtask}" for each in known)) for known in self.old
        )

    def answer(self, command: str) -> str:
        words = command.split(" ")
        index = int(words[1])
        channel = self.channels[index]
        if index in self.failed:
            return "failed"
        try:
            match words:
                case ["select", _, subtask, old]:
                    self.deserializer.select(channel, SubtaskConnectionDescriptor(int(subtask), int(old)))
                    self.selected[index] = (index, int(subtask), int(old))
                    return "selected"
                case ["unconsumed", _]:
                    self.deserializer.unconsumed(channel)
                    return "unconsumed"
                case ["data", _, cut, *elements]:
                    return self.decoded(channel, self.bytes(self.selected.get(index, ()), int(cut), elements))
        except IllegalState:
            self.failed.add(index)
            return "refused"
        raise AssertionError(command)

    def decoded(self, channel: InputChannel, payload: bytes) -> str:
        buffer = Buffer(payload)
        self.deserializer.set_next_buffer(channel, buffer)
        found = []
        for element in self.deserializer.elements:
            found.append(text(element) + "*" * self.deserializer.is_buffer_consumed)
            assert buffer.recycled == self.deserializer.is_buffer_consumed
        self.deserializer.end_buffer()
        assert buffer.recycled == 1
        return " ".join(found)

    def bytes(self, old: tuple[int, ...], cut: int, elements: list[str]) -> bytes:
        encoded, begin = bytearray(self.left.get(old, b"")), 0
        for element in elements:
            begin = len(encoded)
            encode(element.split("/"), encoded)
            is_long = element.startswith("r/") and int(element.split("/")[2]) >= LONG
            self.cuts[old] = MOST_CUTS if is_long else 1
        thousandths = cut if self.cuts.get(old, 0) else 0
        self.cuts[old] = self.cuts[old] - 1 if thousandths else 0
        end = begin + max(1, (len(encoded) - begin) * (1000 - thousandths) // 1000)
        self.left[old] = bytes(encoded[end:])
        return bytes(encoded[:end])


def number_of(value: object) -> int:
    return int(str(value).partition(" ")[0])


def text(element: Element) -> str:
    size = len(element)
    if size == RECORD_LENGTH:
        timestamp, value = element
        return f"r/{number_of(value)}/{len(str(value))}/{'-' if timestamp is None else timestamp}"
    if size == WATERMARK_LENGTH:
        return f"w/{element[0]}"
    if size == LATENCY_MARKER_LENGTH:
        return "m"
    return "active" if element[1] == 0 else "idle"


def test_every_element_of_old_channels_equals_flinks(differential: Differential) -> None:
    real = differential.flink.java.org.apache.flink.streaming.runtime.io.recovery.Demultiplexers

    def play(commands: list[str]) -> Answers:
        played = Played(json.loads(commands[0]))
        ours = [played.known(), *(played.answer(command) for command in commands[1:])]
        return real.run("\n".join(commands)).split("\n"), ours

    differential.run_scripts(
        "DemultiplexingRecordDeserializer", lambda random: Writer(random).script(), play, examples=40
    )
