"""Jobs that fail and are restored: their sources lose no record and read none twice (rules 12.29, 12.108-12.116, law L8)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from flowsim.cluster.job_master.savepoint_restore import SavepointRestoreSettings
from flowsim.cluster.run_actions import StopWithSavepoint
from flowsim.connectors.files.csv import CsvSource
from flowsim.connectors.files.file_sources import JsonLinesSource
from flowsim.connectors.generator import GeneratorSource, SequenceOf, UniformInt
from flowsim.connectors.memory import CollectionSource, CollectSink
from flowsim.connectors.partitioned_generator import Partition, PartitionedGeneratorSource, Pause
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.connectors.source import Source
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import WatermarkStrategy
from flowsim.facts.kinds import CheckpointAction, Level, StoredAction
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart
from flowsim.legacy.source_function import LegacySource, ParallelSourceFunction, SourceContext
from flowsim.operators.checkpointed_function import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.state.descriptors import ListStateDescriptor
from flowsim.units import NS_PER_MS
from flowsim.values.types import Types
from tests.support.jobs.requested_checkpoints import ON_REQUEST


def collection(folder: Path) -> Source:
    return CollectionSource([(n,) for n in range(40)])


def generator(folder: Path) -> Source:
    return GeneratorSource(40, {"id": SequenceOf(), "draw": UniformInt(0, 10**6)}, pace_ns=UniformInt(0, 3_000_000))


def grouped_csv(folder: Path) -> Source:
    (folder / "one.csv").write_text("k,n\n" + "".join(f"{'abc'[n % 3]},{n}\n" for n in range(40)))
    return CsvSource(folder / "one.csv", {"k": "string", "n": "long"}, split_by="k")


def json_files(folder: Path, **settings: str) -> Source:
    paths = [folder / f"{i}.jsonl" for i in range(6)]
    for i, path in enumerate(paths):
        path.write_text("".join(f'{{"n": {i * 10 + k}}}\n' for k in range(i + 4)))
    return JsonLinesSource(paths, {"n": "long"}, **settings)  # type: ignore[arg-type]


def files_on_request(folder: Path) -> Source:
    return json_files(folder, assignment="dynamic")


def scripts(folder: Path) -> Source:
    return ScriptedSource(*[[record((i, k), k, step=k) for k in range(20)] for i in range(2)], gap_ms=5)


def scripts_on_request(folder: Path) -> Source:
    return ScriptedSource(*[[record((i, 0)), sleep(3), record((i, 1))] for i in range(12)], assignment="dynamic")


def partitions(folder: Path) -> Source:
    logs = [
        Partition(300, start_lag=10, records=20),
        Partition(400, records=15, pauses=[Pause(5, 20)]),
        Partition(1_000, start_lag=2, records=10, out_of_orderness_ms=5),
    ]
    return PartitionedGeneratorSource(logs, {"id": SequenceOf(), "draw": UniformInt(0, 10**6)}, max_poll_records=4)


SOURCES = [
    collection, generator, grouped_csv, json_files, files_on_request, scripts, scripts_on_request, partitions,
]  # fmt: skip


FIXED = [collection, generator, grouped_csv, json_files, scripts]
"""Those with fixed shares, which a legacy source needs."""

NEW_AND_LEGACY = pytest.mark.parametrize(
    ("source_of", "legacy"), [*((one, False) for one in SOURCES), *((one, True) for one in FIXED)]
)


class FailAt:
    """Fails at the given numbers of records, counted over all subtasks and attempts."""

    def __init__(self, numbers: set[int]) -> None:
        self.numbers = numbers
        self.seen = 0

    def __call__(self, value: object) -> object:
        self.seen += 1
        if self.seen in self.numbers:
            raise RuntimeError("scripted failure")
        return value


SHARED: dict[str, FailAt] = {}
"""The functions of subtasks are copies; this is what they share."""


def pass_or_fail(value: object) -> object:
    return SHARED["now"](value)


def read(
    source: Source, fails_at: set[int], *, legacy: bool = False, one_region: bool = False, seed: int = 0, **options: Any
) -> list[str]:
    """The committed records of a run with failures; without ``one_region`` each source subtask restarts on its own."""
    SHARED["now"] = FailAt(fails_at)
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.settings.checkpointing = CheckpointSettings(interval_ms=10)
    env.settings.restart_strategy = FixedDelayRestart(100, 5)
    sink = CollectSink()
    if legacy:
        stream = env.add_source(LegacySource(source), "source")
    else:
        stream = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "source")
    stream.cost(3_000_000)
    mapped = (stream.rebalance() if one_region else stream).map(pass_or_fail)
    mapped.disable_chaining()
    mapped.sink_to(sink)
    env.flowsim_settings(policy="random", seed=seed, **options).execute()
    return sorted(map(repr, sink.values()))


@pytest.mark.property
@pytest.mark.parametrize("source_of", SOURCES)
def test_restored_job_commits_each_record_once(tmp_path: Path, source_of: Callable[[Path], Source]) -> None:
    for seed in range(3):
        random = Random(seed)
        fails_at = {random.randint(1, 24), *(random.randint(1, 60) for _ in range(random.randint(0, 3)))}
        undisturbed = read(source_of(tmp_path), set(), seed=seed)
        assert len(undisturbed) >= 24
        committed = read(source_of(tmp_path), fails_at, one_region=seed % 2 == 1, seed=seed)
        assert committed == undisturbed, (seed, fails_at)
        assert SHARED["now"].seen > len(undisturbed)


@pytest.mark.property
@pytest.mark.parametrize("source_of", FIXED)
def test_legacy_source_commits_each_record_once(tmp_path: Path, source_of: Callable[[Path], Source]) -> None:
    """Rule 12.116."""
    for seed in range(2):
        undisturbed = read(source_of(tmp_path), set(), legacy=True, seed=seed)
        committed = read(source_of(tmp_path), {10, 25, 41}, legacy=True, one_region=seed == 1, seed=seed)
        assert committed == undisturbed
        assert SHARED["now"].seen > len(undisturbed)


class Counter(ParallelSourceFunction, CheckpointedFunction):
    """Counts to 15 and keeps its position in list state; changes two fields under the lock."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.position = store.get_list_state(ListStateDescriptor("position", Types.LONG()))
        self.everything = store.get_union_list_state(ListStateDescriptor("everything", Types.LONG()))
        restored = self.position.get()
        assert bool(restored) is context.is_restored()
        assert len(self.everything.get()) == (2 if context.is_restored() else 0)
        self.next = restored[0] if restored else 0
        self.half = False
        self.running = True

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        assert not self.half, "the snapshot is taken between two elements"
        self.position.update([self.next])
        self.everything.update([self.next])

    def run(self, ctx: SourceContext) -> None:
        while self.running and self.next < 15:
            with ctx.get_checkpoint_lock():
                self.half = True
                ctx.collect((self.subtask, self.next))
                ctx.sleep(2)
                self.next += 1
                self.half = False
            ctx.sleep(1)

    def cancel(self) -> None:
        self.running = False


