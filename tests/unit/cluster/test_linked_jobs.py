"""Jobs with links between tasks: times of arrival, buffers in flight, and the end."""

from __future__ import annotations

from itertools import pairwise

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.connectors.script import record, sleep
from flowsim.facts.kinds import BufferKind, BufferSide, CreditKind, Level
from flowsim.faults.catalogue import Fault
from flowsim.graph.job_settings import Link
from flowsim.recording.memory import MemoryRecorder
from tests.support.jobs.small_jobs import SmallJob

MS = 1_000_000


def rows(recorder: MemoryRecorder, table: str) -> list[dict[str, int]]:
    columns = recorder.columns(table)
    return [dict(zip(columns, row, strict=True)) for row in recorder.rows(table)]


def linked(link: Link, **settings: object) -> SmallJob:
    return SmallJob(links=(link,), cost_ns=0, **settings)


def test_record_arrives_after_transmission_and_latency() -> None:
    """13 bytes at 13,000 bytes per second: 1 ms on the wire, then 5 ms of latency."""
    job = linked(Link("source", "sink", 5 * MS, 13_000), buffer_timeout_ms=0)
    arrivals = job.sink(
        job.script([record("k" * 10), sleep(20), record("l" * 10), sleep(9)]), by="FORWARD", chain=False
    )
    job.run()
    sent_ms = [0, 20]
    assert [arrival.at_ns for arrival in arrivals.records] == [(at + 6) * MS for at in sent_ms]


def test_tasks_on_one_task_manager_have_no_link() -> None:
    job = linked(Link(latency_ns=5 * MS), buffer_timeout_ms=0, task_managers="one")
    arrivals = job.sink(job.script([record("k")]), by="FORWARD", chain=False)
    job.run()
    assert [arrival.at_ns for arrival in arrivals.records] == [0]


def test_channels_of_two_tasks_share_connection_round_robin() -> None:
    """Rule 6.15: two edges between the same tasks; each buffer of 13 bytes occupies the wire for 1 ms.

    The first channel stands in the queue again before the second one joins it; from then on they alternate. The third
    buffer of each holds the last watermark, in 10 bytes, and is followed by an event of 5.
    """
    job = linked(Link(bytes_per_second=13_000), segment_size_bytes=13, buffer_timeout_ms=-1)
    source = job.values(lambda _: ["k" * 10, "l" * 10])
    arrivals = job.sink([source, source], by="FORWARD", chain=False)
    recorder = MemoryRecorder(Level.FULL)
    job.run(recorder=recorder)
    sent = [
        (row["channel"], row["number"], row["time_ns"])
        for row in rows(recorder, "buffers")
        if row["side"] == BufferSide.SENT and row["kind"] == BufferKind.DATA
    ]
    first = sent[0][2]
    assert [(channel, number, at - first) for channel, number, at in sent] == [
        (0, 0, 0), (0, 1, MS), (1, 0, 2 * MS), (0, 2, 3 * MS), (1, 1, 3_769_231), (1, 2, 5_153_847),
    ]  # fmt: skip
    assert len(arrivals.values) == 4


def test_sender_recycles_buffer_when_written_not_when_arrived() -> None:
    """A second of latency, and a pool of 2 segments: the source has read everything long before the first arrival."""
    job = linked(
        Link(latency_ns=1_000 * MS), segment_size_bytes=13, buffer_timeout_ms=-1, exclusive_buffers_per_channel=40,
        floating_buffers_per_gate=1, max_buffers_per_channel=2, overdraft_buffers=0,
    )  # fmt: skip
    arrivals = job.sink(job.values(lambda _: ["k" * 10] * 20), by="FORWARD", chain=False)
    result = job.run()
    assert result.tasks[0].soft_backpressured_ns == 0
    assert {arrival.at_ns for arrival in arrivals.records} == {1_000 * MS}


