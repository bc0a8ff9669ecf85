"""Mails run between the elements of a task input; a buffer is recycled before its last element (7.15)."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.connectors.script import ScriptedSource
from flowsim.connectors.script_entries import EndEntry, Entry, idle, record, sleep, watermark
from flowsim.facts.kinds import Level, SegmentAction
from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.stream_operator import StreamOperator, Value
from flowsim.recording.memory import MemoryRecorder
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.testing.async_calls import Reply, ScriptedCalls
from flowsim.units import NS_PER_MS
from tests.support.jobs.small_jobs import SmallJob, by_key


class RecordingSink(StreamOperator):
    """Keeps every record, watermark and status as text."""

    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.seen.append(str(value))

    def process_watermark(self, timestamp: int) -> None:
        self.seen.append(f"wm{timestamp}")

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        self.seen.append(status.name)


def seen_behind_async(capacity: int, *scripts: Sequence[Entry]) -> list[str]:
    """What arrives behind key_by -> async ordered; r1 is answered last, and every element has a buffer of its own."""
    job, seen = SmallJob(buffer_timeout_ms=0), list[str]()
    calls = ScriptedCalls(lambda value, attempt: Reply(100 if value == "r1" else 10, (value,)))
    # A pause before each element: so each has a buffer of its own.
    played = ScriptedSource(*([entry for element in script for entry in (sleep(1), element)] for script in scripts))
    source = job.source(lambda: SourceOperator(played.create_reader()), len(scripts))
    asynchronous = job.operator(
        source, "async", "async_wait", lambda: AsyncWaitOperator(calls, 0, capacity, "ordered"), by=by_key(str)
    )
    job.operator(asynchronous, "sink", "sink", lambda: RecordingSink(seen))
    job.run()
    return seen


def test_buffer_is_recycled_before_its_last_record_waits_for_queue_slot() -> None:
    """r2 gets in at 6 s, when r1 is answered; nothing but the input holds its buffer."""
    job, recorder = SmallJob(buffer_timeout_ms=0), MemoryRecorder(Level.FULL)
    calls = ScriptedCalls(lambda value, attempt: Reply(5_000, (value,)))
    source = job.script([record("r1", 1), sleep(100), record("r2", 2), sleep(1)])
    job.operator(source, "async", "async_wait", lambda: AsyncWaitOperator(calls, 0, 1, "ordered"), by=by_key(str))
    job.run(recorder=recorder)
    task, action, time_ns = (recorder.columns("segments").index(name) for name in ("task", "action", "time_ns"))
    moved = [(row[action], row[time_ns] // NS_PER_MS) for row in recorder.rows("segments") if row[task] == 1]
    assert (SegmentAction.HANDED_OUT, 1_100) in moved
    assert (SegmentAction.RECYCLED, 1_100) in moved


def test_status_overtakes_watermark_waiting_for_next_mail() -> None:
    """The buffer of r4 is forgotten before r4 waits for space: the action after the next mail reads the status."""
    script = [record("r1", 1), record("r2", 2), watermark(2), record("r4", 4), idle(), sleep(1_000)]
    assert seen_behind_async(3, script)[:4] == ["r1", "r2", "IDLE", "r4"]


def test_status_overtakes_record_waiting_for_next_mail() -> None:
    script = [record("r1", 1), record("r2", 2), record("r3", 3), record("r4", 4), idle(), sleep(1_000)]
    assert seen_behind_async(3, script)[:5] == ["r1", "r2", "IDLE", "r3", "r4"]


def test_mail_runs_after_event_before_next_buffer() -> None:
    """Two other channels end while r6 waits: a mail runs after each EndOfData."""
    script = [*(record(f"r{number}", number) for number in range(1, 7)), sleep(50), idle(), sleep(1_000)]
    ending = [idle(), sleep(20), EndEntry()]
    assert seen_behind_async(5, script, ending, ending) == ["r1", "r2", "r3", "r4", "IDLE", "r5", "r6"]
