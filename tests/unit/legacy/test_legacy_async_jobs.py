"""The async operator of Flink 1.8 in running jobs: who holds the lock, and what happens inside an element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import StopJob, StopWithSavepoint, TriggerCheckpoint, TriggerSavepoint
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, record, sleep, watermark
from flowsim.datastream import AsyncDataStream, DataStream, StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.datastream.functions import KeyedProcessFunction
from flowsim.errors import BadInput, Deadlock, ElementFailed, JobFailed
from flowsim.facts.kinds import (
    ActionKind,
    ActionPhase,
    AsyncAction,
    ElementKind,
    Level,
    LifeEvent,
    TimerAction,
    WaitKind,
)
from flowsim.graph.checkpoint_settings import CheckpointSettings, SavepointRestoreSettings
from flowsim.graph.job_settings import Link
from flowsim.graph.stream_graph import OperatorDescription
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.legacy.async_wait_operator import LegacyAsyncWaitOperator
from flowsim.legacy.source_function import LegacySource
from flowsim.operators.stream_operator import StreamOperator
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.streamrecord.elements import StreamElement, StreamRecord, Watermark
from flowsim.testing.async_calls import Reply, ScriptedCalls
from flowsim.units import NS_PER_MS
from tests.support.checkpoints.stored_queues import copies, stored_queue

Answers = Callable[[object], Reply]
AT_ONCE = 5
"""ms."""


def env_of(**settings: object) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.configure(**{"buffer_timeout_ms": 0, "cost_ns": 0, **settings})  # type: ignore[arg-type]


def asked(
    stream: DataStream, reply: Answers, capacity: int = 2, mode: str = "ordered", timeout_ms: int = 0, name: str = "ask",
    design: str = "legacy", start_chain: bool = False,
) -> DataStream:  # fmt: skip
    wait = AsyncDataStream.ordered_wait if mode == "ordered" else AsyncDataStream.unordered_wait
    calls = ScriptedCalls(lambda value, _: reply(value))
    made = wait(stream, calls, Duration.of_millis(timeout_ms), capacity, design=design).name(name)  # type: ignore[arg-type]
    return made.start_new_chain() if start_chain else made


def after(ms: float) -> Answers:
    return lambda value: Reply(ms, (value,))


def source(env: StreamExecutionEnvironment, script: Sequence[Entry], legacy: bool = False) -> DataStream:
    scripted = ScriptedSource(script)
    return env.add_source(LegacySource(scripted) if legacy else scripted, "source")


def run(
    env: StreamExecutionEnvironment, *actions: object, **options: object
) -> tuple[JobExecutionResult, MemoryRecorder]:
    recorder = MemoryRecorder(Level.FULL)
    result = MiniCluster(env.stream_graph(), RunOptions(recorder=recorder, actions=actions, **options)).run()  # type: ignore[arg-type]
    ended = "complete" if result.status is JobStatus.FINISHED else result.status.value
    broken = [o.law for o in check_all(recorder, ended) if o.verdict is Verdict.VIOLATED]
    assert broken == (["progress"] if result.status is JobStatus.DEADLOCKED else [])
    return result, recorder


def steps(recorder: MemoryRecorder, name: str = "ask") -> list[str]:
    """What befell its elements, with ms since the start."""
    places = {(row[0], row[1]) for row in recorder.static_rows("operators") if row[2] == name}
    vertex_of = {row[0]: row[1] for row in recorder.static_rows("tasks")}
    return [
        f"{AsyncAction(row[5]).name} {row[4]} at {(row[3] - START_NS) / NS_PER_MS:g}"
        for row in sorted(recorder.rows("async_elements")) if (vertex_of[row[1]], row[2]) in places
    ]  # fmt: skip


def numbers(*values: int) -> list[Entry]:
    return [record(value, value) for value in values]


def test_emitter_works_while_task_waits_for_queue_slot_inside_element() -> None:
    """Rules 11.31, 11.32, 11.39."""
    env, sink = env_of(), CollectSink()
    asked(source(env, numbers(1, 2)).rebalance(), after(10), capacity=1).sink_to(sink)
    _, recorder = run(env)
    assert sink.values() == [1, 2]
    assert steps(recorder) == [
        "PUT 0 at 0", "INVOKE 0 at 0", "COMPLETE 0 at 10", "EMIT 0 at 10",
        "PUT 1 at 10", "INVOKE 1 at 10", "COMPLETE 1 at 20", "EMIT 1 at 20",
        "PUT 2 at 20", "EMIT 2 at 20",
    ]  # fmt: skip
    steps_by_seq = sorted((row[0], "emit") for row in recorder.rows("async_elements") if row[5] == AsyncAction.EMIT)
    steps_by_seq += [
        (row[0], f"{ActionPhase(row[3]).name} {row[4]}") for row in recorder.rows("actions") if row[1] == 1
    ]
    order = [what for _, what in sorted(steps_by_seq)]
    emit, lock, holder = order.index("emit"), f"WAIT {WaitKind.LOCK:d}", f"BEGIN {ActionKind.LOCK_HOLDER:d}"
    assert order[emit - 1] == holder
    assert order[emit - 2] == lock
    assert order[: emit - 2].count(f"BEGIN {ActionKind.DEFAULT_ACTION:d}") - 1 == order[: emit - 2].count(
        f"END {ActionKind.DEFAULT_ACTION:d}"
    ), "an element is not over"


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_both_designs_emit_same_elements_in_same_order(mode: str) -> None:
    script = [*numbers(5, 1, 4), watermark(5), *numbers(9, 2), sleep(1), watermark(9), *numbers(3)]
    found = {}
    for design in ("mailbox", "legacy"):
        env, sink = env_of(), CollectSink()
        reply: Answers = lambda value: Reply(10 * int(str(value)) + 1, (value, value))  # noqa: E731
        asked(source(env, script).rebalance(), reply, 3, mode, design=design).sink_to(sink)
        _, recorder = run(env)
        found[design] = (sink.records(), [step for step in steps(recorder) if step.startswith("EMIT")])
    assert found["legacy"] == found["mailbox"]


class Alarm(KeyedProcessFunction):
    """Emits a record and, 10 ms later, the time."""

    def process_element(self, value: object, ctx: KeyedProcessFunction.Context) -> Iterator[object]:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 10)
        yield value
        yield f"rest of {value}"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[object]:
        yield "alarm"


@pytest.mark.parametrize(("design", "fires_at"), [("mailbox", 100), ("legacy", 11)])
def test_timer_fires_inside_element_only_in_legacy_design(design: str, fires_at: int) -> None:
    """In the mailbox design it has to wait until the element is over (rule 3.21); what comes out is the same."""
    env, sink = env_of(), CollectSink()
    keyed = source(env, [record("a", 1)]).key_by(lambda value: 0).process(Alarm()).name("alarm")
    asked(keyed, after(100), capacity=1, design=design).sink_to(sink)
    _, recorder = run(env)
    assert sink.values() == ["a", "rest of a", "alarm"]
    fired = [(row[3] - START_NS) // NS_PER_MS for row in recorder.rows("timers") if row[4] == TimerAction.FIRE]
    assert fired == [fires_at]


def test_checkpoint_during_emission_has_element_and_its_results(tmp_path: Path) -> None:
    """An element leaves the queue only when all its results were handed on (rule 11.32), which waits here."""
    env, sink = env_of(), CollectSink()
    stream = source(env, [*numbers(1), watermark(1), sleep(60)]).rebalance()
    first = asked(stream, lambda v: Reply(AT_ONCE, (10, 11, 12)), name="first")
    asked(first, after(100), capacity=1, name="second").sink_to(sink)
    _, recorder = run(env, TriggerSavepoint(50 * NS_PER_MS, str(tmp_path)))
    assert sink.values() == [10, 11, 12]
    copied = copies(recorder)
    assert copied["first"].taken_ns == 50 * NS_PER_MS
    assert (copied["first"].inside, copied["second"].inside) == (True, True)
    assert stored_queue(tmp_path / "savepoint-1", "first") == [(1, 1), (1,)]
    assert stored_queue(tmp_path / "savepoint-1", "second") == [(1, 10), (1, 11)]
    assert steps(recorder, "first")[-2:] == ["EMIT 1 at 305", "EMIT 2 at 305"]


def test_timed_out_element_fails_task_when_emitter_reaches_it() -> None:
    """Rule 11.31: the task fails over it when the emitter comes to it."""
    env, sink = env_of(), CollectSink()
    silent: Answers = lambda value: Reply(50 if value == 1 else None, (value,))  # noqa: E731
    asked(source(env, numbers(1)).rebalance(), silent, timeout_ms=20).sink_to(sink)
    result, recorder = run(env)
    assert result.status is JobStatus.FAILED
    assert isinstance(result.error, JobFailed)
    assert (result.error.operator, result.error.record) == ("ask", "1 @ 1")
    assert isinstance(result.error.cause, ElementFailed)
    assert isinstance(result.error.cause.__cause__, TimeoutError)
    assert steps(recorder)[2:] == ["PUT 1 at 0", "TIMEOUT 0 at 21", "FAIL 0 at 21", "EMIT 0 at 21"]


def test_outcome_cancels_timeout_timer() -> None:
    env = env_of()
    asked(source(env, [*numbers(1), sleep(100)]).rebalance(), after(5), timeout_ms=20).sink_to(CollectSink())
    _, recorder = run(env)
    worked_ms = [
        (row[2] - START_NS) / NS_PER_MS
        for row in sorted(recorder.rows("actions"))
        if (row[3], row[4]) == (ActionPhase.BEGIN, ActionKind.LOCK_HOLDER)
    ]
    assert worked_ms == [5, 100], "the emitter alone, for the record and the last watermark"


def test_failed_element_behind_pending_head_waits_for_its_turn() -> None:
    """Rule 11.32; today it would fail the task at once (rule 11.15)."""
    failed_at = {}
    for design in ("mailbox", "legacy"):
        env = env_of()
        reply: Answers = lambda v: Reply(5, error=OSError("no")) if v == 2 else Reply(40, (v,))  # noqa: E731
        asked(source(env, [*numbers(1, 2), sleep(100)]).rebalance(), reply, design=design).sink_to(CollectSink())
        result, _ = run(env)
        assert isinstance(result.error, JobFailed)
        assert result.error.record == "2 @ 2"
        failed_at[design] = result.elapsed_ns // NS_PER_MS
    assert failed_at == {"mailbox": 5, "legacy": 40}


def test_timeout_counts_while_element_waits_for_queue_slot() -> None:
    """Rule 11.31: the facts of an element without a slot are recorded once it has one."""
    env = env_of()
    asked(source(env, [*numbers(1, 2), sleep(100)]).rebalance(), after(40), 1, timeout_ms=50).sink_to(CollectSink())
    result, recorder = run(env)
    assert isinstance(result.error, JobFailed)
    assert result.error.record == "2 @ 2"
    env = env_of()
    slow: Answers = lambda value: Reply(40 if value == 1 else 20, (value,))  # noqa: E731
    asked(source(env, [*numbers(1, 2), sleep(100)]).rebalance(), slow, 1, timeout_ms=41).sink_to(CollectSink())
    result, recorder = run(env)
    assert isinstance(result.error, JobFailed)
    assert steps(recorder)[4:] == ["PUT 1 at 40", "INVOKE 1 at 40", "TIMEOUT 1 at 42", "FAIL 1 at 42", "EMIT 1 at 42"]


def test_failure_behind_operator_names_its_record_and_ends_waiting_task() -> None:
    def fails(value: int) -> int:
        if value == 1:
            raise ValueError("not this one")
        return value

    env = env_of()
    stream = asked(source(env, numbers(1, 2, 3)).rebalance(), after(10), capacity=1)
    stream.map(fails).name("behind").sink_to(CollectSink())
    result, _ = run(env)
    assert isinstance(result.error, JobFailed)
    assert (result.error.operator, result.error.record) == ("behind", "1 @ 1")
    assert result.elapsed_ns == 10 * NS_PER_MS


def test_back_pressure_in_emitter_keeps_lock() -> None:
    """No checkpoint, no timer, no element until the buffer is there (rule 5.42)."""
    env, sink = env_of(segment_size_bytes=64), CollectSink()
    many: Answers = lambda value: Reply(5, tuple(range(400)))  # noqa: E731
    stream = asked(source(env, [*numbers(1, 2), sleep(30)], legacy=True), many, capacity=1).rebalance()
    stream.map(lambda v: v).cost(NS_PER_MS).sink_to(sink)
    result, recorder = run(env, TriggerCheckpoint(20 * NS_PER_MS))
    assert sink.values() == list(range(400)) * 2
    assert result.tasks[0].hard_backpressured_ns > 300 * NS_PER_MS
    copied = copies(recorder)["ask"]
    (emitted,) = (row[3] for row in recorder.rows("async_elements") if (row[4], row[5]) == (0, AsyncAction.EMIT))
    assert copied.requested_ns == 20 * NS_PER_MS
    assert copied.taken_ns + START_NS >= emitted
    assert emitted - START_NS > 100 * NS_PER_MS


def test_end_of_input_waits_until_queue_is_empty() -> None:
    """Rule 11.36."""
    env, sink = env_of(), CollectSink()
    asked(source(env, numbers(1, 2)).rebalance(), after(30), capacity=5).sink_to(sink)
    result, recorder = run(env)
    assert sink.values() == [1, 2]
    assert result.elapsed_ns == 30 * NS_PER_MS
    life = recorder.rows("lifecycle")
    ended = [row[3] for row in life if (row[1], row[2], row[4]) == (1, 0, LifeEvent.END_INPUT)]
    assert ended == [START_NS + 30 * NS_PER_MS]


def test_stop_without_drain_emits_nothing_after_end_of_data() -> None:
    env, sink = env_of(), CollectSink()
    stream = source(env, [*numbers(1, 2, 3), sleep(500)])
    asked(stream, lambda value: Reply(10 * int(str(value)), (value,)), capacity=5).rebalance().sink_to(sink)
    result, recorder = run(env, StopJob(15 * NS_PER_MS))
    assert result.status is JobStatus.FINISHED
    assert sink.values() == [1]
    assert steps(recorder)[-1] == "EMIT 0 at 10"
    kinds = [ElementKind(row[5]).name for row in sorted(recorder.rows("sent")) if row[1] == 0]
    assert kinds == ["RECORD", "END_OF_DATA", "END_OF_PARTITION"]


def test_nothing_is_emitted_between_end_of_data_without_drain_and_end_of_input() -> None:
    """The link is slow, so the one event comes some time after the other."""
    env, sink = env_of(buffer_timeout_ms=1, links=(Link(bytes_per_second=1000),)), CollectSink()
    stream = source(env, [*numbers(*range(60)), sleep(500)]).rebalance()
    asked(stream, lambda value: Reply(5 * int(str(value)), (value,)), capacity=100).rebalance().sink_to(sink)
    result, recorder = run(env, StopJob(15 * NS_PER_MS))
    assert result.status is JobStatus.FINISHED
    life = [(LifeEvent(row[4]), row[3]) for row in recorder.rows("lifecycle") if row[1] == 1]
    closed = next(at for event, at in life if event is LifeEvent.CLOSE)
    done = [row[3] for row in recorder.rows("async_elements") if row[5] == AsyncAction.COMPLETE]
    out = [row[3] for row in recorder.rows("async_elements") if row[5] == AsyncAction.EMIT]
    assert max(out) < max(at for at in done if at < closed), "some were done in time, but too late"


def test_operator_works_in_task_of_legacy_source(tmp_path: Path) -> None:
    """Rule 11.37: the source's thread waits inside an element, and the checkpoint runs in another thread, as in 1.8."""
    env, sink = env_of(), CollectSink()
    script = [*numbers(1, 2, 3), watermark(3)]
    asked(source(env, script, legacy=True), after(20), capacity=1).sink_to(sink).name("out")
    result, recorder = run(env, TriggerSavepoint(10 * NS_PER_MS, str(tmp_path)))
    assert [task.name for task in result.tasks] == ["Source: source -> ask (1/1)", "out -> out: Committer (1/1)"]
    assert sink.values() == [1, 2, 3]
    copied = copies(recorder)
    assert {name: (one.taken_ns, one.inside) for name, one in copied.items()} == {
        "Source: source": (10 * NS_PER_MS, True),
        "ask": (10 * NS_PER_MS, True),
        "out": (10 * NS_PER_MS, False),
        "out: Committer": (10 * NS_PER_MS, False),
    }
    assert stored_queue(tmp_path / "savepoint-1", "ask") == [(1, 1), (2, 2)]


