"""Random jobs as data, whose output no schedule, failure or restart changes, and their runs.

Records are pairs of a key and a number. No record is late, and what a step emits depends on the records that it has
read, not on their order.
"""

from __future__ import annotations

import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from flowsim.cluster.failures import RunFailure
from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import RunAction
from flowsim.cluster.run_bounds import RunBounds
from flowsim.connectors import CsvSource, JsonLinesSource, ParquetSource, PartitionedGeneratorSource, ScriptedSource
from flowsim.connectors.databases.sqlite import SqliteSink
from flowsim.connectors.files.parquet import ParquetSink
from flowsim.connectors.files.text_sinks import CsvSink, JsonLinesSink
from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.partition_log import Partition
from flowsim.connectors.script import Entry, record, sleep, watermark
from flowsim.datastream import DataStream, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, WatermarkStrategy
from flowsim.facts.recorder import Recorder
from flowsim.graph.checkpoint_settings import CheckpointSettings, RestartStrategySettings, SavepointRestoreSettings
from flowsim.legacy.source_function import LegacySource
from flowsim.units import NS_PER_MS
from tests.support.jobs.disturbed_steps import Pair, processed

FIELDS = {"key": "long", "number": "long"}
KEYS = 4
ORIGINS = ("collection", "generator", "scripts", "requested scripts", "partitions", "files", "requested files",
           "legacy generator", "legacy files")  # fmt: skip
FILE_FORMATS = ("csv", "jsonl", "parquet")
PARTITIONINGS = ("default", "rebalance", "rescale", "shuffle", "global", "forward")
SINKS = ("collect", "collect", "csv", "jsonl", "parquet", "sqlite")


@dataclass(frozen=True)
class Origin:
    """A source: its kind, the numbers of its records per split, and its parallelism."""

    kind: str
    counts: tuple[int, ...]
    parallelism: int
    bound_ms: int
    file_format: str


@dataclass(frozen=True)
class Step:
    """An operator. ``inputs``: positions of what it reads; several are united, or the two sides of a join.

    ``exchanges``: one for each input. ``failing_opens``: the attempts of its first subtask that fail when they open.
    """

    kind: str
    inputs: tuple[int, ...]
    partitioning: str
    exchanges: tuple[str, ...]
    parallelism: int
    is_chained: bool
    failing_opens: tuple[int, ...] = ()


@dataclass(frozen=True)
class DisturbedJob:
    """The sources, then the steps of a job, and a sink for each that has no reader."""

    origins: tuple[Origin, ...]
    steps: tuple[Step, ...]
    sinks: tuple[str, ...]
    settings: dict[str, object]
    checkpointing: CheckpointSettings | None
    """None for a job with blocking exchanges, whose tasks do not run at the same time."""
    restart: RestartStrategySettings

    @property
    def repeats_records(self) -> bool:
        """Whether a restart may read records twice."""
        return self.checkpointing is not None and not self.checkpointing.exactly_once

    @property
    def parallelisms(self) -> list[int]:
        return [each.parallelism for each in (*self.origins, *self.steps)]

    @property
    def ends(self) -> list[int]:
        read = {position for step in self.steps for position in step.inputs}
        return [position for position in range(len(self.parallelisms)) if position not in read]

    @property
    def names(self) -> list[str]:
        """The names of the tasks and operators in which an attempt can fail."""
        return [f"s{position}" for position in range(len(self.parallelisms))]

    def rescaled(self, random: Random) -> DisturbedJob:
        """Returns the job with other parallelism, where it can be changed."""
        origins = [
            replace(each, parallelism=random.randint(1, 3) if can_rescale(each) else each.parallelism)
            for each in self.origins
        ]
        steps = [
            replace(
                each,
                parallelism=random.randint(1, 3),
                partitioning="rebalance" if each.partitioning == "forward" else each.partitioning,
            )
            for each in self.steps
        ]
        return replace(self, origins=tuple(origins), steps=tuple(steps))

    def rescaled_evenly(self, random: Random) -> DisturbedJob:
        """Returns the job with other parallelism and the same chains, so that each exchange has its in-flight data."""
        fixed = {each.parallelism for each in self.origins if not can_rescale(each)}
        ends = {self.parallelisms[end] for end in self.ends}
        for _ in range(20):
            others = dict(zip((1, 2, 3), random.sample((1, 2, 3, 4), k=3), strict=True))
            # The sinks have one subtask, and form a chain with a step of one subtask.
            if all(others[each] == each for each in fixed) and all((each == 1) == (others[each] == 1) for each in ends):
                origins = [replace(each, parallelism=others[each.parallelism]) for each in self.origins]
                steps = [replace(each, parallelism=others[each.parallelism]) for each in self.steps]
                return replace(self, origins=tuple(origins), steps=tuple(steps))
        return self

    def graph(self, inputs: Path, folder: Path) -> tuple[StreamExecutionEnvironment, list[Any]]:
        """Returns the job, and the sinks of its ends."""
        env = StreamExecutionEnvironment.get_execution_environment()
        env.configure(checkpointing=self.checkpointing, restart_strategy=self.restart, **self.settings)
        streams: list[DataStream] = []
        for position, origin in enumerate(self.origins):
            streams.append(named(read(env, origin, inputs / f"{position}"), position, origin.parallelism))
        for position, step in enumerate(self.steps, len(streams)):
            read_by = [streams[each].exchange(how) for each, how in zip(step.inputs, step.exchanges, strict=True)]
            added = processed(step.kind, read_by, step.partitioning, step.failing_opens)
            made = named(added, position, step.parallelism)
            streams.append(made if step.is_chained else made.disable_chaining())
        sinks = [sink_of(kind, folder / f"out{end}") for end, kind in zip(self.ends, self.sinks, strict=True)]
        for end, sink in zip(self.ends, sinks, strict=True):
            streams[end].sink_to(sink).uid(f"sink{end}")
        return env, sinks


