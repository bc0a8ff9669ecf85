"""A back-pressured source is not idle: its idleness clock is paused (rule 8.4)."""

from __future__ import annotations

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.mini_cluster import JobExecutionResult, MiniCluster, RunOptions
from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Duration, WatermarkStrategy
from flowsim.facts.kinds import ElementKind, Level
from flowsim.faults.faulty_components import with_faults
from flowsim.recording.memory import MemoryRecorder
from flowsim.streamrecord.elements import WatermarkStatus
from tests.support.faults import Fault

RECORDS = 200
PACED_RECORDS = 20
PACE_NS = 2_000_000_000
IDLE_AFTER_MS = 500


def run(
    *, pace_ns: int | None, sink_cost_ns: int, faults: tuple[Fault, ...] = ()
) -> tuple[JobExecutionResult, MemoryRecorder]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(segment_size_bytes=16, floating_buffers_per_gate=1, overdraft_buffers=0, buffer_timeout_ms=0)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(IDLE_AFTER_MS))
    source = GeneratorSource(PACED_RECORDS if pace_ns else RECORDS, {"n": SequenceOf()}, pace_ns=pace_ns)
    stream = env.from_source(source, strategy.with_timestamp_assigner(lambda record, _: record[0]), "numbers")
    stream.rebalance().sink_to(CollectSink()).name("slow").cost(sink_cost_ns)
    recorder = MemoryRecorder(Level.FULL)
    return MiniCluster(env.stream_graph(), with_faults(RunOptions(recorder=recorder), faults)).run(), recorder


def idle_times(recorder: MemoryRecorder) -> int:
    """How often the source said that it is idle."""
    kind, status = (recorder.columns("sent").index(name) for name in ("kind", "timestamp"))
    return sum(row[kind] == ElementKind.STATUS and row[status] == WatermarkStatus.IDLE for row in recorder.rows("sent"))


def test_back_pressured_source_is_not_idle() -> None:
    result, recorder = run(pace_ns=None, sink_cost_ns=2_000_000_000)
    source = result.tasks[0]
    assert source.soft_backpressured_ns + source.hard_backpressured_ns > 10 * IDLE_AFTER_MS * 1_000_000
    assert idle_times(recorder) == 0


def test_source_without_records_beyond_timeout_is_idle() -> None:
    result, recorder = run(pace_ns=PACE_NS, sink_cost_ns=1000)
    assert result.tasks[0].soft_backpressured_ns == 0
    gaps = PACED_RECORDS - 1
    assert idle_times(recorder) == gaps


def test_paused_idle_countdown_does_not_keep_run_alive() -> None:
    """Rule 8.4: behind a sink that never reads again the countdown never ends, but the run does."""
    result, recorder = run(pace_ns=None, sink_cost_ns=1000, faults=(Fault("stop_task", operator="slow"),))
    assert result.status is JobStatus.STOPPED
    assert "Source: numbers (1/1) waits for a free output buffer" in result.report
    assert idle_times(recorder) == 0