class Restored:
    """An operator factory whose operators begin with what a snapshot held."""

    def __init__(self, make: Callable[[], StreamOperator], elements: Sequence[StreamElement]) -> None:
        self._make = make
        self._elements = elements

    def __call__(self) -> StreamOperator:
        operator = self._make()
        assert isinstance(operator, LegacyAsyncWaitOperator)
        operator.restore_elements(self._elements)
        return operator


def restored(
    elements: Sequence[StreamElement], capacity: int
) -> tuple[JobExecutionResult, MemoryRecorder, list[object]]:
    env, sink = env_of(), CollectSink()
    asked(source(env, numbers(9)).rebalance(), after(10), capacity).sink_to(sink)
    graph = env.stream_graph()
    (node,) = (node for node in graph.nodes.values() if node.name == "ask")
    node.operator_factory = Restored(node.operator_factory, elements)
    recorder = MemoryRecorder(Level.FULL)
    result = MiniCluster(graph, RunOptions(recorder=recorder)).run()
    return result, recorder, sink.values()


def test_restored_elements_are_put_and_called_again() -> None:
    result, recorder, values = restored([StreamRecord(1, 1), Watermark(1)], capacity=2)
    assert (result.status, values) == (JobStatus.FINISHED, [1, 9])
    assert [o for o in check_all(recorder, "complete") if o.verdict is Verdict.VIOLATED] == []


