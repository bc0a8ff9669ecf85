"""Stopping a job, with and without drain, and cancelling it: the effects on operators, channels and sinks."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import CancelJob, RunAction, StopJob
from flowsim.connectors.files.text_sinks import CsvSink
from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import record, sleep, watermark
from flowsim.connectors.source import BlockReader
from flowsim.datastream import DataStream, StreamExecutionEnvironment
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.datastream.functions import CoMapFunction
from flowsim.errors import BadInput
from flowsim.facts.kinds import ElementKind, Level, LifeEvent
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.sources.source_output import SourceOutput
from flowsim.operators.stream_operator import DataInputStatus
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import MAX_WATERMARK, NS_PER_MS
from tests.support.jobs.event_log import Log, LogsLifeCycle
from tests.support.jobs.small_jobs import SmallJob

AT = 5 * NS_PER_MS


def logging_job(log: Log, **settings: object) -> SmallJob:
    """An endless source -> a -> b  --FORWARD-->  c -> d."""
    job = SmallJob(**settings)
    before = job.values(lambda _: count())
    for name in "abcd":
        before = job.operator(before, name, "diary", lambda: LogsLifeCycle(log), chain=name != "c")
    return job


def sent_ends(recorder: MemoryRecorder) -> list[tuple[int, str, int]]:
    """(task, kind, mode) of the ends that tasks sent."""
    return [
        (row[1], ElementKind(row[5]).name, row[6])
        for row in sorted(recorder.rows("sent"))
        if row[5] >= ElementKind.END_OF_DATA
    ]


def life_of(recorder: MemoryRecorder, task: int) -> list[str]:
    rows = sorted(row for row in recorder.rows("lifecycle") if row[1] == task)
    return [f"{LifeEvent(event).name} {operator}" for _, _, operator, _, event in rows]


def laws_hold(recorder: MemoryRecorder, status: str) -> None:
    assert [o for o in check_all(recorder, status) if o.verdict is Verdict.VIOLATED] == []


def test_stop_with_drain_equals_end_of_input() -> None:
    """Rules 4.9 to 4.13, 4.20."""
    log: Log = []
    recorder = MemoryRecorder(Level.FULL)
    result = logging_job(log).run(actions=(StopJob(AT, drain=True),), recorder=recorder)
    assert result.status is JobStatus.FINISHED
    assert [task.state for task in result.tasks] == ["FINISHED", "FINISHED"]
    ends = [("max watermark", name) for name in "ab"] + [
        (step, name) for name in "ab" for step in ("end_input", "finish")
    ]
    assert [(step, name) for name, step in log if name in "ab"] == [
        ("open", "b"), ("open", "a"), *ends, ("close", "b"), ("close", "a")
    ]  # fmt: skip
    assert sent_ends(recorder) == [(0, "END_OF_DATA", 1), (0, "END_OF_PARTITION", 0)]
    assert life_of(recorder, 0)[4:8] == ["RUNNING -1", "STOP_WITH_DRAIN -1", "FINISH 0", "END_INPUT 1"]
    laws_hold(recorder, "complete")


def test_stop_without_drain_finishes_no_operator_and_closes_all() -> None:
    """Rules 4.10 to 4.12, 4.20: no MAX_WATERMARK, no end of input, no finish, but both ends of every channel."""
    log: Log = []
    recorder = MemoryRecorder(Level.FULL)
    result = logging_job(log).run(actions=(StopJob(AT),), recorder=recorder)
    assert result.status is JobStatus.FINISHED
    assert log == [(name, "open") for name in "badc"] + [(name, "close") for name in "badc"]
    assert sent_ends(recorder) == [(0, "END_OF_DATA", 0), (0, "END_OF_PARTITION", 0)]
    assert life_of(recorder, 0)[5:] == ["STOP_NO_DRAIN -1", "CLOSE 2", "CLOSE 1", "CLOSE 0", "FINISHED -1"]
    laws_hold(recorder, "complete")


@pytest.mark.parametrize("drain", [True, False])
def test_records_sent_before_stop_arrive(drain: bool) -> None:
    job = SmallJob()
    arrivals = job.sink(job.values(lambda _: count()), by="REBALANCE", parallelism=2)
    result = job.run(actions=(StopJob(AT, drain),))
    assert sorted(arrivals.values) == list(range(result.records_read))
    assert result.records_read == 5_000, "5 ms at 1 us a record: a batch ends when the stop is due"


def test_cancelled_job_finishes_no_operator_and_closes_all() -> None:
    """Rules 4.23, 4.24, 4.26: no task gets an EndOfPartition."""
    log: Log = []
    recorder = MemoryRecorder(Level.FULL)
    result = logging_job(log).run(actions=(CancelJob(AT),), recorder=recorder)
    assert (result.status, result.error, result.elapsed_ns) == (JobStatus.CANCELED, None, AT)
    assert [task.state for task in result.tasks] == ["CANCELED", "CANCELED"]
    assert sorted(log) == sorted((name, step) for name in "abcd" for step in ("open", "close"))
    assert sent_ends(recorder) == []
    assert life_of(recorder, 1) == [
        "INITIALIZING -1", "OPEN 1", "OPEN 0", "RUNNING -1", "CANCELING -1", "CLOSE 1", "CLOSE 0", "CANCELED -1",
    ]  # fmt: skip
    laws_hold(recorder, "canceled")


def test_cancelled_tasks_that_never_ran_open_no_operator() -> None:
    log: Log = []
    recorder = MemoryRecorder(Level.FULL)
    assert logging_job(log).run(actions=(CancelJob(0),), recorder=recorder).status is JobStatus.CANCELED
    assert log == []
    assert [life_of(recorder, task) for task in (0, 1)] == [["CANCELED -1"], ["CANCELED -1"]]
    laws_hold(recorder, "canceled")


def test_stop_at_time_zero_ends_source_before_first_record() -> None:
    job = SmallJob()
    arrivals = job.sink(job.values(lambda _: count()), by="REBALANCE")
    result = job.run(actions=(StopJob(0, drain=True),))
    assert (result.status, arrivals.values, arrivals.watermarks) == (JobStatus.FINISHED, [], [(0, MAX_WATERMARK)])


class SilentReader(BlockReader):
    """Waits for a wake-up that never comes."""

    def __init__(self) -> None:
        super().__init__(lambda ctx: iter(()))

    def poll_next(self, output: SourceOutput) -> DataInputStatus:
        return DataInputStatus.NOTHING_AVAILABLE


def test_stop_wakes_source_without_data() -> None:
    """Rule 4.20: the availability of the source is forced."""
    job = SmallJob()
    arrivals = job.sink(job.source(lambda: SourceOperator(SilentReader())), by="REBALANCE")
    result = job.run(actions=(StopJob(AT, drain=True),))
    assert (result.status, result.elapsed_ns) == (JobStatus.FINISHED, AT)
    assert arrivals.watermarks == [(0, MAX_WATERMARK)]


def test_stop_ends_sleeping_source_at_once() -> None:
    job = SmallJob(cost_ns=0)
    arrivals = job.sink(job.script([record(1), sleep(60_000), record(2)]), by="REBALANCE")
    result = job.run(actions=(StopJob(AT),))
    assert (arrivals.values, result.elapsed_ns) == ([1], AT)


def test_stop_of_back_pressured_source_ends_data_after_output_is_available() -> None:
    """Rules 4.6, 4.20: the mail runs at once, the default action only after the output is available."""
    recorder = MemoryRecorder(Level.FULL)
    job = SmallJob(segment_size_bytes=64, cost_ns=0)
    arrivals = job.sink(job.values(lambda _: count(), cost_ns=1000), by="REBALANCE", cost_ns=NS_PER_MS)
    result = job.run(actions=(StopJob(20 * NS_PER_MS),), recorder=recorder)
    stopped_ns = next(row[3] for row in recorder.rows("lifecycle") if row[4] == LifeEvent.STOP_NO_DRAIN)
    ended_ns = next(row[2] for row in recorder.rows("sent") if row[5] == ElementKind.END_OF_DATA)
    assert ended_ns > stopped_ns
    assert arrivals.values == list(range(result.records_read))
    laws_hold(recorder, "complete")


def test_second_stop_and_stop_of_ended_source_do_nothing() -> None:
    recorder = MemoryRecorder(Level.FULL)
    job = SmallJob(cost_ns=0)
    slow = job.operator(job.script([record(1)]), "slow", "diary", lambda: LogsLifeCycle([]), chain=False, cost_ns=AT)
    endless = job.values(lambda _: count(), cost_ns=1000)
    job.sink([slow, endless], by="REBALANCE")
    actions = (StopJob(AT, drain=True), StopJob(AT, drain=False), StopJob(2 * AT))
    assert job.run(actions=actions, recorder=recorder).status is JobStatus.FINISHED
    stops = [
        row for row in recorder.rows("lifecycle") if row[4] in (LifeEvent.STOP_WITH_DRAIN, LifeEvent.STOP_NO_DRAIN)
    ]
    assert [LifeEvent(row[4]).name for row in stops] == ["STOP_WITH_DRAIN"]


def test_stop_after_job_end_does_nothing() -> None:
    job = SmallJob()
    job.sink(job.script([record(1), watermark(1)]))
    result = job.run(actions=(StopJob(10**12), CancelJob(10**13)))
    assert result.status is JobStatus.FINISHED
    assert result.elapsed_ns < NS_PER_MS


def test_cancel_ends_job_before_deadlock_is_reported() -> None:
    """Its time comes before the job could be called deadlocked."""
    job = SmallJob()
    job.sink(job.source(lambda: SourceOperator(SilentReader())), by="REBALANCE")
    assert job.run(actions=(CancelJob(AT),)).status is JobStatus.CANCELED


def test_cancel_reaches_task_in_hard_wait() -> None:
    """Rule 4.23: where Flink interrupts a thread that waits for a buffer."""
    recorder = MemoryRecorder(Level.FULL)
    job = SmallJob(segment_size_bytes=16, overdraft_buffers=0, cost_ns=0)
    many = job.flat_map(job.values(lambda _: [0]), lambda _: (n for n in range(100_000)))
    job.sink(many, by="REBALANCE", cost_ns=NS_PER_MS)
    result = job.run(actions=(CancelJob(50 * NS_PER_MS),), recorder=recorder)
    assert result.status is JobStatus.CANCELED
    assert result.tasks[0].hard_backpressured_ns > 40 * NS_PER_MS
    laws_hold(recorder, "canceled")


def endless(env: StreamExecutionEnvironment, name: str) -> DataStream:
    source = GeneratorSource(None, {"n": SequenceOf(0, 1, None)})
    return env.from_source(source, WatermarkStrategy.no_watermarks(), name)


def csv_job(folder: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    endless(env, "numbers").rebalance().sink_to(CsvSink(folder, {"n": "long"}))
    return env


@pytest.mark.parametrize(
    ("action", "parts"),
    [(StopJob(AT, drain=True), 1), (StopJob(AT), 1), (CancelJob(AT), 0)],
    ids=["stop with drain", "stop", "cancel"],
)
def test_files_are_committed_after_stop_and_discarded_after_cancel(
    tmp_path: Path, action: RunAction, parts: int
) -> None:
    """The savepoint of a stop commits what sinks hold in Flink, drained or not; what a cancelled job holds is lost."""
    env = csv_job(tmp_path)
    MiniCluster(env.stream_graph(), RunOptions(actions=(action,))).run()
    assert len([path for path in tmp_path.iterdir() if not path.name.startswith(".")]) == parts
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (StopJob(-1), r"StopJob.at_ns: expected 0 ns or more, got -1"),
        (CancelJob(1.5), r"CancelJob.at_ns: expected 0 ns or more, got 1.5"),  # type: ignore[arg-type]
        ("stop", r"expected StopJob, CancelJob, TriggerCheckpoint, "),
    ],
)
def test_invalid_actions_are_refused(action: RunAction, message: str) -> None:
    job = SmallJob()
    job.sink(job.script([record(1)]))
    with pytest.raises(BadInput, match=message):
        job.run(actions=(action,))


class Both(CoMapFunction):
    """Passes on what comes, from either side."""

    def map1(self, value: object) -> object:
        return value

    def map2(self, value: object) -> object:
        return value


def test_two_input_task_forwards_stop_without_end_of_data() -> None:
    """Rule 4.22: the quirk of several inputs; the sink behind it ends by END_OF_PARTITION alone."""
    env = StreamExecutionEnvironment.get_execution_environment()
    endless(env, "one").connect(endless(env, "two")).map(Both()).rebalance().sink_to(CollectSink())
    recorder = MemoryRecorder(Level.FULL)
    result = MiniCluster(env.stream_graph(), RunOptions(actions=(StopJob(AT),), recorder=recorder)).run()
    assert result.status is JobStatus.FINISHED
    by_both = [(kind, mode) for task, kind, mode in sent_ends(recorder) if task == 2]
    assert by_both == [("END_OF_PARTITION", 0)]
    assert "FINISH 0" not in life_of(recorder, 2)
    laws_hold(recorder, "complete")
