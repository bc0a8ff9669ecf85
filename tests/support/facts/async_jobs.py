"""Deterministic jobs with async operators: both modes, both designs, timeouts, retries, stops, and calls without an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.run_actions import RunAction, StopJob
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, record, sleep, watermark
from flowsim.datastream import AsyncDataStream, AsyncRetryStrategy, DataStream, StreamExecutionEnvironment
from flowsim.datastream.async_retry_predicates import empty_result_predicate, has_exception_predicate
from flowsim.datastream.common import Duration, Time, Types, WatermarkStrategy
from flowsim.datastream.window import TumblingEventTimeWindows
from flowsim.graph.stream_graph import StreamGraph
from flowsim.operators.async_wait.latency import FixedLatency, Latency, UniformLatency
from flowsim.operators.async_wait.simulated_calls import SimulatedAsyncFunction, SomeCalls
from flowsim.testing import Schedule, run_job
from flowsim.units import NS_PER_MS
from tests.support.facts.fact_builder import FactBuilder, recorded

Reading = tuple[str, int]
SOME_MS = UniformLatency(0, 25 * NS_PER_MS)
NO_TIMEOUT = Time.milliseconds(0)


@dataclass(frozen=True)
class AsyncJob:
    """A job, and how it is ended."""

    name: str
    graph: StreamGraph
    actions: tuple[RunAction, ...] = ()
    until_ms: int | None = None


def script(seed: int, length: int = 16) -> tuple[Entry, ...]:
    """Records of three keys, watermarks now and then two at once, and pauses."""
    random, entries, mark = Random(seed), list[Entry](), 0
    for number in range(length):
        entries.append(record((random.choice("abc"), number), 4 * number + random.randrange(9)))
        if random.random() < 0.4:
            mark = max(mark + 1, 4 * number - random.randrange(4))
            entries += [watermark(mark)] if random.random() < 0.7 else [watermark(mark), watermark(mark + 1)]
            mark += 1
        if random.random() < 0.2:
            entries.append(sleep(random.randint(1, 30)))
    return tuple(entries)


def looked_up(reading: Reading) -> Sequence[Reading]:
    """No result, one, or two."""
    return [(reading[0], reading[1] + 100 * copy) for copy in range(1 + (reading[1] % 7 == 3) - (reading[1] % 5 == 4))]


def calls(latency: Latency = SOME_MS, **how: Any) -> SimulatedAsyncFunction:
    return SimulatedAsyncFunction(looked_up, latency, **how)


def jobs() -> Iterator[AsyncJob]:
    for design in ("mailbox", "legacy"):
        yield AsyncJob(f"ordered, {design}", _plain("ordered", design))
        yield AsyncJob(f"unordered before windows, {design}", _windowed(design))
    yield AsyncJob("chained, capacity 1", _chained())
    yield AsyncJob("idle source", _idle())
    yield AsyncJob("timeouts and retries", _retried())
    yield AsyncJob("back pressure", _pressed())
    yield AsyncJob("stopped without drain", _plain("unordered", "mailbox"), (StopJob(8 * NS_PER_MS),))
    yield AsyncJob("stopped with drain", _plain("ordered", "mailbox"), (StopJob(8 * NS_PER_MS, True),))
    yield AsyncJob("stuck", _stuck(), until_ms=2_000)
    yield AsyncJob("failed", _failed())


def recorded_jobs() -> Iterator[tuple[str, FactBuilder, str]]:
    """Name, facts and status of each job that was run."""
    ends = {JobStatus.FINISHED: "complete", JobStatus.FAILED: "failed"}
    for number, job in enumerate(jobs()):
        schedule = Schedule("random", number, 1 + number % 3)
        run = run_job(job.graph, schedule=schedule, actions=job.actions, until_ms=job.until_ms)
        yield job.name, recorded(run.facts), ends.get(run.result.status, "stopped")


def _env(**settings: Any) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().configure(**settings)


def _scripted(env: StreamExecutionEnvironment, *seeds: int) -> DataStream:
    return env.add_source(ScriptedSource(*(script(seed) for seed in seeds))).set_parallelism(len(seeds))


def _sunk(stream: DataStream, name: str) -> StreamGraph:
    env = stream.get_execution_environment()
    stream.rebalance().sink_to(CollectSink()).name("sink").set_parallelism(1)
    return env.stream_graph(name)


def _plain(mode: str, design: str) -> StreamGraph:
    wait = AsyncDataStream.ordered_wait if mode == "ordered" else AsyncDataStream.unordered_wait
    made = wait(_scripted(_env(), 1, 2).rebalance(), calls(), NO_TIMEOUT, 3, design=design).set_parallelism(2)
    return _sunk(made, f"{mode} {design}")


def _windowed(design: str) -> StreamGraph:
    source = _scripted(_env(), 3, 4).rebalance()
    made = AsyncDataStream.unordered_wait(source, calls(), NO_TIMEOUT, 5, design=design).set_parallelism(2)
    keyed = made.key_by(lambda pair: pair[0], Types.STRING())
    windows = keyed.window(TumblingEventTimeWindows.of(Duration.of_millis(10)))
    return _sunk(windows.reduce(lambda one, other: one).set_parallelism(2), f"windows {design}")


def _chained() -> StreamGraph:
    """Behind a source that makes watermarks, in its own chain."""
    env = _env(auto_watermark_interval_ms=10)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    source = env.from_source(ScriptedSource(_readings(5), _readings(6), gap_ms=5), strategy, "readings")
    first = AsyncDataStream.ordered_wait(source.set_parallelism(2), calls(), NO_TIMEOUT, 1)
    second = AsyncDataStream.unordered_wait(first.map(lambda pair: pair), calls(), NO_TIMEOUT, 2)
    return _sunk(second, "chained")


def _idle() -> StreamGraph:
    """Statuses overtake what is in the queue; an assigner behind it makes watermarks of its own."""
    env = _env(auto_watermark_interval_ms=10)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    idle = strategy.with_idleness(Duration.of_millis(20))
    source = env.from_source(ScriptedSource(_readings(7), _readings(8, 90), gap_ms=5), idle, "readings")
    slow = UniformLatency(20 * NS_PER_MS, 60 * NS_PER_MS)
    first = AsyncDataStream.unordered_wait(source.set_parallelism(2), calls(slow), NO_TIMEOUT, 6)
    second = AsyncDataStream.ordered_wait(first.rebalance(), calls(), NO_TIMEOUT, 4).set_parallelism(2)
    third = second.assign_timestamps_and_watermarks(strategy).set_parallelism(1)
    return _sunk(AsyncDataStream.unordered_wait(third, calls(), NO_TIMEOUT, 4), "idle")


def _readings(seed: int, pause_ms: int = 40) -> list[Entry]:
    random, entries = Random(seed), list[Entry]()
    for number in range(14):
        entries.append(record((random.choice("abc"), number), 4 * number + random.randrange(9)))
        if number % 6 == 4:
            entries.append(sleep(pause_ms))
    return entries


def _retried() -> StreamGraph:
    """Some calls fail, some are never answered: retries of both kinds, and timeouts that give a result."""
    source = _scripted(_env(), 9, 10).rebalance()
    flaky = calls(
        failure=SomeCalls(0.4, first_attempts=2), silence=SomeCalls(0.2), on_timeout=lambda reading: [(reading[0], -1)]
    )
    fixed = AsyncRetryStrategy.fixed_delay(2, 10, None, has_exception_predicate)
    first = AsyncDataStream.ordered_wait_with_retry(source, flaky, Time.milliseconds(70), fixed, 4)
    backoff = AsyncRetryStrategy.exponential_backoff(3, 5, 30, 2.0, empty_result_predicate)
    silent = calls(silence=SomeCalls(0.2), on_timeout=lambda reading: [(reading[0], -2)])
    again = AsyncDataStream.unordered_wait_with_retry(
        first.set_parallelism(2).rebalance(), silent, Time.milliseconds(60), backoff, 3
    )
    return _sunk(again.set_parallelism(2), "retried")


def _pressed() -> StreamGraph:
    """The operator waits for buffers in the middle of what it emits, and answers come meanwhile."""
    env = _env(
        exclusive_buffers_per_channel=1, floating_buffers_per_gate=1, max_buffers_per_channel=2, overdraft_buffers=0,
        segment_size_bytes=64,
    )  # fmt: skip
    source = _scripted(env, 11, 12).rebalance()
    made = AsyncDataStream.unordered_wait(source, calls(UniformLatency(0, 3 * NS_PER_MS)), NO_TIMEOUT, 8)
    slow = made.set_parallelism(2).rebalance().map(lambda pair: pair).name("slow").set_parallelism(1)
    return _sunk(slow, "pressed")


def _stuck() -> StreamGraph:
    """One element is never answered, and its timeout completes nothing (rule 11.17)."""
    silent = calls(FixedLatency(NS_PER_MS), silence=lambda reading: reading[1] == 9, on_timeout="nothing")
    return _sunk(
        AsyncDataStream.ordered_wait(_scripted(_env(), 13).rebalance(), silent, Time.milliseconds(20), 2), "stuck"
    )


def _failed() -> StreamGraph:
    failing = calls(failure=lambda reading: reading[1] == 11)
    return _sunk(AsyncDataStream.unordered_wait(_scripted(_env(), 14).rebalance(), failing, NO_TIMEOUT, 3), "failed")
