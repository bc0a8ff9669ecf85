"""Data between tasks: flushes, spanning records, waits inside an element, and the time of each state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count

import pytest

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.script import record, sleep, watermark
from flowsim.datastream import ProcessFunction
from flowsim.errors import BadInput, JobFailed
from flowsim.facts.kinds import Level, PoolKind
from flowsim.operators.functions.process import ProcessContext, ProcessOperator
from flowsim.recording.memory import MemoryRecorder
from flowsim.streamrecord.elements import OutputTag
from flowsim.units import MAX_WATERMARK, NS_PER_MS
from tests.support.faults import Fault
from tests.support.jobs.small_jobs import Arrivals, SmallJob, by_key

LETTERS = 10
FRAME = 3 + LETTERS
RECORDED = pytest.mark.parametrize("recorded", [False, True], ids=["not recorded", "recorded"])


def text(letters: int = LETTERS, key: str = "k") -> str:
    return key * letters


def arrival_times_ms(arrivals: Arrivals) -> list[tuple[object, float]]:
    return [(arrival.value, arrival.at_ns / NS_PER_MS) for arrival in arrivals.records]


def paused_script(timeout_ms: int, recorded: bool, by: str = "FORWARD") -> Arrivals:
    """Records at 30, 40, 130, 260 and 720 ms; the end at 750 ms. Nothing costs anything."""
    job = SmallJob(buffer_timeout_ms=timeout_ms, cost_ns=0)
    pauses = [(30, "a"), (10, "b"), (90, "c"), (130, "d"), (460, "e")]
    played = [entry for pause, value in pauses for entry in (sleep(pause), record(value))]
    source = job.script([*played, sleep(30)])
    arrivals = job.sink(source, by=by, chain=False)
    job.run(recorder=MemoryRecorder(Level.FULL) if recorded else None)
    return arrivals


@RECORDED
@pytest.mark.parametrize("by", ["FORWARD", "BROADCAST", "REBALANCE"])
def test_flusher_period_counts_from_task_start(recorded: bool, by: str) -> None:
    """Rule 5.3: flushes at 100, 200, ... ms, also of data in a buffer that was flushed before."""
    arrivals = paused_script(100, recorded, by)
    assert arrival_times_ms(arrivals) == [("a", 100), ("b", 100), ("c", 200), ("d", 300), ("e", 750)]


@RECORDED
def test_buffer_timeout_zero_sends_every_record_at_once(recorded: bool) -> None:
    arrivals = paused_script(0, recorded)
    assert arrival_times_ms(arrivals) == [("a", 30), ("b", 40), ("c", 130), ("d", 260), ("e", 720)]


@RECORDED
def test_buffer_timeout_minus_one_sends_only_full_buffers_and_at_end(recorded: bool) -> None:
    arrivals = paused_script(-1, recorded)
    assert arrival_times_ms(arrivals) == [("a", 750), ("b", 750), ("c", 750), ("d", 750), ("e", 750)]


def test_watermark_waits_for_flusher_like_a_record() -> None:
    job = SmallJob(buffer_timeout_ms=100, cost_ns=0)
    source = job.script([sleep(30), record("a", 5), watermark(5), sleep(90), watermark(7), sleep(300)])
    recorder = MemoryRecorder(Level.ELEMENTS)
    job.sink(source, by="FORWARD", chain=False)
    job.run(recorder=recorder)
    times = [(row[5], (row[2] - 10**9) / NS_PER_MS) for row in recorder.rows("task_watermark")]
    assert times == [(5, 100), (7, 200), (MAX_WATERMARK, 420)]


def test_flush_of_busy_task_follows_the_record_in_progress() -> None:
    """Rule 5.3 with D4: the batch ends with the record that is in progress when the flusher is due."""
    job = SmallJob(buffer_timeout_ms=100, cost_ns=0)
    source = job.values(lambda _: range(20), cost_ns=30 * NS_PER_MS)
    arrivals = job.sink(source, by="FORWARD", chain=False)
    job.run()
    # Records are done every 30 ms, so the batches under way at 100, 200, ... end at 120, 210, ...
    ends = (120, 210, 300, 420, 510, 600)
    assert arrival_times_ms(arrivals) == [(n, next(e for e in ends if e >= (n + 1) * 30)) for n in range(20)]


@RECORDED
@pytest.mark.parametrize("segment", [5, 16, 64, 1000])
@pytest.mark.parametrize("by", ["FORWARD", "BROADCAST", "HASH"])
def test_records_spanning_buffers_arrive_whole(segment: int, by: str, recorded: bool) -> None:
    """Rule 5.11: from shorter than a segment to many segments long."""
    values = [text(n * 7 % 300, "abcdefg"[n % 7]) for n in range(200)]
    job = SmallJob(segment_size_bytes=segment)
    source = job.values(lambda _: values)
    arrivals = job.sink(source, by=by if by != "HASH" else by_key(lambda value: value), chain=False)
    job.run(recorder=MemoryRecorder(Level.FULL) if recorded else None)
    assert arrivals.values == values


@pytest.mark.parametrize("local", [False, True], ids=["remote", "local"])
@pytest.mark.parametrize("overdraft", [0, 20])
def test_record_larger_than_pool_arrives_whole(local: bool, overdraft: int) -> None:
    """Rules 5.42, 6.20: the sender waits inside the element; nothing is lost and nothing deadlocks."""
    values = [text(20_000), "small", text(5_000, "x")]
    job = SmallJob(segment_size_bytes=32, overdraft_buffers=overdraft, task_managers="one" if local else "each")
    arrivals = job.sink(job.values(lambda _: values), by="FORWARD", chain=False, cost_ns=NS_PER_MS)
    result = job.run()
    assert (result.status, arrivals.values) == (JobStatus.FINISHED, values)


def fan_out(width: int, overdraft: int, segment: int, **options: object) -> tuple[MiniCluster, Arrivals]:
    """One record, which a chained flat_map turns into ``width``."""
    job = SmallJob(segment_size_bytes=segment, overdraft_buffers=overdraft, buffer_timeout_ms=-1)

    def fan(value: object) -> Iterable[object]:
        return (text() for _ in range(width))

    arrivals = job.sink(job.flat_map(job.values(lambda _: ["go"]), fan), by="FORWARD", chain=False)
    cluster = job.cluster(**options)
    return cluster, arrivals


@pytest.mark.parametrize("segment", [20, 26, 64])
@pytest.mark.parametrize("overdraft", [0, 2, 9, 10, 20])
def test_fan_out_blocks_inside_element_after_overdraft_is_used(segment: int, overdraft: int) -> None:
    """Rules 5.36, 5.37, 5.42. The pool has 10 segments, and the stopped receiver takes 10 buffers at once.

    A segment that comes back while overdraft ones are out goes to the global pool; the writer is woken only when the pool
    itself has a segment again, so with an overdraft of 10 or more the 10 buffers that left are all that leave.
    """
    cluster, _ = fan_out(100_000, overdraft, segment, faults=(Fault("stop_task", operator="sink"),))
    result = cluster.run()
    assert result.status is JobStatus.STOPPED
    assert "waits for a buffer beyond the overdraft, inside an element" in result.report
    segments = 10 + overdraft + (10 if overdraft < 10 else 0)
    deployment = cluster.deployment
    assert deployment is not None
    # A record is counted when its first byte is written: that of the next segment may never be.
    assert deployment.tasks[0].records_out == -(-segments * segment // FRAME)


def test_fan_out_beyond_overdraft_arrives_whole_with_hard_back_pressure() -> None:
    cluster, arrivals = fan_out(5_000, 3, 64)
    result = cluster.run()
    assert arrivals.values == [text()] * 5_000
    source, sink = result.tasks
    assert source.hard_backpressured_ns > 0
    assert sink.hard_backpressured_ns == 0


def test_every_nanosecond_of_task_is_counted_once() -> None:
    """Rule 3.28: a fast source, a slow sink; from the first turn of a task to its end."""
    job = SmallJob(segment_size_bytes=32, buffer_timeout_ms=10, overdraft_buffers=0)
    source = job.values(lambda _: (text() for _ in range(300)), cost_ns=1_000)
    middle = job.map(source, lambda value: value, by="FORWARD", chain=False, cost_ns=5_000)
    job.sink(middle, by="FORWARD", chain=False, cost_ns=100_000)
    cluster = job.cluster()
    result = cluster.run()
    deployment = cluster.deployment
    assert deployment is not None
    for task in deployment.tasks:
        times = task.times
        assert times.busy_ns + times.idle_ns + times.soft_ns + times.hard_ns == times.total_ns
    fast, slower, slowest = result.tasks
    assert (fast.busy_ns, slower.busy_ns, slowest.busy_ns) == (300_000, 1_500_000, 30_000_000)
    assert (fast.idle_ns, slowest.soft_backpressured_ns, slowest.hard_backpressured_ns) == (0, 0, 0)
    assert fast.soft_backpressured_ns + fast.hard_backpressured_ns > 10_000_000
    assert slowest.idle_ns < 1_000_000


def test_waiting_task_is_idle_until_run_stops() -> None:
    job = SmallJob(cost_ns=0)
    job.sink(job.script([sleep(10_000)]), by="FORWARD", chain=False)
    result = job.run(until_ns=300 * NS_PER_MS)
    assert result.status is JobStatus.STOPPED
    assert [(task.idle_ns, task.busy_ns) for task in result.tasks] == [(300 * NS_PER_MS, 0)] * 2


def test_soft_back_pressure_lasts_until_run_stops() -> None:
    job = SmallJob(segment_size_bytes=32)
    job.sink(job.values(lambda _: (text() for _ in count())), by="FORWARD", chain=False)
    result = job.run(faults=(Fault("stop_task", operator="sink"),), until_ns=50 * NS_PER_MS)
    source, sink = result.tasks
    assert source.busy_ns == result.records_read * 1_000
    assert source.soft_backpressured_ns + source.busy_ns == result.elapsed_ns
    assert sink.idle_ns == result.elapsed_ns


def test_records_out_counts_each_record_sent_to_network_once() -> None:
    """Rule 13.4: three records of the source to one output, six of the map behind it to two, two to its side output."""
    side = OutputTag("side")
    job = SmallJob()
    source = job.values(lambda _: range(3))
    mapped = job.operator(source, "two", "process", lambda: ProcessOperator(TwoAndSide(side)))
    job.sink(source, "near", chain=False)
    for name in ("left", "right"):
        job.sink(mapped, name, chain=False)
    job.sink(mapped, "sides", chain=False, side_output="side")
    result = job.run()
    assert [task.records_out for task in result.tasks] == [3 + 6 + 2, 0, 0, 0, 0]


def test_pools_beyond_network_memory_are_refused_by_task_manager() -> None:
    """Rule 5.39."""
    job = SmallJob(network_buffers=1)
    job.sink(job.values(lambda _: range(3)), by="FORWARD", chain=False)
    with pytest.raises(BadInput) as refused:
        job.run()
    assert str(refused.value) == (
        "Insufficient number of network buffers: task manager 'source (1)' has 1, and its pools require 2 "
        "(output of source (1/1) to sink 2); set network_buffers to 2 or more"
    )


class TwoAndSide(ProcessFunction):
    """Every number twice, and those above 0 on the side."""

    def __init__(self, tag: OutputTag) -> None:
        self.tag = tag

    def process_element(self, value: object, ctx: ProcessContext) -> list[object]:
        return [value, value, *([(self.tag, value)] if value else [])]


@RECORDED
def test_scarce_network_memory_loses_no_records(recorded: bool) -> None:
    job = SmallJob(network_buffers=5, segment_size_bytes=16)
    arrivals = job.sink(job.values(lambda _: range(1_000)), by="FORWARD", chain=False)
    job.run(recorder=MemoryRecorder(Level.FULL) if recorded else None)
    assert arrivals.values == list(range(1_000))


def test_memory_of_finished_task_is_redistributed() -> None:
    """Rules 5.37, 5.39: two sources share 12 segments beside their sinks; the pool of the longer one grows in the end."""
    job = SmallJob(network_buffers=12, segment_size_bytes=16, task_managers={"a": ["short", "long"]})
    sinks = []
    for name, records in (("short", 3), ("long", 400)):
        source = job.values(lambda _, records=records: range(records), cost_ns=1_000_000)  # type: ignore[misc]
        job.graph.nodes[source].name = name
        sinks.append(job.sink(source, f"{name} sink", by="FORWARD", chain=False))
    recorder = MemoryRecorder(Level.FULL)
    job.run(recorder=recorder)
    columns = recorder.columns("segments")
    pool, size = columns.index("pool"), columns.index("size")
    kind = recorder.columns("pools").index("kind")
    outputs = [row[0] for row in recorder.static_rows("pools") if row[kind] == PoolKind.OUTPUT]
    sizes = [[row[size] for row in recorder.rows("segments") if row[pool] == output] for output in outputs]
    # The first pool is alone at first; what it gives back when it ends is the other one's.
    assert [list(dict.fromkeys(seen)) for seen in sizes] == [[2, 10, 6], [2, 6, 10]]
    assert [len(arrivals.values) for arrivals in sinks] == [3, 400]


@pytest.mark.parametrize("local", [False, True], ids=["remote", "local"])
def test_real_clock_gives_same_records_as_virtual_clock(local: bool) -> None:
    def run(clock: str) -> tuple[list[object], JobExecutionResult]:
        job = SmallJob(segment_size_bytes=64, buffer_timeout_ms=1, task_managers="one" if local else "each")
        source = job.values(lambda _: range(2_000))
        doubled = job.map(source, lambda value: value * 2, by="FORWARD", chain=False)  # type: ignore[operator]
        arrivals = job.sink(doubled, by=by_key(lambda value: value, "LONG"), parallelism=2)
        result = job.run(clock=clock)
        return [value for subtask in (0, 1) for value in arrivals.of(subtask)], result

    virtual, _ = run("virtual")
    real, result = run("real")
    assert real == virtual
    assert (result.status, len(real)) == (JobStatus.FINISHED, 2_000)


def test_failure_on_real_clock_cancels_other_tasks() -> None:
    def fail(value: object) -> object:
        if value == 500:
            raise ValueError("enough")
        return value

    job = SmallJob()
    job.sink(job.map(job.values(lambda _: count()), fail, by="REBALANCE"), chain=False, by="REBALANCE")
    result = job.run(clock="real")
    assert isinstance(result.error, JobFailed)
    assert result.error.record == "500"
    assert [task.state for task in result.tasks] == ["CANCELED", "FAILED", "CANCELED"]


def test_real_clock_spends_no_cost_and_never_goes_back() -> None:
    """What a record would cost on the virtual clock is more here than the whole run takes."""
    job = SmallJob(segment_size_bytes=64, cost_ns=NS_PER_MS * 1_000)
    mapped = job.map(job.values(lambda _: range(3_000)), lambda value: value)
    job.sink(mapped, by="REBALANCE", chain=False)
    recorder = MemoryRecorder(Level.FULL)
    result = job.run(clock="real", recorder=recorder)
    assert result.elapsed_ns < 3_000 * 1_000 * NS_PER_MS
    for task in result.tasks:
        parts = [task.busy_ns, task.idle_ns, task.soft_backpressured_ns, task.hard_backpressured_ns]
        assert min(parts) >= 0
        assert sum(parts) <= result.elapsed_ns
    for table in ("sent", "received", "buffers", "actions", "mails"):
        columns = recorder.columns(table)
        seq, task_, time = (columns.index(name) for name in ("seq", "task", "time_ns"))
        rows = sorted(recorder.rows(table), key=lambda row: (row[task_], row[seq]))
        assert rows == sorted(rows, key=lambda row: (row[task_], row[time], row[seq])), table


def test_zero_cost_record_counts_toward_batch_on_real_clock() -> None:
    turns: list[str] = []

    def noted(name: str) -> Callable[[object], object]:
        def note(value: object) -> object:
            if turns[-1:] != [name]:
                turns.append(name)
            return value

        return note

    job = SmallJob(cost_ns=0, budget_records=10)
    for name in ("one", "other"):
        job.sink(job.map(job.values(lambda _: range(100)), noted(name)), name=name)
    job.run(clock="real")
    assert len(turns) == 20
