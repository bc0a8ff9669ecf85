"""A keyed job under back-pressure that takes unaligned checkpoints, fails once and is restored with in-flight data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import TriggerCheckpoint
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types, WatermarkStrategy
from flowsim.facts.recorder import Recorder
from flowsim.faults.catalogue import Fault
from flowsim.faults.faulty_components import with_faults
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart
from flowsim.graph.job_settings import Link
from flowsim.units import NS_PER_MS
from tests.support.jobs.requested_checkpoints import ON_REQUEST
from tests.support.jobs.restarted_job import Counts, ScriptedFailure

RECORDS = 90
KEYS = 5


def run_unaligned(
    recorder: Recorder | None,
    fail_at: int = 40,
    *,
    interval_ms: int = 30,
    aligned_timeout_ms: int = 0,
    segment_size_bytes: int = 128,
    faults: Iterable[Fault] = (),
) -> tuple[JobExecutionResult, CollectSink]:
    """Runs the job; ``fail_at``: number of the record that fails, 0: none."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5)).with_timestamp_assigner(
        lambda value, timestamp: value[1]
    )
    numbers = env.from_collection([(f"k{i % KEYS}", i) for i in range(RECORDS)])
    stamped = numbers.assign_timestamps_and_watermarks(strategy).set_parallelism(2)
    keyed = stamped.key_by(lambda value: value[0], key_type=Types.STRING())
    counts = keyed.process(Counts(ScriptedFailure(fail_at))).name("counts").rebalance()
    sink = CollectSink()
    counts.map(lambda value: value).name("last").set_parallelism(1).sink_to(sink).set_parallelism(1)
    graph = env.stream_graph()
    graph.settings = replace(
        graph.settings,
        checkpointing=CheckpointSettings(
            interval_ms=interval_ms,
            unaligned=True,
            aligned_timeout_ms=aligned_timeout_ms,
            async_latency_ns=2 * NS_PER_MS,
        ),
        restart_strategy=FixedDelayRestart(3, 5),
        cost_ns=NS_PER_MS,
        buffer_timeout_ms=1,
        segment_size_bytes=segment_size_bytes,
    )
    return MiniCluster(graph, with_faults(RunOptions(recorder=recorder), faults)).run(), sink


def run_with_obsolete_barrier(recorder: Recorder | None, faults: Iterable[Fault] = ()) -> JobExecutionResult:
    """Runs a job in which a barrier of an expired checkpoint arrives while the next checkpoint stores its channel.

    "bursts" is busy when the first checkpoint is triggered, so its barrier comes after the timeout, and is 10 ms on its
    way to "last". Meanwhile "last" has received the barrier of the second checkpoint from "steady".
    """
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    bursts = env.from_collection(list(range(60))).rebalance().flat_map(_burst).map(lambda value: value).name("bursts")
    steady = env.from_collection(list(range(200))).rebalance().map(lambda value: value).name("steady")
    bursts.rebalance().union(steady.rebalance()).map(lambda value: value).name("last").sink_to(CollectSink())
    graph = env.stream_graph()
    graph.settings = replace(
        graph.settings,
        checkpointing=replace(ON_REQUEST, unaligned=True, timeout_ms=40, tolerable_failures=5),
        cost_ns=NS_PER_MS,
        buffer_timeout_ms=1,
        links=(Link("bursts", "last", 10 * NS_PER_MS),),
    )
    at = tuple(TriggerCheckpoint(ms * NS_PER_MS) for ms in (47, 90))
    options = RunOptions(recorder=recorder, actions=at)
    return MiniCluster(graph, with_faults(options, faults)).run()


def _burst(value: int) -> list[int]:
    return [value] * (45 if value == 20 else 1)
