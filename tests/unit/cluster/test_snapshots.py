"""Snapshots requested during a run: when they are taken, their contents, and the missed ones."""

from __future__ import annotations

import pytest

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import CancelJob, RunAction, SnapshotTask
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, sleep, watermark
from flowsim.datastream import AsyncDataStream, StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.legacy.source_function import LegacySource
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.streamrecord.elements import StreamRecord, Watermark
from flowsim.testing.async_calls import Reply, ScriptedCalls
from flowsim.units import NS_PER_MS
from tests.support.jobs.small_jobs import SmallJob

MS = NS_PER_MS
ASK = "ask -> Sink: Unnamed (1/1)"


def run(
    *actions: RunAction, capacity: int = 5, parallelism: int = 1, legacy_source: bool = False, **options: object
) -> tuple[JobExecutionResult, MemoryRecorder]:
    """source --REBALANCE--> ask (100 ms each), ordered -> sink."""
    env = StreamExecutionEnvironment.get_execution_environment().configure(buffer_timeout_ms=0, cost_ns=0)
    scripted = ScriptedSource([record(1, 1), record(2, 2), watermark(2), record(3, 3), sleep(300)])
    stream = env.add_source(LegacySource(scripted) if legacy_source else scripted, "source").rebalance()
    calls = ScriptedCalls(lambda value, _: Reply(100, (value,)))
    made = AsyncDataStream.ordered_wait(stream, calls, Duration.of_millis(0), capacity).name("ask")
    made.set_parallelism(parallelism).sink_to(CollectSink()).set_parallelism(parallelism)
    recorder = MemoryRecorder(Level.FULL)
    result = MiniCluster(env.stream_graph(), RunOptions(actions=actions, recorder=recorder, **options)).run()  # type: ignore[arg-type]
    ended = "complete" if result.status is JobStatus.FINISHED else result.status.value
    assert [o for o in check_all(recorder, ended) if o.verdict is Verdict.VIOLATED] == []
    return result, recorder


def test_snapshot_has_queued_elements_of_every_operator() -> None:
    """Rule 11.20."""
    result, recorder = run(SnapshotTask(50 * MS, "ask"))
    (snapshot,) = result.snapshots
    assert (snapshot.task, snapshot.requested_ns, snapshot.taken_ns) == (ASK, 50 * MS, 50 * MS)
    asking, sink = snapshot.operators
    assert asking.elements == (StreamRecord(1, 1), StreamRecord(2, 2), Watermark(2), StreamRecord(3, 3))
    assert (asking.records_in, asking.inside, sink.elements, sink.inside) == (3, False, (), False)
    at = START_NS + 50 * MS
    assert [row[1:] for row in sorted(recorder.rows("snapshots"))] == [(1, 0, at, at, 3, 4, 0), (1, 1, at, at, 0, 0, 0)]


def test_snapshot_is_taken_after_element_in_progress() -> None:
    """Rules 3.21, 3.25, 11.21: the mail has the lowest priority, so no yield runs it."""
    result, _ = run(SnapshotTask(50 * MS, "ask"), capacity=2)
    (snapshot,) = result.snapshots
    assert snapshot.taken_ns == 100 * MS
    assert snapshot.operators[0].elements == (StreamRecord(2, 2), Watermark(2))
    assert not any(one.inside for one in snapshot.operators)


def test_snapshot_request_finds_task_by_vertex_operator_or_subtask() -> None:
    result, _ = run(
        SnapshotTask(7 * MS, "Sink: Unnamed"), SnapshotTask(5 * MS, "ask -> Sink: Unnamed", 1),
        SnapshotTask(6 * MS, "Source: source"), parallelism=2,
    )  # fmt: skip
    reported = [(one.task, one.requested_ns // MS) for one in result.snapshots]
    first, second = "ask -> Sink: Unnamed (1/2)", "ask -> Sink: Unnamed (2/2)"
    assert reported == [(second, 5), ("Source: source (1/1)", 6), (first, 7), (second, 7)]
    assert all(one.taken_ns == one.requested_ns for one in result.snapshots)


def test_same_snapshot_may_be_requested_twice() -> None:
    once = SnapshotTask(5 * MS, "ask")
    assert [one.taken_ns for one in run(once, once)[0].snapshots] == [5 * MS, 5 * MS]


def test_legacy_source_takes_snapshot_between_elements() -> None:
    result, _ = run(SnapshotTask(50 * MS, "Source: source"), legacy_source=True)
    (snapshot,) = result.snapshots
    assert (snapshot.taken_ns, snapshot.operators[0].records_in) == (50 * MS, 3)


@pytest.mark.parametrize(
    ("actions", "reason"),
    [
        ((SnapshotTask(900 * MS, "ask"),), "the job had already ended"),
        ((SnapshotTask(20 * MS, "ask"), CancelJob(10 * MS)), "the job had already ended"),
        ((SnapshotTask(50 * MS, "ask"), CancelJob(60 * MS)), "the task was already CANCELED"),
    ],
    ids=["after the end", "after a cancellation", "of a task that was busy to its end"],
)
def test_missed_snapshot_has_reason(actions: tuple[RunAction, ...], reason: str) -> None:
    result, recorder = run(*actions, capacity=2)
    (snapshot,) = result.snapshots
    assert (snapshot.taken_ns, snapshot.operators, snapshot.missed) == (None, (), reason)
    assert recorder.rows("snapshots") == []


def test_snapshot_of_finished_task_is_missed() -> None:
    job = SmallJob()
    job.sink(job.script([record(1)]), by="REBALANCE", cost_ns=500 * MS)
    (snapshot,) = job.run(actions=(SnapshotTask(400 * MS, "source"),)).snapshots
    assert (snapshot.requested_ns, snapshot.missed) == (400 * MS, "the task was already FINISHED")


def test_snapshot_of_finished_legacy_operator_is_missed() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().configure(buffer_timeout_ms=0, cost_ns=0)
    stream = env.add_source(ScriptedSource([record(1, 1)]), "source").rebalance()
    calls = ScriptedCalls(lambda value, _: Reply(5, (value,)))
    asked = AsyncDataStream.ordered_wait(stream, calls, Duration.of_millis(0), 5, design="legacy").name("ask")
    asked.rebalance().map(lambda value: value).cost(500 * MS).sink_to(CollectSink())
    result = MiniCluster(env.stream_graph(), RunOptions(actions=(SnapshotTask(400 * MS, "ask"),))).run()
    assert [one.missed for one in result.snapshots] == ["the task was already FINISHED"]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            SnapshotTask(5, "asked"),
            "snapshot: no task or operator 'asked'; there are: Source: source, ask, Sink: Unnamed",
        ),
        (SnapshotTask(5, "ask", 2), "snapshot of 'ask': subtask: expected 0 to 0, got 2"),
        (SnapshotTask(-5, "ask"), "SnapshotTask.at_ns: expected 0 ns or more, got -5"),
    ],
)
def test_snapshot_of_unknown_task_is_refused(action: SnapshotTask, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        run(action)