def test_credits_take_link_latency_back() -> None:
    """One exclusive buffer and none of the others can be had: a record every 2 x 5 ms, there and back."""
    job = linked(
        Link(latency_ns=5 * MS), segment_size_bytes=13, buffer_timeout_ms=-1, exclusive_buffers_per_channel=1,
        floating_buffers_per_gate=1,
    )  # fmt: skip
    recorder = MemoryRecorder(Level.FULL)
    arrivals = job.sink(job.values(lambda _: ["k" * 10] * 6), by="FORWARD", chain=False)
    job.run(recorder=recorder)
    at_ms = [arrival.at_ns // MS for arrival in arrivals.records]
    credits = [(r["time_ns"], r["kind"]) for r in rows(recorder, "credits")]
    announced = [at for at, kind in credits if kind == CreditKind.ANNOUNCED]
    got = [at for at, kind in credits if kind == CreditKind.GOT]
    assert [b - a for a, b in zip(announced, got, strict=True)] == [5 * MS] * len(got)
    assert at_ms[0] == 5
    assert all(b - a in (0, 10) for a, b in pairwise(at_ms))


def test_stopped_job_drops_buffers_in_flight() -> None:
    job = linked(Link(latency_ns=10 * MS), buffer_timeout_ms=0)
    arrivals = job.sink(job.script([record("k"), sleep(8), record("l"), sleep(100)]), by="FORWARD", chain=False)
    result = job.run(until_ns=15 * MS)
    assert result.status is JobStatus.STOPPED
    assert arrivals.values == ["k"]
    assert "1 buffer (4 bytes) and 1 credit are in flight between source (1/1) and sink (1/1)" in result.report


def test_job_ends_with_last_task_although_credits_are_in_flight() -> None:
    job = linked(Link(latency_ns=10 * MS), segment_size_bytes=13, buffer_timeout_ms=-1)
    job.sink(job.values(lambda _: ["k" * 10]), by="FORWARD", chain=False)
    assert job.run().elapsed_ns == 10 * MS


def test_deadlock_report_shows_buffers_and_credits_of_starved_sender() -> None:
    """The credit for the first floating buffer gets lost, and the channel has a single exclusive one."""
    job = linked(
        Link("source", "sink", 1 * MS), segment_size_bytes=13, exclusive_buffers_per_channel=1,
        floating_buffers_per_gate=1, buffer_timeout_ms=-1,
    )  # fmt: skip
    job.sink(job.values(lambda _: ["k" * 10] * 1_000), by="FORWARD", chain=False)
    result = job.run(faults=(Fault("lose_credit", operator="source"),))
    assert result.status is JobStatus.DEADLOCKED
    assert result.report == (
        "source (1/1) waits for a free output buffer of channels 0..; mailbox 0 mails, input 0 buffers, output 2 buffers "
        "queued for channels 0.. (pool 2 of 2 used); no credit for channels 0\n"
        "sink (1/1) waits for input; mailbox 0 mails, input 0 buffers, output none"
    )


def test_deadlock_report_names_finished_sender_with_data_without_credit() -> None:
    job = linked(
        Link("source", "sink", 1 * MS), segment_size_bytes=13, exclusive_buffers_per_channel=1,
        floating_buffers_per_gate=1, buffer_timeout_ms=-1,
    )  # fmt: skip
    job.sink(job.values(lambda _: ["k" * 10] * 2), by="FORWARD", chain=False)
    result = job.run(faults=(Fault("lose_credit", operator="source"),))
    assert result.status is JobStatus.DEADLOCKED
    assert result.report.splitlines()[1:] == [
        "source (1/1) has finished, but holds 4 buffers queued for channels 0.. (pool 2 of 2 used); no credit for channels 0"
    ]


@pytest.mark.parametrize("policy", ["fifo", "random"])
def test_equal_seeds_give_equal_facts_over_links(policy: str) -> None:
    def facts() -> dict[str, list[object]]:
        job = linked(Link(latency_ns=3 * MS, bytes_per_second=5_000), segment_size_bytes=32, buffer_timeout_ms=1)
        source = job.values(lambda n: [f"{n}-{i}" for i in range(30)], parallelism=2)
        job.sink(source, by="REBALANCE", parallelism=3, chain=False)
        recorder = MemoryRecorder(Level.FULL)
        assert job.run(recorder=recorder, policy=policy, seed=5).status is JobStatus.FINISHED
        return {name: list(recorder.rows(name)) for name in ("buffers", "credits", "received", "segments")}

    assert facts() == facts()


def test_links_work_on_real_clock() -> None:
    job = linked(Link(latency_ns=2 * MS, bytes_per_second=1_000_000), segment_size_bytes=64, buffer_timeout_ms=1)
    arrivals = job.sink(job.values(lambda _: range(500)), by="FORWARD", chain=False)
    assert job.run(clock="real").status is JobStatus.FINISHED
    assert arrivals.values == list(range(500))
