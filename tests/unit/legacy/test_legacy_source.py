"""The task of a source function: its own loop, one lock, no overdraft, and an end through the mailbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from greenlet import GreenletExit

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import CancelJob, RunAction, StopJob
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, end, idle, record, sleep, watermark
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.errors import BadInput, JobFailed
from flowsim.facts.kinds import ActionKind, ActionPhase, ElementKind, Level, LifeEvent, WaitKind
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.legacy.source_function import LegacySource, ParallelSourceFunction, SourceContext, SourceFunction
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.units import MAX_WATERMARK, NS_PER_MS

Body = Callable[["Loop", SourceContext], None]


class Loop(SourceFunction):
    """Runs the body of a test."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.running = True

    def run(self, ctx: SourceContext) -> None:
        self.body(self, ctx)

    def cancel(self) -> None:
        self.running = False


def env_of(**settings: object) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.configure(buffer_timeout_ms=0, **settings)


def run(
    env: StreamExecutionEnvironment, status: str = "complete", **options: object
) -> tuple[JobExecutionResult, MemoryRecorder]:
    recorder = MemoryRecorder(Level.FULL)
    result = MiniCluster(env.stream_graph(), RunOptions(recorder=recorder, **options)).run()  # type: ignore[arg-type]
    assert [o for o in check_all(recorder, status) if o.verdict is Verdict.VIOLATED] == []
    return result, recorder


def job(body: Body, **settings: object) -> tuple[StreamExecutionEnvironment, CollectSink]:
    """function -> (chained) map  --REBALANCE-->  sink."""
    env, sink = env_of(**settings), CollectSink()
    env.add_source(Loop(body), "f").map(lambda v: v).rebalance().sink_to(sink)
    return env, sink


def elements(recorder: MemoryRecorder) -> list[tuple[str, int]]:
    """Kind and timestamp of what the source's task sent."""
    return [(ElementKind(row[5]).name, row[6]) for row in sorted(recorder.rows("sent"))]


def test_returning_function_ends_job_with_drain() -> None:
    """Rules 4.9, 4.10: its end is a mail of the task."""

    def body(me: Loop, ctx: SourceContext) -> None:
        ctx.collect_with_timestamp("a", 5)
        ctx.emit_watermark(5)

    env, sink = job(body)
    result, recorder = run(env)
    assert (result.status, result.records_read, sink.records()) == (JobStatus.FINISHED, 1, [("a", 5)])
    assert elements(recorder) == [
        ("RECORD", 5), ("WATERMARK", 5), ("WATERMARK", MAX_WATERMARK), ("END_OF_DATA", 1), ("END_OF_PARTITION", 0),
    ]  # fmt: skip
    life = sorted(row for row in recorder.rows("lifecycle") if row[1] == 0)
    assert [f"{LifeEvent(row[4]).name} {row[2]}" for row in life] == [
        "INITIALIZING -1", "OPEN 1", "OPEN 0", "RUNNING -1", "FINISH 0", "END_INPUT 1", "FINISH 1", "CLOSE 1", "CLOSE 0",
        "FINISHED -1",
    ]  # fmt: skip


def test_record_without_timestamp_repeats_previous_timestamp() -> None:
    """Flink reuses one stream record."""

    def body(me: Loop, ctx: SourceContext) -> None:
        ctx.collect("a")
        ctx.collect_with_timestamp("b", 7)
        ctx.collect("c")

    env, sink = job(body)
    run(env)
    assert sink.records() == [("a", None), ("b", 7), ("c", 7)]


def test_record_after_idle_emits_active_status_first() -> None:
    def body(me: Loop, ctx: SourceContext) -> None:
        ctx.mark_as_temporarily_idle()
        ctx.collect("a")

    env, _ = job(body)
    _, recorder = run(env)
    assert elements(recorder)[:3] == [("STATUS", -1), ("STATUS", 0), ("RECORD", -(2**63))]


def test_mail_runs_between_records_of_function_that_never_pauses() -> None:
    """The lock is free between records; a marker is due every millisecond, and each record takes 100 us."""

    def body(me: Loop, ctx: SourceContext) -> None:
        for n in range(30):
            ctx.collect(n)

    env, _ = job(body, cost_ns=50_000, latency_interval_ms=1)
    _, recorder = run(env)
    kinds = [kind for kind, _ in elements(recorder)]
    at = [index for index, kind in enumerate(kinds) if kind == "LATENCY_MARKER"]
    assert at == [0, 11, 22, 33], "one before the first record, then one after every ten"


