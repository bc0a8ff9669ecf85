"""Exchange modes: records are read while they are written, or after the last write (rules 5.41, 5.43, 5.44, 1.7)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.graph.stream_graph import StreamEdge
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.recording.memory import MemoryRecorder
from tests.support.jobs.small_jobs import Arrivals, NotingSink, SmallJob, by_key

BLOCKING, PIPELINED = ResultPartitionType.BLOCKING, ResultPartitionType.PIPELINED
MS = 1_000_000


@pytest.fixture(autouse=True)
def spilled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the runs of these tests spill; nothing may be left of it afterwards."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def sink_behind(job: SmallJob, before: int, exchange: ResultPartitionType, **settings: object) -> Arrivals:
    """A sink whose edge alone has that mode."""
    arrivals = job.sink(before, **settings)  # type: ignore[arg-type]
    edge = job.graph.edges.pop()
    job.graph.edges.append(StreamEdge(edge.source_id, edge.target_id, edge.partitioner, exchange=exchange))
    return arrivals


def test_reader_of_blocking_exchange_starts_after_last_write() -> None:
    """100 records of a millisecond each, from two sources; a pipelined sink gets the first after one batch."""
    job = SmallJob(cost_ns=MS, budget_records=1, buffer_timeout_ms=10)
    source = job.values(lambda _: range(100), parallelism=2)
    first = {}
    for name, exchange in (("early", PIPELINED), ("late", BLOCKING)):
        arrivals = sink_behind(job, source, exchange, name=name, by="GLOBAL", cost_ns=0)
        first[name] = arrivals
    job.run()
    assert first["late"].records[0].at_ns == 100 * MS
    assert first["early"].records[0].at_ns < 100 * MS
    assert sorted(first["late"].values) == sorted([*range(100)] * 2)  # type: ignore[type-var]


@pytest.mark.parametrize("task_managers", ["each", "one"])
@pytest.mark.parametrize("by", ["REBALANCE", "RESCALE", "BROADCAST", "hash"])
def test_blocking_exchange_keeps_laws_for_every_partitioner(by: str, task_managers: str) -> None:
    job = SmallJob(exchange=BLOCKING, segment_size_bytes=64, task_managers=task_managers)
    source = job.values(lambda n: [f"{n}-{i}" for i in range(50)], parallelism=2)
    arrivals = job.sink(source, by=by_key(lambda v: v) if by == "hash" else by, parallelism=3, chain=False)
    recorder = MemoryRecorder(Level.FULL)
    result = job.run(recorder=recorder)
    assert result.status is JobStatus.FINISHED
    copies = 3 if by == "BROADCAST" else 1
    assert sorted(map(str, arrivals.values)) == sorted([f"{n}-{i}" for n in range(2) for i in range(50)] * copies)
    assert [o for o in check_all(recorder, "complete") if o.verdict is Verdict.VIOLATED] == []


def test_blocking_exchange_causes_no_back_pressure() -> None:
    """A slow sink behind it: the source has ended before the sink begins."""
    job = SmallJob(exchange=BLOCKING, segment_size_bytes=32)
    source = job.values(lambda _: range(1_000))
    job.sink(source, by="FORWARD", chain=False, cost_ns=MS)
    tasks = job.run().tasks
    assert (tasks[0].soft_backpressured_ns, tasks[0].hard_backpressured_ns) == (0, 0)


def test_edge_exchange_mode_prevents_chaining_and_job_mode_does_not() -> None:
    """Rule 1.7."""
    job = SmallJob(exchange=BLOCKING)
    job.sink(job.values(lambda _: range(3)))
    assert len(job.run().tasks) == 1
    job = SmallJob()
    arrivals = sink_behind(job, job.values(lambda _: range(3)), BLOCKING)
    assert len(job.run().tasks) == 2
    assert arrivals.values == [0, 1, 2]


def test_buffer_timeout_before_blocking_exchange_is_refused() -> None:
    """Rule 5.44; that of the job does not count for it."""
    job = SmallJob(exchange=BLOCKING, buffer_timeout_ms=5)
    job.sink(job.values(lambda _: range(3), buffer_timeout_ms=7), by="REBALANCE", chain=False)
    with pytest.raises(BadInput, match=r"operator 'source': a blocking exchange .* got 7 ms"):
        job.cluster()
    job = SmallJob(exchange=BLOCKING, buffer_timeout_ms=5)
    job.sink(job.values(lambda _: range(3), buffer_timeout_ms=-1), by="REBALANCE", chain=False)
    assert [edge.buffer_timeout_ms for edge in job.cluster().execution.job.edges] == [-1]


class Failing(NotingSink):
    """Fails at the third record."""

    def process_element(self, value: object, timestamp: int | None) -> None:
        if value == 2:
            raise ValueError("no more")
        super().process_element(value, timestamp)


@pytest.mark.parametrize("where", ["writer", "reader"])
def test_failed_job_leaves_no_spilled_file(where: str) -> None:
    job = SmallJob(exchange=BLOCKING, segment_size_bytes=16)
    source = job.values(lambda _: range(10))
    writer = job.operator(source, "writer", "sink", lambda: _PassOn(where == "writer"), by="FORWARD", chain=False)
    job.operator(writer, "reader", "sink", lambda: Failing(Arrivals()), by="FORWARD", chain=False)
    assert job.run().status is JobStatus.FAILED


class _PassOn(NotingSink):
    def __init__(self, fails: bool) -> None:
        super().__init__(Arrivals())
        self._fails = fails

    def process_element(self, value: object, timestamp: int | None) -> None:
        if self._fails and value == 5:
            raise ValueError("no more")
        self.clock.now_ns += self.cost_ns
        self.output.collect(value, timestamp)


def test_stopped_job_reports_blocking_wait_and_leaves_no_file(spilled: Path) -> None:
    job = SmallJob(exchange=BLOCKING, cost_ns=MS, segment_size_bytes=16, budget_records=1)
    job.sink(job.values(lambda _: range(1_000)), by="FORWARD", chain=False)
    result = job.run(until_ns=20 * MS)
    assert result.status is JobStatus.STOPPED
    assert "sink (1/1) waits for source (1/1) to finish, then reads the result" in result.report


def test_flusher_of_later_started_task_counts_from_its_start() -> None:
    """Rule 5.3: the writer starts after 25 ms and its flusher first runs 10 ms later."""
    job = SmallJob(cost_ns=0, buffer_timeout_ms=10)
    source = job.values(lambda _: range(25), cost_ns=MS)
    middle = job.operator(source, "middle", "sink", lambda: _PassOn(False), by="FORWARD", chain=False, cost_ns=MS)
    edge = job.graph.edges.pop()
    job.graph.edges.append(StreamEdge(edge.source_id, edge.target_id, edge.partitioner, exchange=BLOCKING))
    arrivals = job.sink(middle, by="FORWARD", chain=False)
    job.run()
    assert arrivals.records[0].at_ns == 35 * MS


def test_blocking_exchange_works_on_real_clock() -> None:
    job = SmallJob(exchange=BLOCKING, segment_size_bytes=64)
    arrivals = job.sink(job.values(lambda _: range(500)), by="FORWARD", chain=False)
    assert job.run(clock="real").status is JobStatus.FINISHED
    assert arrivals.values == list(range(500))


def test_interrupted_run_leaves_no_spilled_file(spilled: Path) -> None:
    job = SmallJob(exchange=BLOCKING, cost_ns=MS, segment_size_bytes=16, budget_records=1)

    def values(_: int) -> Iterator[object]:
        yield from range(20)
        assert len(list(spilled.glob("flowsim-*/*"))) == 1
        raise KeyboardInterrupt

    job.sink(job.values(values), by="FORWARD", chain=False)
    with pytest.raises(KeyboardInterrupt):
        job.run()


def test_unbounded_pool_takes_all_network_buffers() -> None:
    """64 segments: the source of a pipelined exchange fills all that its sink leaves, that of a bounded one 10."""

    def peak(exchange: ResultPartitionType) -> int:
        job = SmallJob(exchange=exchange, segment_size_bytes=16, network_buffers=64, max_buffers_per_channel=1_000)
        job.sink(job.values(lambda _: range(3_000)), by="FORWARD", chain=False, cost_ns=MS)
        return job.run().tasks[0].output_queue_peak

    assert peak(ResultPartitionType.PIPELINED_BOUNDED) == 10
    assert peak(ResultPartitionType.PIPELINED) == 64
