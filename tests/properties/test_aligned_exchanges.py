"""The exchanges that are called aligned were aligned, and no other: over random jobs, beside the recorded barriers.

``FLOWSIM_ALIGNED_RUNS`` and ``FLOWSIM_ALIGNED_SEED`` choose how many jobs and which; ``--truth-counts`` prints how many
sentences of each pattern were compared.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import flowsim
from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.recorded_run import execute_recorded
from flowsim.cluster.run_actions import TriggerCheckpoint, TriggerSavepoint
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record
from flowsim.datastream import DataStream, StreamExecutionEnvironment
from flowsim.datastream.partitioning import partitioned
from flowsim.facts.kinds import (
    AlignmentType,
    CheckpointAction,
    CheckpointStep,
    ElementKind,
    Level,
    SnapshotKind,
    StoredAction,
)
from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.graph.stream_graph import StreamGraph
from flowsim.history.checkpoints import checkpoint_history
from flowsim.recording.reader import Recording
from flowsim.trace.alignment import barriers_of
from flowsim.trace.names import Names
from flowsim.units import NS_PER_MS
from flowsim.why.aligned import why_aligned
from flowsim.why.run_facts import RunFacts
from tests.unit.why.conftest import text_of

pytestmark = pytest.mark.property

RUNS = int(os.environ.get("FLOWSIM_ALIGNED_RUNS", "20"))
FIRST = int(os.environ.get("FLOWSIM_ALIGNED_SEED", "0"))

NEVER_UNALIGNED = {"FORWARD", "RESCALE", "BROADCAST", "CUSTOM"}
"""Rule 12.19, of these jobs: none has a global committer."""
ENABLED = CheckpointSettings(interval_ms=15, min_pause_ms=5, tolerable_failures=9)
SETTINGS = {
    "unaligned": replace(ENABLED, unaligned=True),
    "short timeout": replace(ENABLED, unaligned=True, aligned_timeout_ms=3),
    "long timeout": replace(ENABLED, unaligned=True, aligned_timeout_ms=500),
    "aligned": ENABLED,
    "at least once": replace(ENABLED, exactly_once=False),
    "disabled": CheckpointSettings(unaligned=True),
}


def key(value: Any) -> int:
    return int(value) % 3


def connected(random: Random, stream: DataStream, parallelism: int, target: int) -> DataStream:
    """The stream behind a random partitioner that its parallelism allows."""
    hows = ["rebalance", "rescale", "shuffle", "broadcast", "global", "custom", "hash", "default"]
    how = random.choice([*hows, *(["forward"] if parallelism == target else [])])
    if how == "default":
        return stream
    if how == "custom":
        return stream.partition_custom(lambda of, count: of % count, key)
    return stream.key_by(key) if how == "hash" else partitioned(stream, how)


def random_graph(random: Random) -> StreamGraph:
    """A job of unions of differently partitioned streams; some operators are slow, so that buffers fill."""
    env = StreamExecutionEnvironment.get_execution_environment()
    made: list[tuple[DataStream, int]] = []
    for number in range(random.randint(1, 3)):
        width = random.randint(1, 2)
        scripts = [[record(value, None) for value in range(random.randint(5, 60))] for _ in range(width)]
        source = ScriptedSource(*scripts, gap_ms=random.choice([1, 1, 3]))
        made.append((env.add_source(source).name(f"s{number}"), width))
    sources = len(made)
    for number in range(random.randint(1, 4)):
        target = random.randint(1, 3)
        inputs = random.sample(made, random.randint(1, min(2, len(made))))
        streams = [connected(random, stream, width, target) for stream, width in inputs]
        united = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
        stage = united.map(lambda value: value).set_parallelism(target).name(f"m{number}")
        made.append((stage if random.random() < 0.5 else stage.disable_chaining(), target))
    for number, (stream, _) in enumerate(made[sources:]):
        stream.sink_to(CollectSink()).name(f"out{number}").set_parallelism(1)
    graph = env.stream_graph()
    for node in graph.nodes.values():
        if random.random() < 0.5:
            node.cost_ns = random.choice([NS_PER_MS // 4, NS_PER_MS, 2 * NS_PER_MS])
    return graph


@dataclass
class Case:
    """A recorded run, and its barriers by checkpoint and channel, as the tables have them."""

    recording: Recording
    names: Names
    forced: set[int]

    def __post_init__(self) -> None:
        self.channels = {row[0]: row for row in self.recording.static_rows("channels")}
        self.sent = self._barriers("sent")
        self.received = self._barriers("received")
        self.stored = {
            (one["checkpoint"], one["channel"])
            for one in self.recording.table("stored_channels").to_pylist()
            if one["action"] == StoredAction.STORED and one["elements"]
        }
        self.steps: dict[tuple[int, int], dict[int, dict[str, int]]] = defaultdict(dict)
        for one in self.recording.table("checkpoint_steps").to_pylist():
            self.steps[one["checkpoint"], one["task"]].setdefault(one["step"], one)
        events = self.recording.table("checkpoints").to_pylist()
        self.triggers = [one for one in events if one["action"] == CheckpointAction.TRIGGERED]

    def _barriers(self, table: str) -> dict[tuple[int, int], dict[str, int]]:
        kinds = (ElementKind.CHECKPOINT_BARRIER, ElementKind.UNALIGNED_BARRIER)
        rows = self.recording.table(table).to_pylist()
        return {(one["timestamp"], one["channel"]): one for one in rows if one["kind"] in kinds}

    def of(self, edge: int) -> list[int]:
        return [channel for channel, row in self.channels.items() if row[1] == edge]

    def overtaken(self, checkpoint: int, channel: int) -> int:
        sent, received = self.sent.get((checkpoint, channel)), self.received.get((checkpoint, channel))
        return 0 if sent is None or received is None else sent["position"] - received["position"]


@pytest.fixture
def case(tmp_path: Path) -> Callable[[int], Case]:
    def made(seed: int) -> Case:
        random = Random(seed)
        graph = random_graph(random)
        graph.settings = replace(
            graph.settings,
            checkpointing=SETTINGS[random.choice([*SETTINGS, "unaligned", "unaligned"])],
            segment_size_bytes=random.choice([32, 64, 256]),
            buffer_timeout_ms=random.choice([0, 1, 10]),
        )
        at = random.randint(5, 60) * NS_PER_MS
        savepoint = TriggerSavepoint(at, directory=str(tmp_path / "savepoints"))
        actions = (random.choice([TriggerCheckpoint(at), savepoint]),)
        options = RunOptions(seed=seed, policy=random.choice(["fifo", "random"]), actions=actions)
        execute_recorded(graph, options, tmp_path / "out", Level.FULL)
        recording = flowsim.open_recording(tmp_path / "out")
        edges = recording.static_rows("edges")
        targets = {row[3] for row in edges if row[5] in NEVER_UNALIGNED}
        return Case(recording, Names(recording), {int(row[0]) for row in edges if row[3] in targets})

    return made


@pytest.mark.parametrize("seed", range(FIRST, FIRST + RUNS))
def test_marks_agree_with_barriers_of_channels(
    case: Callable[[int], Case], seed: int, truth_counts: Counter[str]
) -> None:
    """Rule 12.19: on a marked exchange no barrier overtakes, and nothing is stored; on others barriers may overtake."""
    found = case(seed)
    assert set(found.names.forced) == found.forced
    for (checkpoint, channel), sent in found.sent.items():
        edge = found.channels[channel][1]
        may_overtake = checkpoint in found.names.unaligned_checkpoints and edge not in found.forced
        assert (sent["kind"] == ElementKind.UNALIGNED_BARRIER) == may_overtake, (checkpoint, channel)
        received = found.received.get((checkpoint, channel))
        assert received is None or received["kind"] == sent["kind"]
        if not may_overtake:
            assert found.overtaken(checkpoint, channel) == 0
            assert (checkpoint, channel) not in found.stored
    history, overtook = (
        checkpoint_history(found.recording).checkpoints,
        Counter(checkpoint for checkpoint, channel in found.sent if found.overtaken(checkpoint, channel)),
    )
    for checkpoint, one in history.items():
        was = barriers_of(one, found.names).name
        requested = AlignmentType(one.alignment).name
        assert was == "AT_LEAST_ONCE" if requested == "AT_LEAST_ONCE" else was != "AT_LEAST_ONCE"
        if overtook[checkpoint]:
            assert was in ("UNALIGNED", "PARTLY_ALIGNED"), checkpoint
        if one.kind is not SnapshotKind.CHECKPOINT and requested != "AT_LEAST_ONCE":
            assert was == "ALIGNED"
        if was == "FORCED_ALIGNED":
            assert found.forced == set(map(int, (row[0] for row in found.recording.static_rows("edges"))))
        truth_counts[f"checkpoint {was}"] += 1


@pytest.mark.parametrize("seed", range(FIRST, FIRST + RUNS))
def test_answers_agree_with_barriers_of_channels(
    case: Callable[[int], Case], seed: int, truth_counts: Counter[str]
) -> None:
    found = case(seed)
    facts = RunFacts(found.recording)
    for trigger in found.triggers[:8]:
        for row in found.recording.static_rows("edges"):
            edge, checkpoint = int(row[0]), trigger["checkpoint"]
            text = text_of(why_aligned(facts, [f"edge {edge}", str(checkpoint)], None))
            for pattern in compared(found, text, edge, trigger):
                truth_counts[pattern] += 1


def compared(found: Case, text: str, edge: int, trigger: dict[str, int]) -> Iterator[str]:
    """Compares each sentence of an answer with the tables; yields its pattern."""
    checkpoint, first = trigger["checkpoint"], text.splitlines()[0]
    channels = found.of(edge)
    overtaken = {channel: found.overtaken(checkpoint, channel) for channel in channels}
    written = [channel for channel in channels if (checkpoint, channel) in found.sent]
    in_order = [c for c in written if found.sent[checkpoint, c]["kind"] == ElementKind.CHECKPOINT_BARRIER]
    if "was written to" in first:
        assert not written
        yield "no barrier"
    elif "it waits for none of them" in first:
        assert trigger["alignment"] == AlignmentType.AT_LEAST_ONCE
        yield "at least once"
    elif "by force" in first:
        assert edge in found.forced
        assert trigger["alignment"] != AlignmentType.AT_LEAST_ONCE
        assert in_order == written
        yield "by force"
    elif match := re.search(r"overtook ([\d,]+) elements? on (\d+) channels? of (\d+)", first):
        sums = sum(overtaken.values()), sum(number > 0 for number in overtaken.values()), len(channels)
        assert tuple(int(number.replace(",", "")) for number in match.groups()) == sums
        yield "overtook"
    elif "nothing to overtake" in first:
        assert in_order == []
        assert sum(overtaken.values()) == 0
        yield "nothing to overtake"
    else:
        assert re.search(r"is aligned in (checkpoint|savepoint) \d+: its barriers overtake nothing\.", first), first
        assert sum(overtaken.values()) == 0
        yield "aligned"
    for line in text.splitlines():
        yield from of_line(found, line, edge, checkpoint)


def of_line(found: Case, line: str, edge: int, checkpoint: int) -> Iterator[str]:
    moment = moment_of(found)
    if match := re.match(r"(.+) is aligned by force in unaligned checkpoints: (.+) \[", line):
        exchange, cause = match.groups()
        edges = [row for row in found.recording.static_rows("edges") if found.names.edge(int(row[0])) == exchange]
        assert int(edges[0][0]) in found.forced
        if own := re.match(r"its partitioner (\w+) does", cause):
            assert own[1] in NEVER_UNALIGNED & {row[5] for row in edges}
            yield "its partitioner"
        else:
            other = re.match(r"another input of its task supports none: (.+) \((\w+)\)", cause)
            assert other is not None, cause
            assert other[2] in NEVER_UNALIGNED
            assert any(
                (found.names.edge(int(row[0])), row[5], row[3]) == (other[1], other[2], edges[0][3])
                for row in found.recording.static_rows("edges")
            )
            yield "another input"
    elif match := re.match(r"channel #(\d+) .*: written at (.+), read at (.+), overtook (\w+|[\d,]+ element)", line):
        of = checkpoint, int(match[1])
        assert match[2] == moment(found.sent[of]["time_ns"])
        assert match[3] == moment(found.received[of]["time_ns"])
        yield "written and read"
    elif match := re.match(r"The barrier on channel #(\d+) from .* waited (.+) behind ([\d,]+) elements? that", line):
        of, channel = (checkpoint, int(match[1])), int(match[1])
        sent, received = found.sent[of], found.received[of]
        longest = max(
            found.received[checkpoint, c]["time_ns"] - found.sent[checkpoint, c]["time_ns"]
            for c in found.of(edge)
            if (checkpoint, c) in found.received
        )
        assert received["time_ns"] - sent["time_ns"] == longest
        counted = [
            one
            for one in found.recording.table("received").to_pylist()
            if one["channel"] == channel and one["time_ns"] > sent["time_ns"] and one["position"] < sent["position"]
            and one["seq"] < received["seq"] and one["kind"] not in (ElementKind.EVENT, ElementKind.UNALIGNED_BARRIER)
        ]  # fmt: skip
        assert len(counted) == int(match[3].replace(",", ""))
        yield "waited behind data"
    elif match := re.match(r"(.+) had its first barrier at (.+), and the last one .+ later, on channel #(\d+)", line):
        task = found.channels[int(match[3])][4]
        steps = found.steps[checkpoint, task]
        assert match[2] == moment(steps[CheckpointStep.ALIGNMENT_START]["time_ns"])
        assert steps[CheckpointStep.ALIGNMENT_END]["channel"] == int(match[3])
        yield "waited for the last barrier"
    elif match := re.match(r"The barriers of (\d+) channels? of \d+ became unaligned after it", line):
        late = [c for c in found.of(edge) if found.overtaken(checkpoint, c) or is_early(found, checkpoint, c)]
        assert len(late) == int(match[1])
        yield "became unaligned"
    elif line.startswith("No barrier of this exchange became unaligned"):
        assert not any(found.overtaken(checkpoint, c) for c in found.of(edge))
        yield "in time"


def is_early(found: Case, checkpoint: int, channel: int) -> bool:
    """Whether the receiver took its snapshot before it had the barrier of a channel."""
    steps = found.steps[checkpoint, found.channels[channel][4]]
    snapshot, last = (steps.get(step) for step in (CheckpointStep.SYNC_START, CheckpointStep.ALIGNMENT_END))
    received = found.received.get((checkpoint, channel))
    if snapshot is None or CheckpointStep.TRIGGER in steps or (last is not None and last["seq"] < snapshot["seq"]):
        return False
    return received is None or received["seq"] > snapshot["seq"]


def moment_of(found: Case) -> Callable[[int], str]:
    return RunFacts(found.recording).moment


def test_every_pattern_was_compared(truth_counts: Counter[str]) -> None:
    """Runs after the others; with few runs, or in a process of its own, it has nothing to say."""
    if RUNS >= 20 and truth_counts["written and read"] > 500:
        assert set(truth_counts) >= {"by force", "overtook", "aligned", "its partitioner", "another input"}
