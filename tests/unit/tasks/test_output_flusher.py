"""Data in an unfinished buffer are flushed at the next interval, also after the writer was blocked (rule 5.3)."""

from __future__ import annotations

import pytest

from flowsim.connectors.script import record, sleep
from flowsim.facts.kinds import Level
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import NS_PER_MS
from tests.support.jobs.small_jobs import SmallJob, by_key

INTERVAL_MS = 10
LONG = "x" * 300
"""Far larger than all buffers together: its writer waits inside the element (rule 5.42)."""


@pytest.mark.parametrize("recorder", [None, MemoryRecorder(Level.FULL)], ids=["plain", "recorded"])
@pytest.mark.parametrize("edge", ["forward", "hash", "broadcast"])
def test_record_that_waited_past_flush_is_flushed_at_next_one(edge: str, recorder: MemoryRecorder | None) -> None:
    """Rule 5.3: the sink stands still from 10 to 60 ms, and so does the writer from 20 ms on, past the flush at 30 ms."""
    job = SmallJob(
        segment_size_bytes=32, exclusive_buffers_per_channel=1, floating_buffers_per_gate=1, overdraft_buffers=0,
        buffer_timeout_ms=INTERVAL_MS,
    )  # fmt: skip
    source = job.script([record("a", 1), sleep(2 * INTERVAL_MS), record(LONG, 2), sleep(5_000)])
    by = by_key(lambda value: value, "STRING") if edge == "hash" else edge.upper()
    arrivals = job.sink(source, by=by, chain=False, cost_ns=5 * INTERVAL_MS * NS_PER_MS)
    job.run(recorder=recorder)
    times_ms = [arrival.at_ns // NS_PER_MS for arrival in arrivals.records]
    assert times_ms[0] == INTERVAL_MS
    assert 6 * INTERVAL_MS <= times_ms[1] <= 7 * INTERVAL_MS
