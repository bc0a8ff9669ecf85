"""Recordings of jobs whose tasks all restart, correct and damaged: each row has the attempt that recorded it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import AsyncDataStream, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Time, Types, WatermarkStrategy
from flowsim.datastream.window import SlidingEventTimeWindows
from flowsim.facts.kinds import Level
from flowsim.facts.recorder import Recorder
from flowsim.facts.schema import TABLES, TASK_ATTEMPT
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart
from flowsim.operators.async_wait.latency import UniformLatency
from flowsim.operators.async_wait.simulated_calls import SimulatedAsyncFunction
from flowsim.recording.memory import MemoryRecorder
from flowsim.simulation import FailTask
from flowsim.units import NS_PER_MS
from tests.support.facts.cases import Case
from tests.support.facts.fact_builder import FactBuilder, Row, recorded
from tests.support.jobs.restarted_job import run_in_one_chain, run_restarted
from tests.support.jobs.unaligned_job import run_unaligned

JOBS: dict[str, Callable[[Recorder], object]] = {}


def with_restarts(damaged: int) -> Iterator[Case]:
    """Jobs that fail and are restored, each as it ran and so often damaged."""
    for number, (name, run) in enumerate(JOBS.items()):
        recorder = MemoryRecorder(Level.FULL)
        run(recorder)
        facts = with_attempts(recorder)
        yield Case(name, facts, honest=True)
        for again in range(damaged):
            changed, random = facts.copy(), Random(damaged * number + again)
            for _ in range(1 + again % 2):
                damage(changed, random)
            yield Case(f"{name}, damage {again}", changed, "complete" if again % 3 else "stopped")


def with_attempts(recorder: MemoryRecorder) -> FactBuilder:
    facts = recorded(recorder)
    for table, row in facts.facts:
        if TABLES[table].has_attempt:
            row[TASK_ATTEMPT.name] = recorder.attempt(int(row["task"]), int(row["seq"]))
    return facts


def damage(facts: FactBuilder, random: Random) -> None:
    """Takes out, repeats or changes one fact of any table, each as often as the others."""
    tables = sorted({table for table, row in facts.facts if TASK_ATTEMPT.name in row})
    table = random.choice(tables)
    row = random.choice(facts.rows(table))
    match random.randrange(3):
        case 0:
            facts.remove(table, row)
        case 1:
            values = {name: row[name] for name in TABLES[table].names if name not in ("seq", "task", "time_ns")}
            facts.insert_after(row, table, **values)[TASK_ATTEMPT.name] = row[TASK_ATTEMPT.name]
        case _:
            _change(table, row, random)


def _change(table: str, row: Row, random: Random) -> None:
    kept = ("seq", "task", "channel", "kind", "event", "action", "phase")
    name = random.choice([each for each in TABLES[table].names if each not in kept])
    row[name] = int(row[name]) + (1 if int(row[name]) < 2**62 else -1)


def run_with_windows(recorder: Recorder) -> JobExecutionResult:
    """Windows behind an asynchronous operator; two failures."""
    env = _environment()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10)).with_timestamp_assigner(
        lambda value, _: value[1] * 3 - value[1] * 7 % 11
    )
    values = [(f"k{number * number % 5}", number) for number in range(60)]
    calls = SimulatedAsyncFunction(lambda value: [value], UniformLatency(0, 4 * NS_PER_MS))
    stamped = env.from_collection(values).assign_timestamps_and_watermarks(strategy).set_parallelism(2)
    answered = AsyncDataStream.unordered_wait(stamped, calls, Time.seconds(1), 8)
    windows = SlidingEventTimeWindows.of(Time.milliseconds(40), Time.milliseconds(20))
    keyed = answered.key_by(lambda value: value[0], key_type=Types.STRING())
    keyed.window(windows).allowed_lateness(10).reduce(lambda left, right: (left[0], left[1] + right[1])).name(
        "sums"
    ).sink_to(CollectSink())
    failures = (FailTask("sums", 0, at_record=9), FailTask("sums", 1, at_record=6, attempt=1))
    return MiniCluster(env.stream_graph(), RunOptions(recorder=recorder, failures=failures)).run()


def _run_with_calls_in_the_source(recorder: Recorder) -> JobExecutionResult:
    """An asynchronous operator in the chain of a source; restored records are emitted when it opens."""
    env = _environment()
    calls = SimulatedAsyncFunction(lambda value: [value], UniformLatency(5 * NS_PER_MS, 15 * NS_PER_MS))
    numbers = env.from_collection(list(range(40))).set_parallelism(1)
    answered = AsyncDataStream.ordered_wait(numbers, calls, Time.seconds(1), 8).set_parallelism(1)
    answered.rebalance().map(lambda value: value).name("all").sink_to(CollectSink())
    failures = (FailTask("all", 1, at_record=11),)
    return MiniCluster(env.stream_graph(), RunOptions(recorder=recorder, failures=failures)).run()


def _environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.configure(
        cost_ns=200_000,
        buffer_timeout_ms=1,
        checkpointing=CheckpointSettings(interval_ms=10, async_latency_ns=2 * NS_PER_MS),
        restart_strategy=FixedDelayRestart(3, 5),
    )
    return env


JOBS |= {
    "restarted": run_restarted,
    "restarted late": lambda recorder: run_restarted(recorder, 50),
    "at least once": lambda recorder: run_restarted(recorder, 33, exactly_once=False),
    "one chain": run_in_one_chain,
    "windows": run_with_windows,
    "calls": _run_with_calls_in_the_source,
    "unaligned": lambda recorder: run_unaligned(recorder, interval_ms=12, fail_at=60),
}