@pytest.mark.parametrize("fails_at", [set(), {9}, {7, 20, 26}])
def test_source_function_stores_its_position_under_lock(fails_at: set[int]) -> None:
    """Rule 12.116: no snapshot inside ``with get_checkpoint_lock()``, although the function sleeps there."""
    SHARED["now"] = FailAt(fails_at)
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.settings.checkpointing = CheckpointSettings(interval_ms=10)
    env.settings.restart_strategy = FixedDelayRestart(100, 5)
    sink = CollectSink()
    env.add_source(Counter(), "counter").rebalance().map(pass_or_fail).sink_to(sink)
    env.execute()
    assert sorted(sink.values()) == [(i, n) for i in range(2) for n in range(15)]
    assert (SHARED["now"].seen > 30) is bool(fails_at)


@pytest.mark.property
@NEW_AND_LEGACY
def test_later_run_continues_from_savepoint(tmp_path: Path, source_of: Callable[[Path], Source], legacy: bool) -> None:
    """Rules 12.24, 12.111, 12.139; the parallelism changes where the source allows it."""
    source = source_of(tmp_path)
    others = [source.required_parallelism] if source.required_parallelism else [1, 2, 3]
    parallelism = others[0] if len(others) == 1 else 2
    undisturbed = run_with(source_of(tmp_path), parallelism, legacy=legacy)
    for stop_ms, drain in ((5, False), (31, True), (44, False)):
        directory = tmp_path / f"{stop_ms}"
        stop = StopWithSavepoint(stop_ms * NS_PER_MS, drain, str(directory))
        first = run_with(source_of(tmp_path), parallelism, legacy=legacy, actions=(stop,))
        assert 0 < len(first) < len(undisturbed), stop_ms
        for other in others:
            restore = SavepointRestoreSettings(str(next(directory.glob("savepoint-*"))))
            rest = run_with(source_of(tmp_path), other, legacy=legacy, savepoint=restore)
            assert sorted(first + rest) == undisturbed


def run_with(source: Source, parallelism: int, *, legacy: bool, **options: Any) -> list[str]:
    """The committed records of a run."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    sink = CollectSink()
    if legacy:
        stream = env.add_source(LegacySource(source), "source")
    else:
        stream = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "source")
    stream.cost(3_000_000)
    stream.sink_to(sink)
    env.settings.checkpointing = ON_REQUEST
    env.flowsim_settings(**options).execute()
    return sorted(map(repr, sink.values()))


@NEW_AND_LEGACY
def test_positions_are_recorded_and_restored(tmp_path: Path, source_of: Callable[[Path], Source], legacy: bool) -> None:
    source = source_of(tmp_path)
    recorder = MemoryRecorder(Level.ELEMENTS)
    read(source, {24, 36}, legacy=legacy, one_region=True, recorder=recorder)
    rows = sorted(recorder.rows("source_positions"))
    stored = {(row[4], row[6]): row[7] for row in rows if row[5] == StoredAction.STORED}
    restored = [row for row in rows if row[5] == StoredAction.RESTORED]
    assert restored
    for _, _, _, _, checkpoint, _, split, position, advance in restored:
        assert (stored[checkpoint, split], advance) == (position, 0)
    assert all(row[8] >= 0 for row in rows)


def second_trigger_ms(start_lag: int) -> float:
    """When the second checkpoint is triggered in a job that takes none during a backlog; the first one is scheduled."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.settings.checkpointing = CheckpointSettings(interval_ms=10, interval_during_backlog_ms=0)
    source = PartitionedGeneratorSource([Partition(100, start_lag=start_lag, records=60)], {"id": SequenceOf()})
    recorder = MemoryRecorder(Level.ELEMENTS)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "source")
    stream.cost(3_000_000)
    stream.sink_to(CollectSink())
    env.flowsim_settings(recorder=recorder).execute()
    triggered = [row[1] for row in recorder.rows("checkpoints") if row[3] == CheckpointAction.TRIGGERED]
    return (sorted(triggered)[1] - START_NS) / NS_PER_MS


def test_backlog_of_start_has_its_own_checkpoint_interval() -> None:
    """Rule 12.43: 30 records that are there at the start take 90 ms."""
    assert second_trigger_ms(start_lag=0) <= 30
    assert second_trigger_ms(start_lag=30) >= 90