def can_rescale(origin: Origin) -> bool:
    return origin.kind not in ("collection", "scripts")


def named(stream: DataStream, position: int, parallelism: int) -> DataStream:
    return stream.set_parallelism(parallelism).name(f"s{position}").uid(f"s{position}")


def time_of(value: Pair) -> int:
    return value[1] * 3 - value[1] * 7 % 11


def values_of(origin: Origin, split: int) -> list[Pair]:
    return [(number * number % KEYS, number) for number in range(split, origin.counts[split] * 3, 3)]


def read(env: StreamExecutionEnvironment, origin: Origin, folder: Path) -> DataStream:
    """Adds the source."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(origin.bound_ms))
    assigning = strategy.with_timestamp_assigner(lambda value, _: time_of(value))
    splits = [values_of(origin, split) for split in range(len(origin.counts))]
    match origin.kind:
        case "collection":
            return env.from_collection(splits[0]).assign_timestamps_and_watermarks(assigning)
        case "generator":
            fields = {"key": SequenceOf(0, 1, KEYS), "number": SequenceOf(0, 1, None)}
            return env.from_source(GeneratorSource(sum(origin.counts), fields, pace_ns=NS_PER_MS), assigning, "s")
        case "partitions":
            fields = {"key": SequenceOf(0, 1, KEYS), "number": SequenceOf(0, 1, None)}
            partitions = [Partition(400, start_lag=count // 3, records=count) for count in origin.counts]
            return env.from_source(PartitionedGeneratorSource(partitions, fields), strategy, "s")
        case "legacy generator":
            fields = {"key": SequenceOf(0, 1, KEYS), "number": SequenceOf(0, 1, None)}
            legacy = LegacySource(GeneratorSource(sum(origin.counts), fields, pace_ns=NS_PER_MS))
            return env.add_source(legacy).assign_timestamps_and_watermarks(assigning)
        case "files" | "requested files":
            return env.from_source(files(origin, folder, splits), assigning, "s")
        case "legacy files":
            return env.add_source(LegacySource(files(origin, folder, splits))).assign_timestamps_and_watermarks(
                assigning
            )
        case "requested scripts":
            scripts = [
                [part for value in values for part in (record(value, time_of(value)), sleep(1))] for values in splits
            ]
            return env.add_source(ScriptedSource(*scripts, assignment="dynamic"))
        case _:
            return env.add_source(ScriptedSource(*(script_of(values, origin.bound_ms) for values in splits)))


def files(origin: Origin, folder: Path, splits: Sequence[Sequence[Pair]]) -> Any:
    """Writes a file per split, and returns their source."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{split}.{origin.file_format}" for split in range(len(splits))]
    assignment: Literal["fixed", "dynamic"] = "dynamic" if origin.kind == "requested files" else "fixed"
    for path, values in zip(paths, splits, strict=True):
        keys, numbers = [key for key, _ in values], [number for _, number in values]
        match origin.file_format:
            case "csv":
                path.write_text("key,number\n" + "".join(f"{key},{number}\n" for key, number in values))
            case "jsonl":
                path.write_text("".join(f'{{"key": {key}, "number": {number}}}\n' for key, number in values))
            case _:
                columns = {"key": pa.array(keys, pa.int64()), "number": pa.array(numbers, pa.int64())}
                pq.write_table(pa.table(columns), path, row_group_size=7)
    match origin.file_format:
        case "csv":
            return CsvSource(paths, FIELDS, assignment=assignment)
        case "jsonl":
            return JsonLinesSource(paths, FIELDS, assignment=assignment)
        case _:
            return ParquetSource(paths, FIELDS, assignment=assignment)


