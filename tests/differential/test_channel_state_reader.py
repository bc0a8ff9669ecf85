"""Stored buffers in new channels beside SequentialChannelStateReader and its handlers (rules 12.92, 12.102)."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from flowsim.checkpoints.storage.stream_store import StreamStore
from flowsim.errors import InvariantViolation
from flowsim.state.redistribution.channel_state_handles import (
    InputChannelInfo,
    InputChannelStateHandle,
    ResultSubpartitionInfo,
    ResultSubpartitionStateHandle,
)
from flowsim.state.redistribution.inflight_data_rescaling_descriptor import (
    NO_RESCALE,
    InflightDataGateOrPartitionRescalingDescriptor,
    InflightDataRescalingDescriptor,
    MappingType,
)
from flowsim.state.redistribution.operator_state import OperatorSubtaskState
from flowsim.state.redistribution.rescale_mappings import RescaleMappings
from flowsim.state.snapshots.stored_streams import ChannelStateStream
from flowsim.streamrecord.events import SubtaskConnectionDescriptor
from flowsim.tasks.checkpointing.channel_state_reader import Contents, read_input_data, read_output_data
from tests.support.flink.machine import Answers, Differential

BUFFERS = 40
"""Of each stream."""
OLD = 8
"""Old channels of a gate."""


def write_script(random: Random) -> list[str]:
    """Gates or partitions with their old channels, then handles whose buffers are mixed in a few streams."""
    counts = [random.randint(1, 4) for _ in range(random.randint(1, 2))]
    is_rescaled = random.random() < 0.8
    descriptor = "|".join(write_mappings(random, count) for count in counts) if is_rescaled else "-"
    script = [f"{','.join(map(str, counts))};{descriptor}"]
    for stream in range(random.randint(1, 3)):
        places = random.sample(range(BUFFERS), random.randint(2, 12))
        known = [(gate, old) for gate, count in enumerate(counts) for old in range(OLD if is_rescaled else count)]
        for gate, old in random.sample(known, min(len(known), random.randint(1, 5))):
            mine = sorted(places[: random.randint(1, 4)])
            places = places[len(mine) :]
            if mine:
                script.append(" ".join(map(str, (stream, stream, gate, old, *mine))))
    return script


def write_mappings(random: Random, count: int) -> str:
    """The old channels of each new one; seldom one of several new ones, or of none."""
    mapped: list[list[str]] = [[] for _ in range(count)]
    for old in range(OLD):
        chance = random.random()
        targets = 0 if chance < 0.01 else 2 if chance < 0.04 else 1
        for new in random.sample(range(count), min(count, targets)):
            mapped[new].append(str(old))
    return "/".join(",".join(each) for each in mapped)


def rescaling(text: str) -> InflightDataRescalingDescriptor:
    if text == "-":
        return NO_RESCALE
    return InflightDataRescalingDescriptor(
        tuple(
            InflightDataGateOrPartitionRescalingDescriptor(
                (0,),
                RescaleMappings(
                    tuple(tuple(int(old) for old in each.split(",") if old) for each in gate.split("/")), OLD
                ),
                frozenset(),
                MappingType.RESCALING,
            )
            for gate in text.split("|")
        )
    )


def read(side: str, script: list[str]) -> str:
    """As ours reads it."""
    described = rescaling(script[0].split(";")[1])
    streams = StreamStore()
    names = [
        streams.write(1, "operator", each, ChannelStateStream(tuple(f"{each}.{n}".encode() for n in range(BUFFERS))))
        for each in range(3)
    ]
    lines = [[int(word) for word in line.split(" ")] for line in script[1:]]
    found: Mapping[InputChannelInfo, Contents] | Mapping[ResultSubpartitionInfo, Contents]
    try:
        if side == "inputs":
            inputs = tuple(
                InputChannelStateHandle(names[stream], subtask, InputChannelInfo(gate, old), tuple(offsets), 1)
                for stream, subtask, gate, old, *offsets in lines
            )
            found = read_input_data([OperatorSubtaskState(input_channels=inputs, input_rescaling=described)], streams)
        else:
            outputs = tuple(
                ResultSubpartitionStateHandle(
                    names[stream], subtask, ResultSubpartitionInfo(part, old), tuple(offsets), 1
                )
                for stream, subtask, part, old, *offsets in lines
            )
            state = OperatorSubtaskState(result_subpartitions=outputs, output_rescaling=described)
            found = read_output_data([state], streams)
    except InvariantViolation:
        return "refused"
    return "\n".join(f"{gate}.{index}: {text(contents)}" for (gate, index), contents in sorted(found.items()))


def text(contents: Contents) -> str:
    return " ".join(
        f"({content.input_subtask},{content.output_subtask})"
        if isinstance(content, SubtaskConnectionDescriptor)
        else content.decode()
        if isinstance(content, bytes)
        else "unknown"
        for content in contents
    )


def in_order_of_streams(answer: str) -> str:
    """The order of streams is that of a hash table in Flink."""
    if answer == "refused":
        return answer
    lines = []
    for line in answer.split("\n") if answer else []:
        name, *words = line.split(" ")
        parts = [words[start : start + 2] for start in range(0, len(words), 2)]
        parts.sort(key=lambda part: part[-1].partition(".")[0])
        lines.append(" ".join([name, *(word for part in parts for word in part)]))
    return "\n".join(lines)


@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_contents_of_new_channels_equal_flinks(side: str, differential: Differential) -> None:
    real = differential.flink.java.org.apache.flink.runtime.io.network.partition.consumer.RecoveredGates

    def play(script: list[str]) -> Answers:
        theirs, ours = getattr(real, side)("\n".join(script)), read(side, script)
        return [in_order_of_streams(theirs)], [in_order_of_streams(ours)]

    differential.run_scripts(f"SequentialChannelStateReader: {side}", write_script, play, examples=60)