def test_more_restored_elements_than_capacity_deadlock_with_report() -> None:
    """Rule 11.38: the element that waited for a place when the snapshot was taken is one too many."""
    result, _, values = restored([StreamRecord(1, 1), StreamRecord(2, 2), StreamRecord(3, 3)], capacity=2)
    assert (result.status, values) == (JobStatus.DEADLOCKED, [])
    assert isinstance(result.error, Deadlock)
    report = (
        "waits for a place in its queue of 2, whose emitter starts only when all restored elements are in it, of operator "
        "'ask'; its checkpoint lock is free; "
    )
    assert report in result.report


def test_deadlock_after_a_restore_is_found_although_checkpoints_are_due(tmp_path: Path) -> None:
    """Rule 11.38: two subtasks had two elements each, one subtask has them all, and its queue has two places.

    The source waits for a last checkpoint, but no checkpoint begins while the other task does not run.
    """
    for parallelism in (2, 1):
        env = env_of(parallelism=parallelism, checkpointing=CheckpointSettings(1000))
        stream = source(env, [*numbers(1, 2, 3, 4), sleep(2000)]).rebalance()
        asked(stream, after(500), capacity=2).sink_to(CollectSink())
        if parallelism == 2:
            result, _ = run(env, StopWithSavepoint(5 * NS_PER_MS, False, str(tmp_path)))
            (saved,) = result.requested_snapshots
    result, _ = run(env, savepoint=SavepointRestoreSettings(str(saved.path)))
    assert result.status is JobStatus.DEADLOCKED
    assert "waits for a place in its queue of 2, whose emitter starts only when all restored" in result.report


