"""Processing-time timers of operators inside running tasks (rules 3.26, 3.27, 4.12) on the virtual clock."""

from __future__ import annotations

from itertools import count

import pytest

from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.facts.kinds import ElementKind, Level
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.stream_operator import StreamOperator
from flowsim.recording.memory import MemoryRecorder
from flowsim.streamrecord.elements import OutputTag
from flowsim.units import MAX_WATERMARK, NS_PER_MS
from flowsim.watermark.watermark_strategy import WatermarkStrategy
from tests.support.jobs.small_jobs import SmallJob

START_MS = 1_000
"""The clock of every task starts there (rule 0.5)."""


class Alarm(StreamOperator):
    """Registers timers on its first record, and notes (registered time, time it fired), both in ms since the start."""

    def __init__(self, fired: list[tuple[int, float]], times_ms: tuple[int, ...], emits: bool = False) -> None:
        self.fired = fired
        self.times_ms = times_ms
        self.emits = emits

    def process_element(self, value: object, timestamp: int | None) -> None:
        self.records_in += 1
        self.clock.now_ns += self.cost_ns
        if self.records_in == 1:
            for time_ms in self.times_ms:
                self.ctx.processing_time.register_timer(START_MS + time_ms, self.on_timer)

    def on_timer(self, timestamp_ms: int) -> None:
        self.fired.append((timestamp_ms - START_MS, self.clock.now_ns / NS_PER_MS - START_MS))
        if self.emits:
            self.output.collect(timestamp_ms - START_MS, None)

    def finish(self) -> None:
        self.fired.append((-1, self.clock.now_ns / NS_PER_MS - START_MS))


def fired_in(job: SmallJob, source: int, *times_ms: int, **settings: object) -> list[tuple[int, float]]:
    fired: list[tuple[int, float]] = []
    job.operator(source, "alarm", "alarm", lambda: Alarm(fired, times_ms), **settings)  # type: ignore[arg-type]
    job.run()
    return fired


def test_timer_fires_one_millisecond_late_with_its_own_timestamp() -> None:
    """Rule 3.26; one for the past fires at once."""
    job = SmallJob(cost_ns=0)
    source = job.script([sleep(20), record(1), sleep(200)])
    assert fired_in(job, source, 50, 20, 19, 90) == [(19, 20), (20, 21), (50, 51), (90, 91), (-1, 220)]


def test_timer_not_fired_before_finish_never_fires() -> None:
    """Rules 3.27, 4.12."""
    job = SmallJob(cost_ns=0)
    assert fired_in(job, job.script([record(1), sleep(100)]), 40, 150) == [(40, 41), (-1, 100)]


def test_timer_beyond_64_bits_of_nanoseconds_never_fires() -> None:
    """A global window registers a cleanup timer at the end of time."""
    job = SmallJob(cost_ns=0)
    assert fired_in(job, job.script([record(1), sleep(100)]), 40, MAX_WATERMARK - START_MS) == [(40, 41), (-1, 100)]


class LastWords(Alarm):
    """Fills its output when it finishes: that takes time."""

    def finish(self) -> None:
        for _ in range(100):
            self.output.collect("a record as long as a segment of the network, or nearly so", None)
        super().finish()


def test_timer_due_during_finish_never_fires() -> None:
    """Rules 3.27, 4.12: timers are quiesced before ``finish``, which waits here for a slow sink again and again."""
    job = SmallJob(cost_ns=0, segment_size_bytes=64, overdraft_buffers=0)
    fired: list[tuple[int, float]] = []
    last_words = job.operator(
        job.script([record(1), sleep(100)]), "alarm", "alarm", lambda: LastWords(fired, (40, 150))
    )
    arrivals = job.sink(last_words, by="FORWARD", chain=False, cost_ns=2 * NS_PER_MS)
    job.run()
    assert fired[0] == (40, 41)
    (finished,) = fired[1:]
    assert finished[0] == -1
    assert finished[1] > 200, "it was still at it when the second timer was due"
    assert len(arrivals.values) == 100


@pytest.mark.parametrize("chain", [True, False], ids=["chained", "behind a channel"])
def test_busy_task_fires_timers_on_time(chain: bool) -> None:
    """D4: a batch ends at the next timer, also one that was registered inside it; a record of 1 us may be under way."""
    job = SmallJob()
    source = job.values(lambda _: range(300_000))
    fired = fired_in(job, source, 10, 20, 25, chain=chain)
    assert [registered for registered, _ in fired[:3]] == [10, 20, 25]
    # The delay is whole milliseconds from the moment of registration, whatever part of a millisecond that is.
    part_of_ms = fired[0][1] % 1
    for registered, at in fired[:3]:
        assert registered + 1 + part_of_ms - 0.002 <= at <= registered + 1 + part_of_ms + 0.002


def test_timers_fire_during_soft_back_pressure() -> None:
    """Rules 3.12, 3.19: soft back pressure suspends the default action, not the mails."""
    fired: list[tuple[int, float]] = []
    job = SmallJob(segment_size_bytes=16, buffer_timeout_ms=0, cost_ns=1_000)

    class Passing(Alarm):
        def process_element(self, value: object, timestamp: int | None) -> None:
            super().process_element(value, timestamp)
            self.output.collect("x" * 20, timestamp)

    many = job.operator(
        job.values(lambda _: range(200)), "alarm", "alarm", lambda: Passing(fired, (10, 30), emits=True)
    )
    arrivals = job.sink(many, by="REBALANCE", chain=False, cost_ns=NS_PER_MS)
    result = job.run()
    assert [(registered, round(at, 2)) for registered, at in fired[:2]] == [(10, 11), (30, 31)]
    assert [value for value in arrivals.values if isinstance(value, int)] == [10, 30]
    assert len(arrivals.values) == 202
    assert result.tasks[0].soft_backpressured_ns > 100 * NS_PER_MS


