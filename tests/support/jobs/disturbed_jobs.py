"""Random jobs as data, whose output no schedule, failure or restart changes, and their runs.

Records are pairs of a key and a number. No record is late, and what a step emits depends on the records that it has
read, not on their order.
"""

from __future__ import annotations

import asyncio
import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq

from flowsim.cluster.failures import FailTask, LoseJobManager, LoseTaskManager, RunFailure
from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import RunAction, TriggerSavepoint
from flowsim.connectors import CsvSource, PartitionedGeneratorSource, ScriptedSource
from flowsim.connectors.databases.sqlite import SqliteSink
from flowsim.connectors.files.parquet import ParquetSink
from flowsim.connectors.files.text_sinks import CsvSink, JsonLinesSink
from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.partition_log import Partition
from flowsim.connectors.script import Entry, record, sleep, watermark
from flowsim.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedProcessFunction,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Duration, Time, Types, WatermarkStrategy
from flowsim.datastream.partitioning import partitioned
from flowsim.datastream.state import ListStateDescriptor, ValueStateDescriptor
from flowsim.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from flowsim.facts.tracer import Recorder
from flowsim.graph.checkpoint_settings import (
    CheckpointSettings,
    ExponentialDelayRestart,
    FixedDelayRestart,
    RestartStrategySettings,
    SavepointRestoreSettings,
)
from flowsim.units import NS_PER_MS

Pair = tuple[int, int]
FIELDS = {"key": "long", "number": "long"}
KEYS = 4
ORIGINS = ("collection", "generator", "scripts", "requested scripts", "partitions", "files", "requested files")
TIMED = ("tumbling", "sliding", "session", "waits", "join")
"""Steps that need the timestamps of the sources."""
STEPS = (*TIMED, "map", "filter", "flat_map", "count", "count_window", "ordered", "unordered")
UNTIMED_RESULTS = ("count", "count_window")
"""Steps whose output has timestamps that depend on the order of their input."""
PARTITIONINGS = ("default", "rebalance", "rescale", "shuffle", "global", "forward")
SINKS = ("collect", "collect", "csv", "jsonl", "parquet", "sqlite")


@dataclass(frozen=True)
class Origin:
    """A source: its kind, the numbers of its records per split, and its parallelism."""

    kind: str
    counts: tuple[int, ...]
    parallelism: int
    bound_ms: int


@dataclass(frozen=True)
class Step:
    """An operator. ``inputs``: positions of what it reads; several are united, or the two sides of a join.

    ``exchanges``: one for each input.
    """

    kind: str
    inputs: tuple[int, ...]
    partitioning: str
    exchanges: tuple[str, ...]
    parallelism: int
    is_chained: bool


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

    def graph(self, inputs: Path, folder: Path) -> tuple[StreamExecutionEnvironment, list[Any]]:
        """Returns the job, and the sinks of its ends."""
        env = StreamExecutionEnvironment.get_execution_environment()
        env.configure(checkpointing=self.checkpointing, restart_strategy=self.restart, **self.settings)
        streams: list[DataStream] = []
        for position, origin in enumerate(self.origins):
            streams.append(named(read(env, origin, inputs / f"{position}"), position, origin.parallelism))
        for position, step in enumerate(self.steps, len(streams)):
            made = named(processed(step, [streams[each] for each in step.inputs]), position, step.parallelism)
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
        case "files" | "requested files":
            folder.mkdir(parents=True, exist_ok=True)
            for split, values in enumerate(splits):
                lines = ["key,number", *(f"{key},{number}" for key, number in values)]
                (folder / f"{split}.csv").write_text("\n".join(lines) + "\n")
            assignment: Any = "fixed" if origin.kind == "files" else "dynamic"
            paths = [str(folder / f"{split}.csv") for split in range(len(splits))]
            return env.from_source(CsvSource(paths, FIELDS, assignment=assignment), assigning, "s")
        case "requested scripts":
            scripts = [
                [part for value in values for part in (record(value, time_of(value)), sleep(1))] for values in splits
            ]
            return env.add_source(ScriptedSource(*scripts, assignment="dynamic"))
        case _:
            return env.add_source(ScriptedSource(*(script_of(values, origin.bound_ms) for values in splits)))


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


