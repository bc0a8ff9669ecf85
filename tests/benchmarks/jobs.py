"""Other jobs than W1: sliding windows, asynchronous calls, joins, keyed states, the flights, and short schedules.

Each job is compared with the bare loop of W1 in the same round: how many times longer a record takes. A job checks what
it computed, and raises WrongResult.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import async_jobs
import keyed_jobs
from flowsim_variants import Sum, W1Source, WithWindow
from rounds import WrongResult
from workload import WINDOW_MS, key_of, map_record, source, time_of

from flowsim import run_scenario
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import DataStream, ProcessJoinFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, WatermarkStrategy
from flowsim.datastream.window import SlidingEventTimeWindows
from flowsim.facts.kinds import Level
from flowsim.testing import Schedule, assert_laws, run_job

PANES = 10
FLIGHTS = 328_521
SCHEDULES = 20
SHORT_RECORDS = 20
_SCENARIO = Path(__file__).parents[2] / "scenarios" / "01_nyc_flights.yaml"
_IN_ORDER = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: time_of(record))


@dataclass(frozen=True, slots=True)
class Job:
    """``run`` takes the number of records, is timed as a whole, and returns how many records or schedules it was."""

    name: str
    run: Callable[[int], int]
    share: float = 1.0
    """How many of the records of W1 the job gets: what costs more gets fewer."""


@dataclass(slots=True)
class MeasuredJob:
    """All rounds of one job: CPU seconds for each record or schedule, and the same divided by the bare loop's."""

    name: str
    seconds_each: list[float] = field(default_factory=list)
    times_bare: list[float] = field(default_factory=list)

    @property
    def microseconds_each(self) -> float:
        return statistics.median(self.seconds_each) * 1e6

    @property
    def times_bare_loop(self) -> float:
        """How many times longer than a record of the bare loop; the median of the rounds."""
        return statistics.median(self.times_bare)


def _records(env: StreamExecutionEnvironment, count: int, name: str) -> DataStream:
    return env.from_source(W1Source(count), _IN_ORDER, name)


def _expect(name: str, found: object, expected: object) -> None:
    if found != expected:
        raise WrongResult(f"{name}: expected {expected}, got {found}")


def sliding(count: int) -> int:
    """W2: the windows of W1 with ten panes for each record."""
    env, sink = StreamExecutionEnvironment.get_execution_environment(), CollectSink()
    slide = Duration.of_millis(WINDOW_MS // PANES)
    windows = SlidingEventTimeWindows.of(Duration.of_millis(WINDOW_MS), slide)
    _records(env, count, "w2").map(map_record).key_by(key_of).window(windows).aggregate(Sum(), WithWindow()).sink_to(
        sink
    )
    env.execute("W2")
    expected = PANES * sum(value * 2 + 1 for _, value, _ in source(count))
    _expect("W2", sum(total for _, _, total in sink.values()), expected)
    return count


class Pair(ProcessJoinFunction):
    """One result for each pair."""

    def process_element(self, left, right, ctx):
        yield left[0], left[2], right[2]


def joined(count: int) -> int:
    """W4: an interval join of two streams with the same records; each record has exactly one partner."""
    half = count // 2
    env, sink = StreamExecutionEnvironment.get_execution_environment(), CollectSink()
    left, right = (_records(env, half, name).key_by(key_of) for name in ("w4 left", "w4 right"))
    left.interval_join(right).between(Duration.of_millis(0), Duration.of_millis(0)).process(Pair()).sink_to(sink)
    env.execute("W4")
    _expect("W4", len(sink.values()), half)
    return 2 * half


def flights(count: int) -> int:
    """W5: all flights of 2013 from the compressed file to Parquet, without a recording; ``count`` has no effect."""
    with tempfile.TemporaryDirectory() as folder:
        done = run_scenario(_SCENARIO, record="off", out=folder)
    _expect("W5", done.result.records_read, FLIGHTS)
    return FLIGHTS


def _short(env: StreamExecutionEnvironment) -> CollectSink:
    sink = CollectSink()
    stream = _records(env, SHORT_RECORDS, "short").map(map_record).rebalance().map(lambda record: record)
    stream.key_by(key_of).map(lambda record: record).rebalance().sink_to(sink)
    return sink


def _schedules(level: Level) -> int:
    for seed in range(SCHEDULES):
        env = StreamExecutionEnvironment.get_execution_environment()
        sink = _short(env)
        schedule = Schedule("random", seed, 1)
        if level is Level.OFF:
            run_job(env, schedule=schedule, level=level)
        else:
            assert_laws(env, schedule=schedule, level=level)
        _expect("schedules", len(sink.values()), SHORT_RECORDS)
    return SCHEDULES


JOBS: tuple[Job, ...] = (
    Job("W2: sliding window, 10 panes", sliding, 0.1),
    *(Job(name, run, 0.1) for name, run in async_jobs.VARIANTS.items()),
    Job("W4: interval join", joined, 0.2),
    Job("W5: flights from CSV to Parquet", flights),
    *(Job(name, run, 0.2) for name, run in keyed_jobs.VARIANTS.items()),
    Job("schedule of 4 tasks and 20 records, all laws", lambda count: _schedules(Level.FULL)),
    Job("schedule of 4 tasks and 20 records, not recorded", lambda count: _schedules(Level.OFF)),
)


def measure_jobs(
    jobs: tuple[Job, ...],
    bare: Callable[[int], object],
    records: int,
    rounds: int,
    on_progress: Callable[[str], object],
) -> list[MeasuredJob]:
    """Runs every job once per round, between two runs of the bare loop."""
    measured = [MeasuredJob(job.name) for job in jobs]
    for number in range(rounds):
        for job, found in zip(jobs, measured, strict=True):
            on_progress(f"round {number + 1} of {rounds}: {job.name}")
            before = _seconds(bare, records)[0] / records
            seconds, count = _seconds(job.run, max(1, int(records * job.share)))
            after = _seconds(bare, records)[0] / records
            found.seconds_each.append(seconds / count)
            found.times_bare.append(seconds / count / ((before + after) / 2))
    return measured


def _seconds(run: Callable[[int], object], records: int) -> tuple[float, int]:
    gc.collect()
    started = time.process_time()
    count = run(records)
    seconds = time.process_time() - started
    return seconds, count if isinstance(count, int) else records