class Ticks(Alarm):
    """Notes each call of a periodic timer of 10 ms."""

    def open(self) -> None:
        self.ctx.processing_time.schedule_with_fixed_delay(10, self.on_timer, daemon_while_not=lambda: False)


def test_periodic_timer_of_a_busy_task_is_due_at_each_interval() -> None:
    """Rule 8.2: the mails of all intervals in which the task is busy run when it has time, one after the other."""
    fired: list[tuple[int, float]] = []
    job = SmallJob(cost_ns=0)
    source = job.script([sleep(15), record(1), sleep(10)])
    job.operator(source, "ticks", "ticks", lambda: Ticks(fired, ()), cost_ns=40 * NS_PER_MS)
    job.run()
    assert fired == [(10, 10), (20, 55), (30, 55), (40, 55), (50, 55), (60, 60), (-1, 65)]


def test_periodic_timer_of_idle_job_does_not_keep_it_alive() -> None:
    """D4: timers that re-arm themselves are daemons; without an effect to come they are no progress."""

    class Ticker(StreamOperator):
        def open(self) -> None:
            self.again(0)

        def again(self, timestamp_ms: int) -> None:
            service = self.ctx.processing_time
            service.register_timer(
                service.current_processing_time_ms() + 10, self.again, daemon_while_not=lambda: False
            )

        def process_element(self, value: object, timestamp: int | None) -> None:
            self.records_in += 1

    job = SmallJob(cost_ns=0)
    job.operator(job.script([record(1), sleep(1_000)]), "ticker", "ticker", Ticker, chain=False)
    result = job.run()
    assert (result.status.value, result.elapsed_ns) == ("finished", 1_000 * NS_PER_MS)


def test_task_resumes_after_each_full_output_was_available() -> None:
    """Rule 4.6: the future of several writers is allOf. A timer's records fill output a again before b has room."""
    fired: list[tuple[int, float]] = []
    to_a, to_b = OutputTag("a"), OutputTag("b")

    class Both(Alarm):
        def process_element(self, value: object, timestamp: int | None) -> None:
            super().process_element(value, timestamp)
            for tag in (to_a, to_b):
                self.output.collect_side(tag, f"{value:>20}", timestamp)

        def on_timer(self, timestamp_ms: int) -> None:
            for _ in range(5):
                self.output.collect_side(to_a, "t" * 20, None)

    job = SmallJob(segment_size_bytes=16, buffer_timeout_ms=0)
    source = job.operator(job.values(lambda _: range(300)), "both", "both", lambda: Both(fired, tuple(range(2, 300))))
    often = job.sink(source, "often", by="REBALANCE", side_output="a", chain=False, cost_ns=240_000)
    seldom = job.sink(source, "seldom", by="REBALANCE", side_output="b", chain=False, cost_ns=2_000_000)
    result = job.run()
    assert result.status.value == "finished", result.report
    assert [int(value) for value in seldom.values] == list(range(300))  # type: ignore[call-overload]
    assert [int(value) for value in often.values if "t" not in str(value)] == list(range(300))  # type: ignore[call-overload]


def test_endless_job_stops_at_exact_nanosecond() -> None:
    job = SmallJob()
    job.sink(job.values(lambda _: count()), by="REBALANCE")
    assert job.run(until_ns=12_345_678).elapsed_ns == 12_345_678


def source_watermark_times_ms(interval_ms: int, cost_ms: int) -> list[float]:
    """When a source with a record every 100 ms sends its watermarks, but for the last of all."""
    recorder = MemoryRecorder(Level.FULL)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: int(str(value)))
    script = ScriptedSource([entry for number in range(20) for entry in (record(number), sleep(100))])
    job = SmallJob()
    source = job.source(
        lambda: SourceOperator(script.create_reader(), strategy, interval_ms), cost_ns=cost_ms * NS_PER_MS
    )
    job.sink(source, chain=False)
    job.run(recorder=recorder)
    kind, at, timestamp = (recorder.columns("sent").index(name) for name in ("kind", "time_ns", "timestamp"))
    return [
        row[at] / NS_PER_MS - START_MS
        for row in recorder.rows("sent")
        if row[kind] == ElementKind.WATERMARK and row[timestamp] != MAX_WATERMARK
    ]


def test_periodic_watermarks_have_fixed_interval_without_drift() -> None:
    """Rule 8.2: fixed delay, and not the extra millisecond of rule 9.10."""
    assert source_watermark_times_ms(interval_ms=150, cost_ms=0) == [150.0 * number for number in range(1, 14)]


def test_periodic_watermark_during_record_is_emitted_after_it() -> None:
    """Rule 8.2: records run from 0 to 90, 190 to 280, 380 to 470, 570 to 660 ms and so on."""
    assert source_watermark_times_ms(interval_ms=200, cost_ms=90)[:4] == [280.0, 470.0, 660.0, 850.0]
