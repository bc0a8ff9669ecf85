"""The life cycle of tasks and operators: opened tail first, finished head first, closed once, for every end of a job."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Iterator
from itertools import count

import pytest
from greenlet import GreenletExit

from flowsim.cluster.job_execution import JobStatus, RunOptions
from flowsim.cluster.mini_cluster import execute
from flowsim.connectors.script import record, watermark
from flowsim.errors import Deadlock, JobFailed
from flowsim.facts.kinds import ElementKind, Level, LifeEvent
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.sources.source_output import SourceOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext, StreamOperator
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.tasks.task_state import TaskState
from flowsim.units import MAX_WATERMARK, NS_PER_MS
from tests.support.greenlets import no_greenlet_is_left
from tests.support.jobs.event_log import Log, LogsLifeCycle
from tests.support.jobs.small_jobs import SmallJob


@pytest.fixture(autouse=True, scope="module")
def every_greenlet_ends() -> Iterator[None]:
    """However the jobs of these tests end."""
    with no_greenlet_is_left():
        yield


class LogsRecords(LogsLifeCycle):
    """Notes the records, too, and as which subtask; says goodbye downstream; fails at the steps that ``fails`` names."""

    def __init__(self, log: Log, fails: Callable[[str, object], bool] = lambda step, value: False) -> None:
        super().__init__(log)
        self.fails = fails

    def note(self, step: str, value: object = None) -> None:
        self.log.append((f"{self.ctx.operator_name}/{self.ctx.subtask_index}", step))
        if self.fails(step, value):
            raise ValueError(f"no {step} today")

    def note_record(self, value: object) -> None:
        self.note(f"record {value}", value)

    def finish(self) -> None:
        super().finish()
        self.output.collect(f"bye from {self.ctx.operator_name}", None)


def logging_job(
    log: Log, fails: Callable[[str, object], bool] = lambda step, value: False, who_fails: str = "b", **settings: object
) -> SmallJob:
    """source -> a -> b  --FORWARD-->  c -> d, with one record and one watermark."""
    job = SmallJob(**settings)
    before = job.script([record(1, 5), watermark(5)])
    for name in "abcd":

        def make(name: str = name) -> StreamOperator:
            return LogsRecords(log, fails) if name == who_fails else LogsRecords(log)

        before = job.operator(before, name, "diary", make, chain=name != "c")
    return job


def of(log: Log, *operators: str) -> Log:
    return [(name[0], step) for name, step in log if name[0] in operators]


def test_operators_open_tail_to_head_and_finish_head_to_tail() -> None:
    """Rules 4.2, 4.9 to 4.13, 4.17; the source of a and b emits MAX_WATERMARK, c and d get it as an element."""
    log: Log = []
    logging_job(log).run()
    assert of(log, "a", "b") == [
        ("b", "open"), ("a", "open"),
        ("a", "record 1"), ("b", "record 1"), ("a", "watermark 5"), ("b", "watermark 5"),
        ("a", "max watermark"), ("b", "max watermark"),
        ("a", "end_input"), ("a", "finish"), ("b", "record bye from a"), ("b", "end_input"), ("b", "finish"),
        ("b", "close"), ("a", "close"),
    ]  # fmt: skip
    assert of(log, "c", "d") == [
        ("d", "open"), ("c", "open"),
        ("c", "record 1"), ("d", "record 1"), ("c", "watermark 5"), ("d", "watermark 5"),
        ("c", "max watermark"), ("d", "max watermark"),
        ("c", "record bye from a"), ("d", "record bye from a"), ("c", "record bye from b"), ("d", "record bye from b"),
        ("c", "end_input"), ("c", "finish"), ("d", "record bye from c"), ("d", "end_input"), ("d", "finish"),
        ("d", "close"), ("c", "close"),
    ]  # fmt: skip


def branches(log: Log) -> SmallJob:
    """source -> a -> (b -> d, c), with one record; a also feeds e over the network."""
    job = SmallJob()
    added = {"source": job.script([record(1, 5)])}
    for name, before in (("a", "source"), ("b", "a"), ("c", "a"), ("d", "b"), ("e", "a")):
        added[name] = job.operator(added[before], name, "diary", lambda: LogsRecords(log), chain=name != "e")
    return job


def test_last_branch_of_chain_finishes_first_and_opens_last() -> None:
    """Rules 4.2, 4.12: every operator before its consumers; Flink links the operators depth first, from the tail."""
    log: Log = []
    branches(log).run()
    in_chain = of(log, *"abcd")
    assert [name for name, step in in_chain if step == "open"] == ["d", "b", "c", "a"]
    assert [name for name, step in in_chain if step == "finish"] == ["a", "c", "b", "d"]
    assert [name for name, step in in_chain if step == "close"] == ["d", "b", "c", "a"]


def test_record_is_sent_to_network_before_chained_operator() -> None:
    """Rule 5.9, 5.42: c stands still on 1 until the network has taken it."""
    log: Log = []
    recorder = MemoryRecorder(Level.FULL)
    job = SmallJob(cost_ns=1000)
    source = job.script([record(1, 5)])
    job.operator(source, "chained", "diary", lambda: LogsRecords(log))
    job.operator(source, "far", "diary", lambda: LogsRecords(log), chain=False)
    job.run(recorder=recorder)
    columns = recorder.columns("sent")
    kind, at = columns.index("kind"), columns.index("time_ns")
    (sent_ns,) = (row[at] for row in recorder.rows("sent") if row[kind] == ElementKind.RECORD)
    assert sent_ns == START_NS + 1000, "the cost of the source, and not yet that of the chained operator"


class LateMail(LogsRecords):
    """Its ``finish`` leaves a mail behind that emits."""

    def finish(self) -> None:
        self.note("finish")
        self.ctx.mailbox_executor.execute(lambda: self.output.collect("from a mail", None), "late mail")


def test_mails_put_by_finish_run_before_next_operator_ends() -> None:
    """Rule 4.12: otherwise their records would come after end_input, or after EndOfData."""
    log: Log = []
    job = SmallJob()
    first = job.operator(job.script([]), "a", "diary", lambda: LateMail(log))
    last = job.operator(first, "b", "diary", lambda: LateMail(log))
    job.operator(last, "c", "diary", lambda: LogsRecords(log), chain=False)
    assert job.run().status is JobStatus.FINISHED
    ends = [entry for entry in of(log, *"abc") if entry[1] in ("record from a mail", "end_input", "finish")]
    assert ends == [
        ("a", "end_input"), ("a", "finish"), ("b", "record from a mail"),
        ("b", "end_input"), ("b", "finish"),
        ("c", "record from a mail"), ("c", "record from a mail"), ("c", "end_input"), ("c", "finish"),
    ]  # fmt: skip


def test_operators_close_between_end_of_data_and_end_of_partition() -> None:
    """Rules 4.2, 4.9, 4.14, 4.18: what the channel and the life-cycle table of the sender say, in their order."""
    recorder = MemoryRecorder(Level.FULL)
    logging_job([]).run(recorder=recorder)
    steps = [(row[0], f"{ElementKind(row[5]).name} {row[6]}") for row in recorder.rows("sent")]
    steps += [
        (seq, f"{LifeEvent(event).name} {operator}")
        for seq, task, operator, _, event in recorder.rows("lifecycle") if task == 0
    ]  # fmt: skip
    none = -(2**63)
    assert [step for _, step in sorted(steps)] == [
        "INITIALIZING -1", "OPEN 2", "OPEN 1", "OPEN 0", "RUNNING -1",
        "RECORD 5", "WATERMARK 5", f"WATERMARK {MAX_WATERMARK}",
        "FINISH 0", "END_INPUT 1", f"RECORD {none}", "FINISH 1", "END_INPUT 2", f"RECORD {none}", "FINISH 2",
        "END_OF_DATA 1", "CLOSE 2", "CLOSE 1", "CLOSE 0", "END_OF_PARTITION 0", "FINISHED -1",
    ]  # fmt: skip


def test_network_task_ends_after_all_channels_end() -> None:
    """Rules 7.7, 7.13: two sources, one of which goes on for a second more."""
    log: Log = []
    job = SmallJob(cost_ns=0)
    early, late = job.values(lambda _: [1]), job.values(lambda _: range(2), cost_ns=500 * NS_PER_MS)
    job.operator([early, late], "u", "diary", lambda: LogsRecords(log))
    result = job.run()
    assert [step for _, step in log] == [
        "open", "record 1", "record 0", "record 1", "max watermark", "end_input", "finish", "close",
    ]  # fmt: skip
    assert result.elapsed_ns == 1_000 * NS_PER_MS


@pytest.mark.parametrize("step", ["open", "record 1", "watermark 5", "end_input", "finish", "close"])
@pytest.mark.parametrize("operator", ["b", "c", "d"])
def test_failure_names_task_and_operator_and_closes_opened_operators_once(step: str, operator: str) -> None:
    """Rules 4.24, 4.26."""
    log: Log = []
    job = logging_job(log, lambda at, value: at == step, operator)
    cluster = job.cluster()
    result = cluster.run()
    task = "source -> a -> b (1/1)" if operator == "b" else "c -> d (1/1)"
    assert result.status is JobStatus.FAILED
    assert isinstance(result.error, JobFailed)
    assert (result.error.task, result.error.operator) == (task, operator)
    assert re.search(rf"ValueError: no {step} today \((event_log|test_life_cycle)\.py:\d+\)$", str(result.error))
    if step == "record 1":
        assert result.error.record == "1 @ 5"
    opened = [name for name, at in log if at == "open"]
    closed = [name for name, at in log if at == "close"]
    assert sorted(closed) == sorted(opened)
    states = {each.name: each.state for each in (cluster.deployment.tasks if cluster.deployment else ())}
    assert states.pop(task) is TaskState.FAILED
    assert list(states.values()) == [TaskState.FINISHED if step == "close" and operator != "b" else TaskState.CANCELED]


def test_execute_raises_job_failure_with_cause() -> None:
    job = logging_job([], lambda at, value: value == 1)
    with pytest.raises(
        JobFailed, match=r"task source -> a -> b \(1/1\), operator b, record 1 @ 5: ValueError: no record 1"
    ) as failed:
        execute(job.graph, RunOptions())
    assert isinstance(failed.value.__cause__, ValueError)


def test_failure_in_close_does_not_hide_first_failure() -> None:
    log: Log = []
    result = logging_job(log, lambda at, value: at in ("record 1", "close")).run()
    assert isinstance(result.error, JobFailed)
    assert str(result.error.cause) == "no record 1 today"
    assert "closing source -> a -> b (1/1) failed too" in "".join(result.error.cause.__notes__)
    assert ("a/0", "close") in log


@pytest.mark.parametrize("exit_type", [SystemExit, asyncio.CancelledError, GreenletExit, GeneratorExit, StopIteration])
@pytest.mark.parametrize("by", ["FORWARD", "REBALANCE"])
def test_exit_exception_of_user_function_fails_its_task(exit_type: type[BaseException], by: str) -> None:
    """No task waits for one that asyncio or greenlet took for cancelled, and the program continues."""

    def leave(value: object) -> list[object]:
        if value == 3:
            raise exit_type("enough")
        return [value]

    job = SmallJob()
    job.sink(job.flat_map(job.values(lambda _: range(9)), leave), by=by)
    result = job.run()
    assert result.status is JobStatus.FAILED
    assert isinstance(result.error, JobFailed)
    assert (result.error.operator, result.error.record) == ("flat_map", "3")
    assert f"{exit_type.__name__}: enough (test_life_cycle.py:" in str(result.error)


def test_exit_exception_in_close_hides_no_failure_and_closes_all() -> None:
    log: Log = []

    def fails(at: str, value: object) -> bool:
        if at == "close":
            raise SystemExit(9)
        return at == "record 1"

    result = logging_job(log, fails, "b").run()
    assert isinstance(result.error, JobFailed)
    assert str(result.error.cause) == "no record 1 today"
    assert "failed too: SystemExit(9)" in "".join(result.error.cause.__notes__)
    assert ("a/0", "close") in log


def test_failure_cancels_task_blocked_on_full_output() -> None:
    """The source stands inside a hard wait when the sink fails."""
    log: Log = []
    job = SmallJob(segment_size_bytes=16, overdraft_buffers=0)
    many = job.flat_map(job.values(lambda _: [0]), lambda _: (n for n in range(100_000)))
    job.operator(
        many,
        "sink",
        "diary",
        lambda: LogsRecords(log, lambda step, value: value == 50),
        chain=False,
        cost_ns=NS_PER_MS,
    )
    cluster = job.cluster()
    result = cluster.run()
    assert isinstance(result.error, JobFailed)
    assert result.error.record == "50"
    assert [task.state for task in result.tasks] == ["CANCELED", "FAILED"]
    assert log[-1] == ("sink/0", "close")


def test_stop_at_time_cancels_tasks_and_closes_operators() -> None:
    log: Log = []
    job = SmallJob()
    job.operator(job.values(lambda _: count()), "sink", "diary", lambda: LogsRecords(log), by="REBALANCE")
    result = job.run(until_ns=7 * NS_PER_MS)
    assert (result.status, result.elapsed_ns) == (JobStatus.STOPPED, 7 * NS_PER_MS)
    assert [task.state for task in result.tasks] == ["CANCELED", "CANCELED"]
    assert log[-1] == ("sink/0", "close")
    assert "finish" not in {step for _, step in log}


def test_ctrl_c_closes_operators_and_raises_keyboard_interrupt() -> None:
    log: Log = []

    def interrupt(step: str, value: object) -> bool:
        if value == 1_000:
            signal.raise_signal(signal.SIGINT)
        return False

    job = SmallJob()
    job.operator(job.values(lambda _: count()), "sink", "diary", lambda: LogsRecords(log, interrupt), by="REBALANCE")
    with pytest.raises(KeyboardInterrupt):
        job.run()
    assert [step for _, step in log].count("close") == 1


class SilentReader:
    """Emits one record and then waits for a wake-up that never comes."""

    hands_over = True
    wake_time_ns = None

    def __init__(self) -> None:
        self.emitted = False

    def open(self, ctx: OperatorContext) -> None:
        self.emitted = False

    def poll_next(self, output: SourceOutput) -> DataInputStatus:
        if not self.emitted:
            self.emitted = True
            output.collect("only", None)
        return DataInputStatus.NOTHING_AVAILABLE

    def close(self) -> None:
        self.emitted = True


def test_deadlock_report_names_waiting_tasks_and_their_waits() -> None:
    job = SmallJob()
    arrivals = job.sink(job.source(lambda: SourceOperator(SilentReader())), by="REBALANCE", parallelism=2)
    result = job.run()
    assert result.status is JobStatus.DEADLOCKED
    assert isinstance(result.error, Deadlock)
    assert arrivals.values == ["only"]
    queued = "output 1 buffer queued for channels 0.. (pool 1 of 12 used)"
    assert str(result.error).splitlines() == [
        "the job is deadlocked: nothing can run, and these tasks wait:",
        f"source (1/1) waits for input; mailbox 0 mails, input 0 buffers, {queued}",
        "sink (1/2) waits for input; mailbox 0 mails, input 0 buffers, output none",
        "sink (2/2) waits for input; mailbox 0 mails, input 0 buffers, output none",
    ]
    with pytest.raises(Deadlock):
        execute(job.graph, RunOptions())


def test_deadlock_report_names_priority_of_awaited_mail() -> None:
    class Yielder(LogsRecords):
        def process_element(self, value: object, timestamp: int | None) -> None:
            self.ctx.mailbox_executor.yield_()

    log: Log = []
    job = SmallJob()
    job.operator(job.values(lambda _: [1]), "y", "diary", lambda: Yielder(log), chain=False)
    result = job.run()
    assert result.status is JobStatus.DEADLOCKED
    assert "y (1/1) waits for a mail of priority 1 or above" in result.report
    assert log[-1] == ("y/0", "close")


def test_empty_source_sends_max_watermark_and_both_end_events() -> None:
    """Section 4, edge cases."""
    recorder = MemoryRecorder(Level.ELEMENTS)
    job = SmallJob()
    job.sink(job.values(lambda _: []), by="REBALANCE", parallelism=2)
    job.run(recorder=recorder)
    kinds = [(row[3], ElementKind(row[5]).name) for row in recorder.rows("received")]
    assert sorted(kinds) == sorted(
        (channel, kind) for channel in (0, 1) for kind in ("WATERMARK", "END_OF_DATA", "END_OF_PARTITION")
    )
