"""Two aligned sources, a fast one and a slow one, into one sink."""

from __future__ import annotations

from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, record, sleep
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Duration, WatermarkStrategy
from flowsim.facts.kinds import Level
from flowsim.recording.memory import MemoryRecorder

DRIFT_MS = 100
ALIGNED = WatermarkStrategy.for_each_record(Duration.of_millis(0)).with_watermark_alignment(
    "group", Duration.of_millis(DRIFT_MS)
)


def fast(records: int, every_ms: int = 200) -> list[Entry]:
    """100 ms of event time a record."""
    return [entry for number in range(records) for entry in (record("f", number * 100), sleep(every_ms))]


def slow(records: int) -> list[Entry]:
    """50 ms of event time a second."""
    return [entry for number in range(records) for entry in (record("s", number * 50), sleep(1000))]


def run(
    first: list[Entry], second: list[Entry], strategy: WatermarkStrategy = ALIGNED, *, other_group: bool = False,
    **options: object,
) -> tuple[MemoryRecorder, JobExecutionResult]:  # fmt: skip
    """Without samples, so that a source waits as soon as it is too far ahead."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.settings.watermark_alignment_buffer_size = 0
    another = strategy.with_watermark_alignment("another", Duration.of_millis(DRIFT_MS)) if other_group else strategy
    one = env.from_source(ScriptedSource(first), strategy, "first")
    other = env.from_source(ScriptedSource(second), another, "second")
    one.union(other).rebalance().map(lambda value: value).sink_to(CollectSink())
    recorder = MemoryRecorder(Level.FULL)
    result = MiniCluster(env.stream_graph(), RunOptions(recorder=recorder, **options)).run()  # type: ignore[arg-type]
    return recorder, result


def rows_of(recorder: MemoryRecorder, table: str) -> list[tuple[int, ...]]:
    """From ``time_ns`` on, in the order of time."""
    return [row[3:] for row in sorted(recorder.rows(table), key=lambda row: (row[3], row[0]))]