def processed(step: Step, inputs: list[DataStream]) -> DataStream:
    """Adds the operator."""
    inputs = [each.exchange(exchange) for each, exchange in zip(inputs, step.exchanges, strict=True)]
    if step.kind == "join":
        left, right = (each.key_by(key_of) for each in inputs)
        return left.interval_join(right).between(Time.milliseconds(-6), Time.milliseconds(9)).process(Joined())
    stream = inputs[0].union(*inputs[1:]) if len(inputs) > 1 else inputs[0]
    if step.kind in ("map", "filter", "flat_map", "ordered", "unordered") and step.partitioning != "default":
        stream = partitioned(stream, step.partitioning)  # type: ignore[arg-type]
    keyed = stream.key_by(key_of)
    match step.kind:
        case "map":
            return stream.map(lambda value: (value[0], value[1] * 7 % 1009))
        case "filter":
            return stream.filter(lambda value: value[1] % 3 != 0)
        case "flat_map":
            return stream.flat_map(lambda value: [value, (value[0] + 1, value[1])][: value[1] % 3])
        case "tumbling":
            return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(50))).reduce(total)
        case "sliding":
            size, slide = Time.milliseconds(60), Time.milliseconds(20)
            return keyed.window(SlidingEventTimeWindows.of(size, slide)).reduce(total)
        case "session":
            return keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(9))).reduce(total)
        case "count_window":
            return keyed.count_window(3).reduce(lambda left, right: (left[0], 1)).map(lambda value: (value[0], 1))
        case "count":
            return keyed.process(Counts())
        case "waits":
            return keyed.process(Waits())
        case "ordered":
            return AsyncDataStream.ordered_wait(stream, Answers(), Time.seconds(10), 4)
        case _:
            return AsyncDataStream.unordered_wait(stream, Answers(), Time.seconds(10), 4)


def key_of(value: Pair) -> int:
    return value[0]


def total(left: Pair, right: Pair) -> Pair:
    return left[0], left[1] + right[1]


class Joined(ProcessJoinFunction):
    """Emits one number for each pair."""

    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left[0], left[1] * 31 + right[1]