def test_deadlock_report_names_threads_waiting_for_queue_slot() -> None:
    """No answer ever comes: the loop and a timer wait for a place in the queue."""
    env = env_of()
    keyed = source(env, [record("a", 1)]).key_by(lambda value: 0).process(Alarm()).name("alarm")
    asked(keyed, lambda value: Reply(None), capacity=1).sink_to(CollectSink())
    result, _ = run(env)
    assert result.status is JobStatus.DEADLOCKED
    place = "waits for a place in its queue of 1, of operator 'ask'"
    assert f"{place}; its checkpoint lock is free; its timer thread {place}" in result.report
    assert (
        "operator ask waits for the answer to 1 element (1 of 1 places taken): number 0, record 'a' @ 1"
        in result.report
    )


def test_both_designs_in_one_chain_are_refused() -> None:
    env = env_of()
    stream = asked(source(env, numbers(1)).rebalance(), after(1), name="old")
    asked(stream, after(1), name="new", design="mailbox").sink_to(CollectSink())
    with pytest.raises(BadInput, match=r"'old' \(design legacy\) and 'new' \(design mailbox\) are in one chain"):
        run(env)
    env, sink = env_of(), CollectSink()
    stream = asked(source(env, numbers(1)).rebalance(), after(1), name="old")
    asked(stream, after(1), name="new", design="mailbox", start_chain=True).sink_to(sink)
    run(env)
    assert sink.values() == [1]


def test_operator_without_checkpoint_lock_is_refused() -> None:
    """A description that does not tell of the design leaves the task without one."""
    env = env_of()
    asked(source(env, numbers(1)).rebalance(), after(1)).sink_to(CollectSink())
    graph = env.stream_graph()
    (node,) = (node for node in graph.nodes.values() if node.name == "ask")
    node.description = OperatorDescription("async_wait", {})
    with pytest.raises(BadInput, match="operator ask: the legacy design needs a task with a checkpoint lock"):
        MiniCluster(graph, RunOptions()).run()


def test_run_on_real_clock_emits_same_elements() -> None:
    env, sink = env_of(), CollectSink()
    asked(source(env, numbers(1, 2, 3)).rebalance(), after(2), capacity=1, mode="unordered").sink_to(sink)
    result, _ = run(env, clock="real")
    assert (result.status, sink.values()) == (JobStatus.FINISHED, [1, 2, 3])
