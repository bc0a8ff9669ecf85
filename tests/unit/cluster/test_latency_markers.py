"""Latency markers: when sources send them, what they measure, and that they do not keep a run alive."""

from __future__ import annotations

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, LatencySummary, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import StopJob
from flowsim.connectors.generator import GeneratorSource, UniformInt
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.units import NS_PER_MS

START_MS = START_NS // NS_PER_MS


def run(env: StreamExecutionEnvironment, **options: object) -> tuple[JobExecutionResult, MemoryRecorder]:
    recorder = MemoryRecorder(Level.FULL)
    options.setdefault("recorder", recorder)
    result = MiniCluster(env.stream_graph(), RunOptions(**options)).run()  # type: ignore[arg-type]
    assert [o for o in check_all(recorder) if o.verdict is Verdict.VIOLATED] == []
    return result, recorder


def scripted(interval_ms: int, *scripts: list[object], **settings: object) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(latency_interval_ms=interval_ms, buffer_timeout_ms=0, cost_ns=0, **settings)
    stream = env.add_source(ScriptedSource(*scripts), "s").map(lambda v: v).name("m")  # type: ignore[arg-type]
    stream.rebalance().map(lambda v: v).name("far").sink_to(CollectSink()).name("out")
    return env


def arrivals(recorder: MemoryRecorder) -> list[tuple[int, int, int, int, int]]:
    """(task, operator, source vertex, ms at which it was marked since the start, ms that it took)."""
    rows = sorted(recorder.rows("latencies"), key=lambda row: (row[1], row[0]))
    return [(task, op, vertex, marked - START_MS, took) for _, task, op, _, vertex, _, marked, took in rows]


def test_source_sends_latency_marker_at_start_and_each_interval() -> None:
    """Rule 8.20; every operator but the source itself measures, the sink too."""
    _, recorder = run(scripted(10, [record(1), sleep(25), record(2)]))
    assert arrivals(recorder) == [
        (task, operator, 0, at, 0) for task, operators in ((0, [1]), (1, [0, 1])) for at in (0, 10, 20) for operator in operators
    ]  # fmt: skip


def test_no_latency_markers_without_interval() -> None:
    result, recorder = run(scripted(0, [record(1), sleep(25), record(2)]))
    assert (arrivals(recorder), result.latencies) == ([], ())


def test_latency_marker_measures_queueing_time() -> None:
    """It stands behind the one record before it, for which the operator takes 4 ms."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(latency_interval_ms=1000, buffer_timeout_ms=0, cost_ns=0)
    entries = [record(n) for n in range(5)] + [sleep(1001)]
    slow = env.add_source(ScriptedSource(entries), "s").rebalance().map(lambda v: v).name("slow")
    slow.cost(4 * NS_PER_MS).sink_to(CollectSink()).name("out")
    result, recorder = run(env)
    assert arrivals(recorder) == [(1, 0, 0, 0, 4), (1, 1, 0, 0, 4), (1, 0, 0, 1000, 0), (1, 1, 0, 1000, 0)]
    assert result.latencies == (
        LatencySummary("Source: s", "slow", 2, 0, 2.0, 4),
        LatencySummary("Source: s", "out", 2, 0, 2.0, 4),
    )


def test_latency_marker_goes_to_one_output_and_one_channel() -> None:
    """Rule 8.20: chosen at random; together the consumers get as many as were sent."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(latency_interval_ms=1, buffer_timeout_ms=0, cost_ns=0)
    source = env.add_source(ScriptedSource([record(1), sleep(99)]), "s")
    for name in ("a", "b"):
        source.rebalance().map(lambda v: v).set_parallelism(2).name(name).sink_to(CollectSink()).name(f"out {name}")
    result, recorder = run(env)
    sent = [row for row in recorder.rows("sent") if row[5] == ElementKind.LATENCY_MARKER]
    assert len({row[3] for row in sent if row[1] == 0}) == 4, "every channel of the source got some"
    by_operator = {one.operator: one.markers for one in result.latencies}
    assert by_operator["a"] + by_operator["b"] == 100
    assert by_operator["a"] == by_operator["out a"]


def test_latency_markers_do_not_keep_job_alive() -> None:
    env = scripted(1, [record(1), sleep(10_000)])
    result, recorder = run(env, actions=(StopJob(5 * NS_PER_MS),))
    assert (result.status, result.elapsed_ns) == (JobStatus.FINISHED, 5 * NS_PER_MS)
    assert max(at for _, _, _, at, _ in arrivals(recorder)) <= 5


def test_markers_do_not_change_random_numbers_of_operators() -> None:
    """A source that is restored draws its next records again; they must not depend on the markers before them."""
    found = []
    for interval_ms in (0, 1):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.configure(latency_interval_ms=interval_ms, buffer_timeout_ms=0)
        numbers = env.add_source(GeneratorSource(20, {"n": UniformInt(0, 999)}, pace_ns=5 * NS_PER_MS)).rebalance()
        sink = CollectSink()
        numbers.sink_to(sink)
        run(env)
        found.append(sink.values())
    assert found[0] == found[1]