class Counts(KeyedProcessFunction):
    """Emits how many records the key has had."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], count


class Waits(KeyedProcessFunction):
    """Emits the sum of all numbers that are 20 ms old."""

    def open(self, runtime_context: Any) -> None:
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.waiting.add((ctx.timestamp(), value[1]))
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 20)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        waiting = list(self.waiting.get())
        self.waiting.update([each for each in waiting if each[0] > timestamp - 20])
        yield ctx.get_current_key(), sum(number for at, number in waiting if at <= timestamp - 20)


class Answers(AsyncFunction):
    """Answers after 0 to 6 ms."""

    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0.001 * (value[1] % 7))
        return [value]


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
    job: DisturbedJob, how: Run, folder: Path, *, savepoint: str | None = None, recorder: Recorder | None = None
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
        savepoint=None if savepoint is None else SavepointRestoreSettings(savepoint),
        recorder=recorder,
    )
    cluster = MiniCluster(env.stream_graph(), options)
    result = cluster.run()
    rows = [committed(sink, folder / f"out{end}") for sink, end in zip(sinks, job.ends, strict=True)]
    return Output(result, rows, cluster.execution.placement.names)


# Random jobs.


def random_job(random: Random) -> DisturbedJob:
    """Draws a job."""
    keeps_bound = random.random() < 0.5
    origins = tuple(random_origin(random, keeps_bound) for _ in range(random.choice([1, 1, 2])))
    widths = [each.parallelism for each in origins]
    is_timed = [True] * len(origins)
    steps: list[Step] = []
    count = random.randint(1, 4)
    is_blocking = random.random() < 0.15
    # All exchanges between what is before and behind this position are blocking.
    cut = random.randint(len(origins), len(origins) + count - 1) if is_blocking else None
    for _ in range(count):
        step = random_step(random, widths, is_timed, cut)
        steps.append(step)
        widths.append(step.parallelism)
        is_timed.append(step.kind not in UNTIMED_RESULTS and all(is_timed[each] for each in step.inputs))
    checkpointing = CheckpointSettings(
        random.choice([10, 10, 25]),
        max_concurrent=random.choice([1, 1, 2]),
        min_pause_ms=random.choice([0, 0, 5]),
        timeout_ms=random.choice([600_000, 60]),
        retained=random.choice([1, 2]),
        tolerable_failures=1000,
        async_latency_ns=random.choice([0, 4]) * NS_PER_MS,
        sync_latency_ns=random.choice([0, 0, 1]) * NS_PER_MS,
    )
    restart = random.choice([FixedDelayRestart(50, 0), FixedDelayRestart(50, 12), ExponentialDelayRestart(5, 40)])
    settings: dict[str, object] = {
        "segment_size_bytes": random.choice([32768, 64]),
        "exclusive_buffers_per_channel": random.choice([2, 1]),
        "floating_buffers_per_gate": random.choice([8, 1]),
        "buffer_timeout_ms": random.choice([100, 1, 0]),
        "cost_ns": random.choice([200_000, 1_000_000]),
        "task_managers": random.choice(["each", "one"]),
        "operator_chaining": random.random() < 0.8,
    }
    job = DisturbedJob(origins, tuple(steps), (), settings, None if is_blocking else checkpointing, restart)
    return replace(job, sinks=tuple(random.choice(SINKS) for _ in job.ends))


def random_origin(random: Random, keeps_bound: bool) -> Origin:
    """Splits of one reader come one after the other, so that only a high bound keeps records from being late."""
    kind = random.choice(ORIGINS)
    least = 2 if "files" in kind else 1
    counts = tuple(random.randint(0, 40) for _ in range(1 if kind == "collection" else random.randint(least, 3)))
    if kind == "partitions" and not any(counts):
        counts = (9,)
    parallelism = len(counts) if kind in ("collection", "scripts") else random.randint(1, 3)
    is_split = "requested" in kind or kind == "files"
    return Origin(kind, counts, parallelism, 10_000 if is_split or not keeps_bound else 12)


def random_step(random: Random, widths: list[int], is_timed: list[bool], cut: int | None) -> Step:
    newest = len(widths) - 1
    kind = random.choice(STEPS)
    if kind == "join":
        inputs = tuple(random.choice(range(newest + 1)) for _ in range(2))
    else:
        some = random.sample(range(newest + 1), k=min(newest + 1, random.choice([1, 2])))
        inputs = tuple(random.choice([[newest], some]))
    if kind in TIMED and not all(is_timed[each] for each in inputs):
        kind = "count"
        inputs = tuple(dict.fromkeys(inputs))
    parallelism = random.randint(1, 3)
    exchanges = tuple(
        "blocking" if cut is not None and each < cut <= newest + 1 else "pipelined_bounded" for each in inputs
    )
    partitioning = random.choice(PARTITIONINGS)
    if partitioning == "forward":
        parallelism = widths[inputs[0]]
        partitioning = "forward" if all(widths[each] == parallelism for each in inputs) else "rebalance"
    return Step(kind, inputs, partitioning, exchanges, parallelism, random.random() < 0.8)


def random_failures(
    random: Random, job: DisturbedJob, length_ms: int, managers: Sequence[str]
) -> tuple[RunFailure, ...]:
    """Draws failures: of several attempts in a row too, of later attempts, and at times at which tasks restart."""
    failures: list[RunFailure] = []
    for _ in range(random.randint(1, 4)):
        at_ns = random.randint(0, length_ms * 1000) * 1000
        kind = random.randint(0, 9)
        if kind == 0:
            failures.append(LoseJobManager(at_ns))
        elif kind == 1 and managers:
            failures.append(LoseTaskManager(random.choice(managers), at_ns))
        else:
            failures += random_task_failures(random, job, at_ns)
    return tuple(failures)


def random_task_failures(random: Random, job: DisturbedJob, at_ns: int) -> list[RunFailure]:
    position = random.randrange(len(job.parallelisms))
    subtask = random.randrange(job.parallelisms[position])
    attempts = random.choice([[0], [0], [1], [2], [0, 1], [0, 1, 2]])
    places = [
        {"at_record": random.randint(0, 30)},
        {"at_ns": at_ns},
        {"in_snapshot": random.randint(1, 5)},
        {"in_notification": random.randint(1, 5)},
    ]
    place = random.choice(places)
    return [FailTask(job.names[position], subtask, attempt=attempt, **place) for attempt in attempts]


def random_actions(random: Random, length_ms: int) -> tuple[RunAction, ...]:
    """Draws savepoints. A checkpoint, while tasks wait for their restart, could count them as finished (rule 12.36)."""
    return tuple(TriggerSavepoint(random.randint(0, length_ms) * NS_PER_MS) for _ in range(random.choice([0, 0, 1, 2])))
