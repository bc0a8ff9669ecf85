"""Jobs whose gates announce smaller buffers when their records are slow (rules 6.22-6.24)."""

from __future__ import annotations

import pytest

from flowsim.cluster.job_execution import JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from flowsim.facts.kinds import BufferKind, BufferSide, Level, MailAction
from flowsim.graph.checkpoint_settings import FixedDelayRestart
from flowsim.graph.job_settings import BufferDebloatSettings, Link
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.network.gates.buffer_debloater import BufferDebloater
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.virtual_time_loop import START_NS
from tests.support.jobs.small_jobs import SmallJob

MS = 1_000_000
SETTINGS = BufferDebloatSettings(period_ms=200, target_ms=1000, samples=3)


def rows(recorder: MemoryRecorder, table: str) -> list[dict[str, int]]:
    columns = recorder.columns(table)
    return [dict(zip(columns, row, strict=True)) for row in recorder.rows(table)]


def slow_sink(records: int = 3_000, **settings: object) -> MemoryRecorder:
    """Records of 100 letters, one a millisecond: about 103,000 bytes per second."""
    job = SmallJob(cost_ns=0, buffer_debloat=SETTINGS, budget_records=1, **settings)
    job.sink(job.values(lambda _: ["k" * 100] * records), by="FORWARD", chain=False, cost_ns=MS)
    recorder = MemoryRecorder(Level.FULL)
    assert job.run(recorder=recorder).status is JobStatus.FINISHED
    return recorder


def sent_sizes(recorder: MemoryRecorder) -> list[tuple[int, int]]:
    """(time, bytes) of each data buffer that left."""
    return [
        (row["time_ns"], row["bytes"])
        for row in rows(recorder, "buffers")
        if row["side"] == BufferSide.SENT and row["kind"] == BufferKind.DATA
    ]


@pytest.mark.parametrize("local", [False, True], ids=["remote", "local"])
def test_buffer_sizes_converge_to_target_time(local: bool) -> None:
    recorder = slow_sink(task_managers="one" if local else "each")
    announced = rows(recorder, "buffer_sizes")
    settled = next(row for row in announced if row["bytes"] * row["buffers_in_use"] > 80_000)
    assert abs(settled["throughput"] - 103_000) < 10_000
    assert abs(settled["bytes"] * settled["buffers_in_use"] - settled["throughput"]) < 0.25 * settled["throughput"]


def test_every_announced_size_equals_debloater_result() -> None:
    """From the facts alone; what was too near to be announced is not among them, so weights are left out: samples 1."""
    job = SmallJob(
        cost_ns=0, budget_records=1, buffer_debloat=BufferDebloatSettings(50, 100, 0, 1, 1024, 256),
    )  # fmt: skip
    job.sink(job.values(lambda _: ["k" * 100] * 2_000), by="FORWARD", chain=False, cost_ns=MS)
    recorder = MemoryRecorder(Level.FULL)
    job.run(recorder=recorder)
    debloater = BufferDebloater(100, 1024, 32768, 256, 0, 1)
    announced = rows(recorder, "buffer_sizes")
    assert len(announced) > 5
    for row in announced:
        assert debloater.recalculate_buffer_size(row["throughput"], row["buffers_in_use"]) == row["bytes"]


def test_first_buffers_have_starting_size_then_announced_sizes() -> None:
    """Rule 5.17: a buffer is full when it has the size, or its first record."""
    recorder = slow_sink()
    sizes = sent_sizes(recorder)
    assert sizes[0][1] == 1024
    announced = [(row["time_ns"], row["bytes"]) for row in rows(recorder, "buffer_sizes")]
    assert {size for _, size in sizes} <= {1024, *(size for _, size in announced), sizes[-1][1]}


def test_announced_size_takes_effect_after_link_latency() -> None:
    """Ten milliseconds: no buffer of the new size leaves before that."""
    recorder = slow_sink(links=(Link(latency_ns=10 * MS),))
    at_ns, size = next((row["time_ns"], row["bytes"]) for row in rows(recorder, "buffer_sizes"))
    first = next(at for at, sent in sent_sizes(recorder) if sent == size)
    assert first >= at_ns + 10 * MS


def test_debloat_timer_fires_one_millisecond_after_period_and_lets_job_end() -> None:
    """Rule 9.10: a timer fires one millisecond after its time; each mail sets the next one."""
    recorder = slow_sink(records=300)
    put = [row for row in rows(recorder, "mails") if row["task"] == 1 and row["action"] == MailAction.PUT]
    times = [row["time_ns"] - START_NS for row in put if row["priority"] == 0]
    assert times == [201 * MS]
    assert max(row["time_ns"] for row in rows(recorder, "lifecycle")) - START_NS < 310 * MS


def test_gate_without_debloating_measures_no_throughput() -> None:
    job = SmallJob()
    job.sink(job.values(lambda _: range(100)), by="FORWARD", chain=False)
    cluster = job.cluster(recorder=MemoryRecorder(Level.FULL))
    cluster.run()
    assert cluster.deployment is not None
    ((_, gate),) = cluster.deployment.network.gates_of(1)
    assert gate.throughput is None


class OpensLater(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        if runtime_context.get_attempt_number() < 2:
            raise ValueError("not yet")

    def map(self, value: object) -> object:
        return value


def test_attempt_that_was_canceled_before_its_first_turn_debloats_no_more() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    debloat = BufferDebloatSettings(period_ms=1, target_ms=5, samples=2)
    env.configure(restart_strategy=FixedDelayRestart(3, 0), buffer_debloat=debloat, cost_ns=MS)
    stream = env.from_collection(list(range(20))).rebalance().map(OpensLater())
    stream.rebalance().map(lambda value: value).rebalance().sink_to(CollectSink())
    recorder = MemoryRecorder(Level.FULL)
    result = MiniCluster(env.stream_graph(), RunOptions(recorder=recorder)).run()
    assert (result.status, result.restarts) == (JobStatus.FINISHED, 2)
    assert [outcome.law for outcome in check_all(recorder) if outcome.verdict is Verdict.VIOLATED] == []
