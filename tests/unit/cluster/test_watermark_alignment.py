"""Sources of one group in a running job: which source waits for which, and that every wait ends (rules 8.22-8.24)."""

from __future__ import annotations

from itertools import pairwise

import pytest

from flowsim.cluster.failures import FailTask
from flowsim.cluster.job_execution import JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import StopJob
from flowsim.cluster.watermark_alignment import WatermarkAggregator
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, record, sleep
from flowsim.connectors.script_reader import ScriptReader
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Duration, WatermarkStrategy
from flowsim.facts.kinds import Level
from flowsim.graph.checkpoint_settings import FixedDelayRestart
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.operators.sources.source_output import ReaderOutput
from flowsim.operators.stream_operator import DataInputStatus
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS
from tests.support.jobs.alignment_jobs import ALIGNED, DRIFT_MS, fast, rows_of, run, slow

NS_PER_S = 1000 * NS_PER_MS


def test_fast_source_stays_within_drift_of_slow_source() -> None:
    """What was announced is what the slow one had reported, and the drift; the fast one waits as soon as it is above."""
    recorder, result = run(fast(30), slow(10))
    assert result.status is JobStatus.FINISHED
    waits = rows_of(recorder, "alignment")
    assert [paused for _, _, paused, _, _ in waits] == [1, 0] * (len(waits) // 2)
    assert all((watermark > limit) == bool(paused) for _, _, paused, limit, watermark in waits)
    limits = {limit for _, _, _, limit, _ in waits}
    slow_said = {row[6] for row in recorder.rows("generated_watermark") if row[1] == 1}
    fast_said = {row[6] for row in recorder.rows("generated_watermark") if row[1] == 0}
    assert {limit - DRIFT_MS for limit in limits} <= slow_said | fast_said
    assert len(waits) > 4
    assert len(recorder.rows("sent")) > 0
    assert {outcome.verdict for outcome in check_all(recorder)} <= {
        Verdict.HOLDS,
        Verdict.NOT_APPLICABLE,
        Verdict.VACUOUS,
    }


def test_paused_source_emits_nothing() -> None:
    recorder, _ = run(fast(30), slow(10))
    waits = rows_of(recorder, "alignment")
    records = sorted(row[2] for row in recorder.rows("sent") if row[1] == 0 and row[5] == 0)
    for (began_ns, _, paused, _, _), (ended_ns, *_) in pairwise(waits):
        if paused:
            assert not [at_ns for at_ns in records if began_ns < at_ns < ended_ns]


def test_ended_source_releases_waiting_sources() -> None:
    """A job must not hang when the slowest source has ended; a single source follows itself."""
    recorder, result = run(fast(30), slow(2))
    assert result.status is JobStatus.FINISHED
    assert result.records_read == 32
    assert rows_of(recorder, "alignment")[-1][2] == 0


def test_source_without_watermark_does_not_delay_its_group() -> None:
    """It is not known to its group: the other has only itself to wait for, which is slow enough for that."""
    silent: list[Entry] = [sleep(40_000)]
    recorder, result = run(fast(8, every_ms=4000), silent)
    assert result.status is JobStatus.FINISHED
    assert rows_of(recorder, "alignment") == []


def test_idle_source_does_not_delay_its_group() -> None:
    """Rule 8.22: once the slow one is idle its reports are MAX, and the fast one is not waiting when it ends."""
    recorder, result = run(
        fast(12, every_ms=500), [record("s", 1), sleep(40_000)], ALIGNED.with_idleness(Duration.of_millis(700))
    )
    assert result.status is JobStatus.FINISHED
    ended_ns = max(row[2] for row in recorder.rows("sent") if row[1] == 0 and row[5] == 0)
    assert ended_ns < 30 * NS_PER_S


class StuckReader(ScriptReader):
    """Waits for ever after its script: nothing will wake it."""

    __slots__ = ()

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        status = super().poll_next(output)
        return DataInputStatus.NOTHING_AVAILABLE if status is DataInputStatus.END_OF_DATA else status


class StuckSource(ScriptedSource):
    def create_reader(self) -> ScriptReader:
        return StuckReader(self.scripts, self.gap_ms)


def test_waiting_for_source_that_never_advances_is_deadlock() -> None:
    """The timers of reports and announcements do not keep a run alive that they cannot change (D4)."""
    env = StreamExecutionEnvironment.get_execution_environment()
    ahead = env.from_source(ScriptedSource(fast(30)), ALIGNED, "ahead")
    stuck = env.from_source(StuckSource([record("s", 1)]), ALIGNED, "stuck")
    ahead.union(stuck).sink_to(CollectSink())
    result = MiniCluster(env.stream_graph(), RunOptions()).run()
    assert result.status is JobStatus.DEADLOCKED
    assert "Source: ahead (1/1)" in result.report


def test_subtasks_of_one_source_are_aligned() -> None:
    """Rule 8.22: the least of all subtasks counts."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.settings.watermark_alignment_buffer_size = 0
    env.from_source(ScriptedSource(fast(20), slow(8)), ALIGNED, "pair").sink_to(CollectSink())
    recorder = MemoryRecorder(Level.ELEMENTS)
    result = MiniCluster(env.stream_graph(), RunOptions(recorder=recorder)).run()
    assert result.status is JobStatus.FINISHED
    assert {row[1] for row in recorder.rows("alignment")} == {0}


@pytest.mark.parametrize("drain", [True, False])
def test_job_stops_while_source_is_paused(drain: bool) -> None:
    recorder, result = run(fast(30), slow(100), actions=(StopJob(at_ns=6 * NS_PER_S, drain=drain),))
    assert result.status is JobStatus.FINISHED
    assert rows_of(recorder, "alignment")[-1][2] == 1
    assert result.elapsed_ns < 7 * NS_PER_S


def test_restarted_source_is_heard_again() -> None:
    """The fast source waits for the slow one before and after the slow one's restart, and then goes on."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.settings.watermark_alignment_buffer_size = 0
    env.settings.restart_strategy = FixedDelayRestart(1, 0)
    for name, entries in (("fast", fast(30)), ("slow", slow(10))):
        env.from_source(ScriptedSource(entries), ALIGNED, name).sink_to(CollectSink())
    recorder = MemoryRecorder(Level.FULL)
    fails = FailTask("Source: slow", at_ns=3500 * NS_PER_MS)
    result = MiniCluster(env.stream_graph(), RunOptions(recorder=recorder, failures=(fails,))).run()
    assert (result.status, result.restarts) == (JobStatus.FINISHED, 1)
    limits = [limit for _, _, paused, limit, _ in rows_of(recorder, "alignment") if paused]
    assert max(limits) > DRIFT_MS + 4 * 50  # what the slow source reported only after its restart


def test_equal_runs_give_equal_facts() -> None:
    first, second = run(fast(20), slow(6))[0], run(fast(20), slow(6))[0]
    assert first.facts_digest() == second.facts_digest()
    seeded = [run(fast(20), slow(6), policy="random", seed=5)[0].facts_digest() for _ in range(2)]
    assert seeded[0] == seeded[1]


def test_groups_are_independent() -> None:
    recorder, result = run(fast(8, every_ms=4000), slow(10), other_group=True)
    assert result.status is JobStatus.FINISHED
    assert rows_of(recorder, "alignment") == []


def test_split_ahead_is_paused_and_others_are_read() -> None:
    """Rule 8.24: split q is far ahead of p from the start; p alone is read until it has come near."""
    splits: list[Entry] = [record("q", 500, split="q"), record("q", 600, split="q")]
    for number in range(8):
        splits += [record("p", number * 100, split="p"), sleep(1000)]
    recorder, result = run(splits, slow(30))
    assert result.status is JobStatus.FINISHED
    assert result.records_read == 10 + 30
    of_splits = [row for row in rows_of(recorder, "alignment") if row[1] >= 0]
    assert of_splits[0][1:3] == (0, 1)
    assert (0, 0) in {row[1:3] for row in of_splits}


def test_split_paused_just_before_idleness_deadlocks() -> None:
    """Rule 8.24, as the real SourceOperator has it: idle splits stay as they are, and only a record would end idleness."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(500))
    aligned = strategy.with_watermark_alignment("group", Duration.of_millis(0), Duration.of_millis(200))
    script = [record("p", 1, split="p"), sleep(600), record("q", 0, split="q"), sleep(600), record("p", 0, split="p")]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.settings.watermark_alignment_buffer_size = 0
    env.from_source(ScriptedSource(script), aligned, "two splits").sink_to(CollectSink())
    recorder = MemoryRecorder(Level.ELEMENTS)
    result = MiniCluster(env.stream_graph(), RunOptions(recorder=recorder)).run()
    assert result.status is JobStatus.DEADLOCKED
    assert [row[1:3] for row in rows_of(recorder, "alignment")] == [(0, 1), (-1, 1), (-1, 0)]


def test_aggregator_returns_minimum_only_when_it_changed() -> None:
    aggregator: WatermarkAggregator[str] = WatermarkAggregator()
    assert aggregator.aggregated_watermark == NO_TIMESTAMP
    reported = [
        aggregator.aggregate(key, mark) for key, mark in (("a", 5), ("b", 3), ("a", 9), ("b", MAX_WATERMARK), ("a", 4))
    ]
    assert reported == [5, 3, None, 9, 4]
    assert list(aggregator.keys) == ["a", "b"]


def test_alignment_works_on_real_clock() -> None:
    strategy = WatermarkStrategy.for_each_record(Duration.of_millis(0)).with_watermark_alignment(
        "group", Duration.of_millis(0), Duration.of_millis(5)
    )
    quick: list[Entry] = [entry for number in range(4) for entry in (record("f", number * 100), sleep(4))]
    short: list[Entry] = [entry for number in range(8) for entry in (record("s", number * 50), sleep(4))]
    _, result = run(quick, short, strategy, clock="real")
    assert result.status is JobStatus.FINISHED
    assert result.records_read == 12
    assert result.elapsed_ns < 20_000 * NS_PER_MS
