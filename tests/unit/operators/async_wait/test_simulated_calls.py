"""Simulated calls behind a real operator, on the virtual clock: late, failing, silent, and equal for equal seeds."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.connectors.script_entries import Entry
from flowsim.datastream import AsyncDataStream, AsyncRetryStrategy, DataStream, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, WatermarkStrategy
from flowsim.errors import BadInput, Deadlock, JobFailed
from flowsim.facts.kinds import AsyncAction, Level
from flowsim.facts.schema import TABLES
from flowsim.operators.async_wait.latency import (
    ExponentialLatency,
    FixedLatency,
    RecordLatency,
    TraceLatency,
    UniformLatency,
)
from flowsim.operators.async_wait.simulated_calls import (
    SimulatedAsyncFunction,
    SimulatedCallFailed,
    SomeCalls,
)
from flowsim.operators.stream_operator import Value
from flowsim.recording.memory import MemoryRecorder

MS = 1_000_000
AT_ONCE = FixedLatency(0)
SECOND = Duration.of_seconds(1)


def itself(value: Value) -> Sequence[Value]:
    return [value]


def of_numbers(count: int, seed: int = 1, recorder: MemoryRecorder | None = None, parallelism: int = 1) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.flowsim_settings(seed=seed)
    if recorder is not None:
        env.flowsim_settings(recorder=recorder)
    env.set_parallelism(parallelism)
    # The input stays open for a while: at its end no retry waits any longer (rule 11.27).
    script: list[Entry] = [*(record(number, None) for number in range(count)), sleep(500)]
    return env.from_source(ScriptedSource(script), WatermarkStrategy.no_watermarks(), "numbers")


def unordered(function: SimulatedAsyncFunction, count: int, seed: int = 1) -> list[object]:
    return list(AsyncDataStream.unordered_wait(of_numbers(count, seed), function, SECOND).execute_and_collect())


def invocations(recorder: MemoryRecorder) -> list[tuple[int, int]]:
    """(entry, attempt) of every call."""
    names = TABLES["async_elements"].names
    entry, action, attempt = (names.index(name) for name in ("entry", "action", "attempt"))
    rows = recorder.rows("async_elements")
    return [(row[entry], row[attempt]) for row in rows if row[action] == AsyncAction.INVOKE]


def test_results_are_emitted_after_their_latency() -> None:
    backwards = RecordLatency(lambda value: 100 - 10 * value)  # type: ignore[operator]
    assert unordered(SimulatedAsyncFunction(itself, backwards), 5) == [4, 3, 2, 1, 0]


def test_call_may_have_any_number_of_results() -> None:
    several = SimulatedAsyncFunction(lambda value: [value] * value, AT_ONCE)  # type: ignore[operator]
    assert unordered(several, 4) == [1, 2, 2, 3, 3, 3]


def test_order_of_results_depends_on_seed() -> None:
    function = SimulatedAsyncFunction(itself, UniformLatency(0, 50 * MS))
    assert unordered(function, 30, seed=7) == unordered(function, 30, seed=7)
    assert unordered(function, 30, seed=7) != unordered(function, 30, seed=8)
    assert sorted(unordered(function, 30, seed=8)) == list(range(30))  # type: ignore[type-var]


def test_subtasks_draw_from_own_streams_and_start_trace_anew() -> None:
    sink = CollectSink()
    stream = of_numbers(6, parallelism=2).rebalance()
    traced = SimulatedAsyncFunction(itself, TraceLatency([30 * MS, 20 * MS, 10 * MS]))
    AsyncDataStream.unordered_wait(stream, traced, SECOND).sink_to(sink)
    stream.get_execution_environment().execute()
    values = sink.values()
    assert sorted([values[:3], values[3:]]) == [[4, 2, 0], [5, 3, 1]]
    drawn = SimulatedAsyncFunction(itself, ExponentialLatency(10 * MS))
    stream = of_numbers(40, parallelism=2).rebalance()
    AsyncDataStream.unordered_wait(stream, drawn, SECOND).sink_to(again := CollectSink())
    stream.get_execution_environment().execute()
    first = [value // 2 for value in again.values() if value % 2 == 0]  # type: ignore[operator]
    second = [value // 2 for value in again.values() if value % 2]  # type: ignore[operator]
    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second


def test_failing_call_fails_job_with_record() -> None:
    function = SimulatedAsyncFunction(itself, AT_ONCE, failure=lambda value: value == 3)
    with pytest.raises(JobFailed, match="3") as error:
        unordered(function, 5)
    assert "the simulated call failed (attempt 1)" in str(error.value)


def test_exception_of_results_is_an_outcome_and_may_be_retried() -> None:
    recorder = MemoryRecorder(Level.ELEMENTS)
    function = SimulatedAsyncFunction(lambda value: [1 // value], AT_ONCE)  # type: ignore[operator]
    strategy = AsyncRetryStrategy.fixed_delay(2, 10, None, lambda error: isinstance(error, ZeroDivisionError))
    stream = AsyncDataStream.ordered_wait_with_retry(of_numbers(2, 1, recorder), function, SECOND, strategy)
    with pytest.raises(JobFailed, match="division"):
        list(stream.execute_and_collect())
    assert invocations(recorder) == [(0, 1), (1, 1), (0, 2), (0, 3)]


def test_first_attempts_fail_and_next_is_answered() -> None:
    recorder = MemoryRecorder(Level.ELEMENTS)
    failing = SomeCalls(when=lambda value: value == 1, first_attempts=2)
    function = SimulatedAsyncFunction(itself, FixedLatency(5 * MS), failure=failing)
    strategy = AsyncRetryStrategy.fixed_delay(2, 10, None, lambda error: isinstance(error, SimulatedCallFailed))
    stream = AsyncDataStream.ordered_wait_with_retry(of_numbers(3, 1, recorder), function, SECOND, strategy)
    assert list(stream.execute_and_collect()) == [0, 1, 2]
    called = invocations(recorder)
    assert [attempt for entry, attempt in called if entry == 1] == [1, 2, 3]
    assert [attempt for entry, attempt in called if entry != 1] == [1, 1]


def test_silent_call_times_out_and_fails_job_by_default() -> None:
    with pytest.raises(JobFailed, match="Async function call has timed out"):
        unordered(SimulatedAsyncFunction(itself, AT_ONCE, silence=lambda value: value == 2), 4)


def test_on_timeout_gives_results_of_silent_call() -> None:
    function = SimulatedAsyncFunction(
        itself, AT_ONCE, silence=lambda value: value == 2, on_timeout=lambda value: [value, "late"]
    )
    assert unordered(function, 4) == [0, 1, 3, 2, "late"]


def test_silent_call_without_timeout_action_never_ends() -> None:
    function = SimulatedAsyncFunction(itself, AT_ONCE, silence=lambda value: value == 2, on_timeout="nothing")
    with pytest.raises(Deadlock):
        unordered(function, 4)


def test_late_answer_is_emitted_when_timeout_does_nothing() -> None:
    function = SimulatedAsyncFunction(itself, FixedLatency(5_000 * MS), on_timeout="nothing")
    assert unordered(function, 2) == [0, 1]


def test_seed_determines_which_share_of_calls_is_silent() -> None:
    silent = SimulatedAsyncFunction(itself, AT_ONCE, silence=0.3, on_timeout=lambda value: [-1])
    found = unordered(silent, 100, seed=3)
    assert found == unordered(silent, 100, seed=3)
    assert 15 <= found.count(-1) <= 45


def test_some_calls_must_meet_every_condition() -> None:
    random = Random(1)
    both = SomeCalls(share=1.0, when=lambda value: value == "a", first_attempts=2)
    asked = [(value, attempt) for value in "ab" for attempt in (1, 2, 3)]
    assert [one for one in asked if both.selects(*one, random)] == [("a", 1), ("a", 2)]
    assert not any(SomeCalls(share=0.0).selects(None, 1, random) for _ in range(100))


@pytest.mark.parametrize(
    ("share", "first_attempts", "message"),
    [
        (1.01, None, "a share of calls: expected a number from 0 to 1, got 1.01"),
        (-0.1, None, "a share of calls: expected a number from 0 to 1, got -0.1"),
        (1.0, 0, "the first attempts of a call: expected at least 1, got 0"),
    ],
)
def test_invalid_some_calls_are_refused(share: float, first_attempts: int | None, message: str) -> None:
    with pytest.raises(BadInput) as error:
        SomeCalls(share=share, first_attempts=first_attempts)
    assert str(error.value) == message
