"""How far a source runs ahead of a stopped sink: computed from the configuration, record by record.

What a sender may hold, with one record after another of ``FRAME`` bytes:

- the receiver takes ``exclusive + floating`` buffers of a channel and no more (rules 6.1 to 6.4),
- the sender's pool has ``channels * exclusive + floating`` segments, at least ``channels + 1`` (rule 5.41), and is
  unavailable once its last one is handed out, or once a subpartition holds ``max_buffers_per_channel`` (rule 5.35),
- the task stops *between* elements as soon as the pool is unavailable (rules 4.6, 4.7): the record that asked for that
  segment is still written, into overdraft segments if need be.
"""

from __future__ import annotations

from itertools import count

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.connectors.script import record, sleep
from flowsim.streamrecord.codec import encode_record_into
from tests.support.faults import Fault
from tests.support.jobs.small_jobs import SmallJob, by_key

LETTERS = 10
FRAME = 3 + LETTERS
"""Bytes of a record without timestamp: an array of 2, nil, the length of the string, its letters."""
STOPPED_SINK = (Fault("stop_task", operator="sink"),)


def text(key: str = "k") -> str:
    return key * LETTERS


def test_frame_length_equals_encoded_length() -> None:
    frame = bytearray()
    encode_record_into(frame, None, text())
    assert len(frame) == FRAME


def in_use(channels: int, exclusive: int, floating: int, per_channel: int) -> int:
    """Segments that one subpartition alone may hold before its pool is unavailable."""
    return min(max(channels * exclusive + floating, channels + 1), per_channel)


def records_read(job: SmallJob, **options: object) -> int:
    result = job.run(faults=STOPPED_SINK, **options)
    assert result.status is JobStatus.STOPPED
    assert "sink (1/" in result.report
    assert "waits for nothing: a fault stopped it" in result.report
    assert "waits for a free output buffer of channels 0.." in result.report
    return result.records_read


CONFIGURATIONS = [
    # segment, exclusive, floating, max per channel
    (32, 2, 8, 10),
    (64, 2, 8, 10),
    (100, 2, 8, 10),
    (13, 2, 8, 10),
    (26, 1, 1, 10),
    (64, 4, 2, 10),
    (64, 2, 8, 3),
    (64, 3, 12, 10),
    (64, 0, 4, 10),
    (64, 0, 1, 10),
    (8, 2, 8, 10),
    (5, 2, 3, 10),
    (4096, 2, 8, 10),
]


@pytest.mark.parametrize(("segment", "exclusive", "floating", "per_channel"), CONFIGURATIONS)
@pytest.mark.parametrize("edge", ["forward", "hash"])
def test_source_blocks_after_record_that_takes_last_segment(
    segment: int, exclusive: int, floating: int, per_channel: int, edge: str
) -> None:
    """Full buffers only (no flusher). Segment number n of a stream is asked for by the record at byte (n - 1) * segment."""
    job = SmallJob(
        segment_size_bytes=segment, exclusive_buffers_per_channel=exclusive, floating_buffers_per_gate=floating,
        max_buffers_per_channel=per_channel, buffer_timeout_ms=-1,
    )  # fmt: skip
    source = job.values(lambda _: (text() for _ in count()))
    job.sink(source, by="FORWARD" if edge == "forward" else by_key(lambda value: value), chain=False)
    last = exclusive + max(floating, 1 if exclusive == 0 else 0) + in_use(1, exclusive, floating, per_channel)
    assert records_read(job) == (last - 1) * segment // FRAME + 1


@pytest.mark.parametrize(
    ("segment", "exclusive", "floating", "per_channel"), [each for each in CONFIGURATIONS if each[1] > 0]
)
def test_shared_pool_blocks_when_empty_or_one_channel_is_full(
    segment: int, exclusive: int, floating: int, per_channel: int
) -> None:
    """Keys a and b alternate; both sinks stand still, each with a gate and floating buffers of its own."""
    job = SmallJob(
        segment_size_bytes=segment, exclusive_buffers_per_channel=exclusive, floating_buffers_per_gate=floating,
        max_buffers_per_channel=per_channel, buffer_timeout_ms=-1,
    )  # fmt: skip
    source = job.values(lambda _: (text("ab"[n % 2]) for n in count()))
    job.sink(source, by=by_key(lambda value: value[0]), parallelism=2, max_parallelism=8, chain=False)
    received = exclusive + floating
    pool = max(2 * exclusive + floating, 3)
    segments = [0, 0]
    for number in count():
        channel = number % 2
        segments[channel] = -(-(number // 2 + 1) * FRAME // segment)
        held = [asked - received for asked in segments]
        if sum(held) >= pool or max(held) >= per_channel:
            break
    assert records_read(job) == number + 1


@pytest.mark.parametrize(("segment", "exclusive", "floating", "per_channel"), CONFIGURATIONS[:-1])
@pytest.mark.parametrize("timeout_ms", [0, 100])
def test_flushed_buffer_carries_one_record_or_part_of_it(
    segment: int, exclusive: int, floating: int, per_channel: int, timeout_ms: int
) -> None:
    """A piece ends with its record or with its segment. At 100 ms records are 150 ms apart, so that each is flushed."""
    job = SmallJob(
        segment_size_bytes=segment, exclusive_buffers_per_channel=exclusive, floating_buffers_per_gate=floating,
        max_buffers_per_channel=per_channel, buffer_timeout_ms=timeout_ms, budget_records=1,
    )  # fmt: skip
    pause = [sleep(150)] if timeout_ms else []
    source = job.script([entry for _ in range(200) for entry in (record(text()), *pause)])
    job.sink(source, by="FORWARD", chain=False)
    pieces = exclusive + max(floating, 1 if exclusive == 0 else 0)
    ends = sorted({n * FRAME for n in range(1, pieces + 1)} | {n * segment for n in range(1, pieces + 1)})
    first_kept = ends[pieces - 1] // segment
    last = first_kept + in_use(1, exclusive, floating, per_channel)
    assert records_read(job) == (last - 1) * segment // FRAME + 1


def test_data_without_credit_is_counted_once_until_credit_arrives() -> None:
    """The sink stands still for good, so its credits run out once; events cost none (rule 6.11)."""
    job = SmallJob(segment_size_bytes=64, buffer_timeout_ms=-1)
    job.sink(job.values(lambda _: (text() for _ in count())), by="FORWARD", chain=False)
    result = job.run(faults=STOPPED_SINK)
    assert [task.times_out_of_credit for task in result.tasks] == [1, 0]


@pytest.mark.parametrize("local", [False, True], ids=["remote", "local"])
def test_sufficient_credits_never_run_out(local: bool) -> None:
    """Ten credits for nine records and the last watermark; and a local channel knows no credits."""
    records = 1_000 if local else 9
    job = SmallJob(segment_size_bytes=FRAME, buffer_timeout_ms=-1, task_managers="one" if local else "each")
    job.sink(job.values(lambda _: (text() for _ in range(records))), by="FORWARD", chain=False)
    assert [task.times_out_of_credit for task in job.run().tasks] == [0, 0]


def test_sink_with_one_buffer_makes_every_buffer_wait_for_credit() -> None:
    """One buffer for the receiver: 20 records and the last watermark are in a buffer each, and each waits."""
    job = SmallJob(
        segment_size_bytes=FRAME, exclusive_buffers_per_channel=0, floating_buffers_per_gate=1, buffer_timeout_ms=-1
    )
    job.sink(job.values(lambda _: (text() for _ in range(20))), by="FORWARD", chain=False)
    assert job.run().tasks[0].times_out_of_credit == 21