def test_no_mail_runs_while_function_holds_lock() -> None:
    """What is emitted inside is one piece: all marker mails wait."""

    def body(me: Loop, ctx: SourceContext) -> None:
        with ctx.get_checkpoint_lock():
            for n in range(30):
                ctx.collect(n)

    env, _ = job(body, cost_ns=50_000, latency_interval_ms=1)
    _, recorder = run(env)
    kinds = [kind for kind, _ in elements(recorder)]
    assert kinds[:32] == ["LATENCY_MARKER", *["RECORD"] * 30, "LATENCY_MARKER"], "the first was there before the lock"


@pytest.mark.parametrize("inside", [True, False], ids=["inside the lock", "outside of it"])
def test_sleep_inside_lock_delays_mails(inside: bool) -> None:
    def body(me: Loop, ctx: SourceContext) -> None:
        if inside:
            with ctx.get_checkpoint_lock():
                ctx.sleep(10)
        else:
            ctx.sleep(10)

    env, _ = job(body, cost_ns=0, latency_interval_ms=3)
    _, recorder = run(env)
    marked = sorted(row[6] - START_NS // NS_PER_MS for row in recorder.rows("latencies") if row[1] == 0)
    assert marked == ([0, 10, 10, 10] if inside else [0, 3, 6, 9])


def test_function_waiting_for_buffer_holds_lock() -> None:
    """Rules 5.40, 5.42: no overdraft, and the wait is inside an action of the task."""

    def body(me: Loop, ctx: SourceContext) -> None:
        for n in range(400):
            ctx.collect(n)

    env, sink = env_of(segment_size_bytes=64, cost_ns=0, latency_interval_ms=1), CollectSink()
    stream = env.add_source(Loop(body), "f").rebalance().map(lambda v: v)
    stream.cost(NS_PER_MS).sink_to(sink)
    result, recorder = run(env)
    assert sink.values() == list(range(400))
    source = result.tasks[0]
    assert source.hard_backpressured_ns > 100 * NS_PER_MS
    assert source.soft_backpressured_ns == 0
    assert [row[7] for row in recorder.static_rows("pools") if row[2] == 0] == [0], "overdraft of its output pool"
    waits = [row for row in recorder.rows("actions") if row[1] == 0]
    blocked = [row[3] for row in waits if row[4] == WaitKind.BUFFER and row[3] >= ActionPhase.WAIT]
    assert blocked, "it waited"
    assert blocked == [ActionPhase.WAIT, ActionPhase.RESUME] * (len(blocked) // 2), "and nothing came between"


def test_actions_of_function_are_recorded_inside_wait_of_task() -> None:
    def body(me: Loop, ctx: SourceContext) -> None:
        ctx.collect(1)

    env, _ = job(body, cost_ns=1000)
    _, recorder = run(env)
    steps = [(ActionPhase(row[3]), row[4]) for row in sorted(recorder.rows("actions")) if row[1] == 0]
    lock = (ActionPhase.WAIT, WaitKind.LOCK)
    at = steps.index(lock)
    assert steps[at : at + 3] == [
        lock, (ActionPhase.BEGIN, ActionKind.DEFAULT_ACTION), (ActionPhase.WAIT, WaitKind.COST),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("action", "status", "ends"),
    [
        (StopJob(5 * NS_PER_MS, drain=True), "complete", [("WATERMARK", MAX_WATERMARK), ("END_OF_DATA", 1)]),
        (StopJob(5 * NS_PER_MS), "complete", [("END_OF_DATA", 0)]),
        (CancelJob(5 * NS_PER_MS), "canceled", []),
    ],
    ids=["stop with drain", "stop", "cancel"],
)
def test_stop_and_cancel_call_cancel_of_function(action: RunAction, status: str, ends: list[tuple[str, int]]) -> None:
    """Rules 4.20, 4.23."""

    def body(me: Loop, ctx: SourceContext) -> None:
        n = 0
        while me.running:
            ctx.collect(n)
            n += 1

    env, sink = job(body)
    result, recorder = run(env, status, actions=(action,))
    assert result.status is (JobStatus.CANCELED if status == "canceled" else JobStatus.FINISHED)
    assert result.elapsed_ns >= 5 * NS_PER_MS
    assert [step for step in elements(recorder) if step[0] not in ("RECORD", "END_OF_PARTITION")] == ends
    if status == "complete":
        assert sink.values() == list(range(result.records_read))


def test_cancel_interrupts_sleep_and_stop_does_not() -> None:
    """Rule 4.20: a stop only asks, a cancellation interrupts."""

    def body(me: Loop, ctx: SourceContext) -> None:
        ctx.collect(1)
        ctx.sleep(100)

    elapsed = [run(job(body, cost_ns=0)[0], status, actions=(action,))[0].elapsed_ns for status, action in (
        ("complete", StopJob(5 * NS_PER_MS)), ("canceled", CancelJob(5 * NS_PER_MS)),
    )]  # fmt: skip
    assert elapsed == [100 * NS_PER_MS, 5 * NS_PER_MS]


@pytest.mark.parametrize("drain", [True, False])
def test_first_stop_decides_drain(drain: bool) -> None:
    """The second one comes while the function has not returned yet, and changes nothing."""

    def body(me: Loop, ctx: SourceContext) -> None:
        ctx.collect(1)
        ctx.sleep(100)

    actions = (StopJob(5 * NS_PER_MS, drain=drain), StopJob(6 * NS_PER_MS, drain=not drain))
    _, recorder = run(job(body, cost_ns=0)[0], actions=actions)
    ends = [end for end in elements(recorder) if end[0] in ("WATERMARK", "END_OF_DATA")]
    assert ends == ([("WATERMARK", MAX_WATERMARK), ("END_OF_DATA", 1)] if drain else [("END_OF_DATA", 0)])


@pytest.mark.parametrize("exit_type", [SystemExit, asyncio.CancelledError, GreenletExit, GeneratorExit, StopIteration])
def test_exit_exception_of_function_fails_job(exit_type: type[BaseException]) -> None:
    def body(me: Loop, ctx: SourceContext) -> None:
        ctx.collect(1)
        raise exit_type("no more")

    result, _ = run(job(body)[0], "failed")
    assert isinstance(result.error, JobFailed)
    assert f"{exit_type.__name__}: no more" in str(result.error)


def test_failing_function_fails_job_with_cause() -> None:
    def body(me: Loop, ctx: SourceContext) -> None:
        ctx.collect(1)
        raise ValueError("no more")

    env, _ = job(body)
    result, _ = run(env, "failed")
    assert result.status is JobStatus.FAILED
    assert isinstance(result.error, JobFailed)
    assert str(result.error.cause) == "no more"
    assert [task.state for task in result.tasks] == ["FAILED", "CANCELED"]


class Two(ParallelSourceFunction):
    def run(self, ctx: SourceContext) -> None:
        ctx.collect(1)

    def cancel(self) -> None:
        raise AssertionError("nobody cancels it")


def test_only_parallel_source_function_may_have_several_subtasks() -> None:
    env, sink = env_of(parallelism=2), CollectSink()
    env.add_source(Two(), "two").sink_to(sink)
    assert run(env)[0].records_read == 2
    with pytest.raises(BadInput, match="ParallelSourceFunction"):
        env_of().add_source(Loop(lambda me, ctx: None), "one").set_parallelism(2)


SCRIPTS = (
    [record("a", 1), watermark(1), sleep(7), record("b", 9), idle(), sleep(3), record("c"), watermark(12)],
    [idle(), record("d", 4), end()],
)


@pytest.mark.parametrize("legacy", [True, False])
def test_source_emits_same_elements_in_both_task_types(legacy: bool) -> None:
    env, sink = env_of(cost_ns=0), CollectSink()
    script = ScriptedSource(*SCRIPTS)
    env.add_source(LegacySource(script) if legacy else script, "s").sink_to(sink).disable_chaining()
    _, recorder = run(env)
    of_channel: dict[int, list[tuple[str, int]]] = {}
    for row in sorted(recorder.rows("sent")):
        of_channel.setdefault(row[3], []).append((ElementKind(row[5]).name, row[6]))
    ends = [("WATERMARK", MAX_WATERMARK), ("END_OF_DATA", 1), ("END_OF_PARTITION", 0)]
    assert of_channel == {
        0: [("RECORD", 1), ("WATERMARK", 1), ("RECORD", 9), ("STATUS", -1), ("STATUS", 0), ("RECORD", 9),
            ("WATERMARK", 12), *ends],
        1: [("STATUS", -1), ("STATUS", 0), ("RECORD", 4), *ends],
    }  # fmt: skip


@pytest.mark.parametrize("policy", ["fifo", "random"])
def test_equal_seeds_give_equal_facts(policy: str) -> None:
    def body(me: Loop, ctx: SourceContext) -> None:
        for n in range(200):
            ctx.collect(n)
            if n % 50 == 0:
                ctx.sleep(1)

    digests = set()
    for _ in range(2):
        env, _ = job(body, segment_size_bytes=64, latency_interval_ms=1, budget_records=7)
        digests.add(run(env, policy=policy, seed=11)[1].facts_digest())
    assert len(digests) == 1


def test_legacy_source_measures_no_busy_time() -> None:
    """Rule 13.1: Flink's NaN."""
    env, _ = job(lambda me, ctx: ctx.sleep(5001))
    result, _ = run(env)
    assert result.tasks[0].last_sample is not None
    assert result.tasks[0].last_sample.busy_ms == -1