def script_of(values: Sequence[Pair], bound_ms: int) -> list[Entry]:
    """Returns records with growing watermarks."""
    entries: list[Entry] = []
    highest = -1
    for value in values:
        if time_of(value) > highest:
            highest = time_of(value)
            entries.append(watermark(highest - bound_ms))
        entries += [record(value, time_of(value)), sleep(1)]
    return entries


def sink_of(kind: str, folder: Path) -> Any:
    match kind:
        case "collect":
            return CollectSink()
        case "csv":
            return CsvSink(folder, FIELDS)
        case "jsonl":
            return JsonLinesSink(folder, FIELDS)
        case "parquet":
            return ParquetSink(folder, FIELDS)
        case _:
            return SqliteSink(folder / "rows.sqlite", "rows", FIELDS)


def committed(sink: Any, folder: Path) -> Counter[Pair]:
    """Returns what a reader of the sink's output sees."""
    if isinstance(sink, CollectSink):
        return Counter(sink.values())  # type: ignore[arg-type]
    if isinstance(sink, SqliteSink):
        if not (folder / "rows.sqlite").exists():
            return Counter()
        with closing(sqlite3.connect(folder / "rows.sqlite")) as rows:
            return Counter(rows.execute("SELECT * FROM rows").fetchall())
    return Counter(row for path in sorted(folder.glob("[!.]*")) for row in rows_of(path))


def rows_of(path: Path) -> Iterator[Pair]:
    if path.suffix == ".parquet":
        for row in pq.read_table(path).to_pylist():
            yield row["key"], row["number"]
    elif path.suffix == ".jsonl":
        for line in path.read_text().splitlines():
            found = json.loads(line)
            yield found["key"], found["number"]
    else:
        with path.open(newline="") as file:
            for key, number in list(csv.reader(file))[1:]:
                yield int(key), int(number)


@dataclass(frozen=True)
class Output:
    """The result of a run, what each end of the job has committed, and the task managers."""

    result: JobExecutionResult
    rows: list[Counter[Pair]]
    task_managers: Sequence[str]


@dataclass(frozen=True)
class Run:
    """What happens to one run of a job."""

    seed: int
    policy: Any
    budget_records: int
    failures: tuple[RunFailure, ...] = ()
    actions: tuple[RunAction, ...] = ()


def run(
    job: DisturbedJob,
    how: Run,
    folder: Path,
    *,
    savepoint: SavepointRestoreSettings | None = None,
    recorder: Recorder | None = None,
) -> Output:
    """Runs the job."""
    folder.mkdir(parents=True, exist_ok=True)
    env, sinks = job.graph(folder.parent / "inputs", folder)
    options = RunOptions(
        seed=how.seed,
        policy=how.policy,
        budget_records=how.budget_records,
        failures=how.failures,
        actions=how.actions,
        savepoint=savepoint,
        recorder=recorder,
        bounds=RunBounds(steps=3_000_000),
    )
    cluster = MiniCluster(env.stream_graph(), options)
    result = cluster.run()
    rows = [committed(sink, folder / f"out{end}") for sink, end in zip(sinks, job.ends, strict=True)]
    return Output(result, rows, cluster.execution.placement.names)
