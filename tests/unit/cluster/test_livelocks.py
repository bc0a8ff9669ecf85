"""A job whose tasks take turns without end and process nothing ends with a message, and law progress names it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from flowsim.api import open_recording, validate_recording
from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_bounds import RunBounds
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, sleep, watermark
from flowsim.datastream import AsyncDataStream, AsyncFunction, KeyedProcessFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Time, Types
from flowsim.errors import RunTooLong
from flowsim.facts.kinds import Level, LifeEvent
from flowsim.faults.faulty_components import with_faults
from flowsim.graph.checkpoint_settings import FixedDelayRestart
from flowsim.graph.stream_graph import StreamGraph
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.limits import Limits
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim import standstill, virtual_time_loop
from flowsim.tasks import batches
from tests.support.faults import Fault


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_MOST_ACTIONS", 1_000)
    monkeypatch.setattr(standstill, "_STANDSTILL_TURNS", 1_000)
    monkeypatch.setattr(virtual_time_loop, "_LIVELOCK_CALLBACKS", 10_000)


def run(graph: StreamGraph, *faults: Fault, **options: Any) -> tuple[JobExecutionResult, MemoryRecorder]:
    facts = MemoryRecorder(Level.FULL)
    return MiniCluster(graph, with_faults(RunOptions(recorder=facts, **options), faults)).run(), facts


def livelocked(facts: MemoryRecorder) -> set[int]:
    """The tasks with a row; law progress has a violation for each of them."""
    tasks = {row[1] for row in facts.rows("lifecycle") if row[4] == LifeEvent.LIVELOCKED}
    outcomes = {each.law: each for each in check_all(facts, "failed")}
    progress = outcomes["progress"]
    named = {row["task"] for row in progress.evidence if row["what"] == "livelocked"}
    assert named == tasks
    assert progress.verdict is (Verdict.VIOLATED if tasks else Verdict.HOLDS)
    return tasks


def numbers(change: Callable[[Any], Any] = lambda stream: stream) -> StreamGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    change(env.from_collection(list(range(10))).rebalance()).map(lambda value: value).name("map").sink_to(CollectSink())
    return env.stream_graph()


def test_task_that_polls_an_empty_input_without_end_is_a_livelock() -> None:
    result, facts = run(numbers(), Fault("input_never_empty", operator="map"))
    assert result.status is JobStatus.FAILED
    assert isinstance(result.error, RunTooLong)
    message = str(result.error)
    assert message.startswith("the job is livelocked: at 0 ms its tasks take turns without end, and process no element")
    assert "map -> Sink: Unnamed (1/1) waits for its next turn" in message
    assert livelocked(facts) == {0, 1}


class Posts(AsyncFunction):
    """Never answers; polls an event of asyncio instead."""

    async def async_invoke(self, value: object) -> list[object]:
        while True:
            await asyncio.sleep(0)


def test_call_that_polls_without_end_is_a_livelock() -> None:
    graph = numbers(lambda stream: AsyncDataStream.ordered_wait(stream, Posts(), Time.seconds(10), 3))
    result, facts = run(graph)
    assert "callbacks ran while virtual time stood still" in str(result.error)
    assert livelocked(facts) == {1}


def test_job_without_a_cost_that_processes_elements_is_no_livelock() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(list(range(20_000))).rebalance()
    stream.map(lambda value: value).sink_to(CollectSink())
    result, facts = run(env.stream_graph(), budget_records=1)
    assert result.status is JobStatus.FINISHED
    assert livelocked(facts) == set()


class FiresAgain(KeyedProcessFunction):
    """Registers a timer, and in its callback another one ``step_ms`` later; ``most``: how often."""

    def __init__(self, is_event_time: bool, step_ms: int, most: int | None = None) -> None:
        self._is_event_time = is_event_time
        self._step_ms = step_ms
        self._left = most

    def _register(self, ctx: Any, timestamp: int) -> None:
        timers = ctx.timer_service()
        register = timers.register_event_time_timer if self._is_event_time else timers.register_processing_time_timer
        register(timestamp)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self._register(ctx, 5 if self._is_event_time else ctx.timer_service().current_processing_time() + 5)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        if self._left is None or self._left > 0:
            self._left = None if self._left is None else self._left - 1
            self._register(ctx, timestamp + self._step_ms)
        return ()


def timers(is_event_time: bool, step_ms: int, most: int | None = None) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    # Data is sent 100 ms after the record; the processing-time timers fire before the input ends.
    script = [record(("a", 1), 1), watermark(10), sleep(100_000)]
    keyed = env.add_source(ScriptedSource(script)).key_by(lambda value: value[0], Types.STRING())
    keyed.process(FiresAgain(is_event_time, step_ms, most)).name("again").sink_to(CollectSink())
    return env.configure(restart_strategy=FixedDelayRestart(3, 0))


BOUNDS = RunBounds(steps=2_000)


@pytest.mark.parametrize(
    ("is_event_time", "at"),
    [(True, "timer of key 'a' @ 5"), (False, "timer of key 'a' @ ")],
    ids=["event", "processing"],
)
def test_timer_that_registers_itself_again_for_the_same_time_is_a_livelock(is_event_time: bool, at: str) -> None:
    """Flink fires it without end (rule 9.5); the job does not restart."""
    result, facts = run(timers(is_event_time, 0).stream_graph(), bounds=BOUNDS)
    assert result.status is JobStatus.FAILED
    assert isinstance(result.error, RunTooLong)
    message = str(result.error)
    assert message.startswith("the job is livelocked, and Flink would work on without end: job failed in task again")
    assert f"operator again, {at}" in message
    assert "2000 timers that were registered while timers fired have fired in a row" in message
    assert livelocked(facts) == {1}
    assert result.restarts == 0


def test_timer_that_registers_a_timer_for_each_ms_of_the_end_of_time_is_a_livelock() -> None:
    """Event time advances, but the end of the input is 2^63 ms away."""
    result, facts = run(timers(True, 1).stream_graph(), bounds=BOUNDS)
    assert isinstance(result.error, RunTooLong)
    assert "operator again, timer of key 'a' @ 2" in str(result.error)
    assert livelocked(facts) == {1}


def test_timers_that_register_timers_a_bounded_number_of_times_are_no_livelock() -> None:
    for is_event_time in (True, False):
        result, facts = run(timers(is_event_time, 0, 1_900).stream_graph(), bounds=BOUNDS)
        assert result.status is JobStatus.FINISHED, result.error
        assert livelocked(facts) == set()


def test_timers_for_each_ms_of_processing_time_end_at_the_bound_of_steps() -> None:
    """Time advances, so that only the bound ends the run; the report names the timer that waits."""
    result, facts = run(timers(False, 1).stream_graph(), bounds=BOUNDS)
    assert isinstance(result.error, RunTooLong)
    assert str(result.error).startswith("the run was ended after 2000 steps")
    assert "again -> Sink: Unnamed (1/1)" in str(result.error)
    assert livelocked(facts) == set()


def test_recording_of_endless_timers_is_readable(tmp_path: Path) -> None:
    env = timers(True, 0).flowsim_recording(tmp_path, level="full").flowsim_settings(limits=Limits(steps=2_000))
    with pytest.raises(RunTooLong, match="operator again, timer of key 'a' @ 5"):
        env.execute()
    assert open_recording(tmp_path).to_arrow("timers").num_rows == 1 + 2 * 2_001
    outcomes = validate_recording(tmp_path, engine="python").of(0)
    violated = {law: outcome.evidence for law, outcome in outcomes.items() if outcome.verdict is Verdict.VIOLATED}
    assert [row["what"] for row in violated.pop("progress")] == ["livelocked"]
    assert violated == {}
