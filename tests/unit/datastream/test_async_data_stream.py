"""AsyncDataStream on both clocks: results, their order, and what each subtask has."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from flowsim.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    ResultFutureFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from flowsim.datastream.async_retry_predicates import (
    empty_result_predicate,
    has_exception_predicate,
)
from flowsim.datastream.common import Duration, Time, Types, WatermarkStrategy
from flowsim.datastream.common.watermark_strategy import TimestampAssigner
from flowsim.errors import JobFailed
from flowsim.operators.async_calls import AsyncCalls
from flowsim.operators.async_wait.latency import UniformLatency
from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.async_wait.simulated_calls import SimulatedAsyncFunction
from flowsim.state.descriptors import ValueStateDescriptor
from flowsim.units import NS_PER_MS
from tests.support.jobs.coroutines import BOTH_CLOCKS, asks, failure_of, last_first, results_of

ENV = StreamExecutionEnvironment.get_execution_environment
SECOND = Duration.of_seconds(1)


@BOTH_CLOCKS
def test_unordered_results_are_emitted_as_answered(clock: str) -> None:
    assert results_of(last_first(4), (1, 2, 3, 4), clock=clock) == [40, 30, 20, 10]


@BOTH_CLOCKS
def test_ordered_results_are_emitted_in_order_of_records(clock: str) -> None:
    assert results_of(last_first(4), (1, 2, 3, 4), mode="ordered", clock=clock) == [10, 20, 30, 40]


class OwnTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


def test_unordered_results_do_not_overtake_watermark() -> None:
    """Rule 11.11: the source emits a watermark after every record, so no record overtakes another."""
    env = ENV().configure(auto_watermark_interval_ms=1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(OwnTime())
    paced = env.from_collection([1, 2, 3, 4]).map(lambda v: v)
    marked = paced.cost(Duration.of_millis(5)).assign_timestamps_and_watermarks(strategy)

    async def later_for_less(value: int) -> list[int]:
        await asyncio.sleep((5 - value) * 0.02)
        return [value * 10]

    asked = AsyncDataStream.unordered_wait(marked, asks(later_for_less), SECOND)
    assert list(asked.execute_and_collect()) == [10, 20, 30, 40]


@BOTH_CLOCKS
def test_record_may_have_any_number_of_results(clock: str) -> None:
    async def as_often(value: int) -> list[int]:
        return [value] * value

    assert results_of(asks(as_often), (0, 1, 3, 2), mode="ordered", clock=clock) == [1, 3, 3, 3, 2, 2]


@pytest.mark.parametrize("capacity", [1, 2, 5])
@BOTH_CLOCKS
def test_concurrent_calls_never_exceed_capacity(capacity: int, clock: str) -> None:
    running, most = 0, 0

    async def counted(value: int) -> list[int]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.002)
        running -= 1
        return [value]

    assert sorted(results_of(asks(counted), range(20), capacity=capacity, clock=clock)) == list(range(20))  # type: ignore[type-var]
    assert most == capacity


def test_coroutine_sleeps_in_virtual_time_from_time_of_task() -> None:
    """A batch of work lies behind the loop's clock; a call that began then would be answered too early."""
    begun: list[int] = []

    async def waits(value: int) -> list[int]:
        loop = asyncio.get_running_loop()
        begun.append(round(loop.time() * 1000))
        await asyncio.sleep(3600)
        return [round(loop.time() * 1000)]

    env = ENV()
    stream = env.from_collection([1, 2, 3]).map(lambda v: v).cost(Duration.of_millis(100))
    asked = AsyncDataStream.ordered_wait(stream, asks(waits), Duration.of_days(1)).cost(0)
    ended = list(asked.execute_and_collect())
    assert begun == [1100, 1200, 1300]
    assert ended == [at + 3_600_000 for at in begun]


def test_asyncio_primitives_work_in_virtual_time() -> None:
    """wait_for, gather, shield, timeout, locks, queues and task groups; the same in every run."""
    log: list[tuple[int, str, float]] = []
    locks: list[asyncio.Lock] = []

    async def step(value: int, name: str, seconds: float) -> str:
        await asyncio.sleep(seconds)
        log.append((value, name, round(asyncio.get_running_loop().time(), 6)))
        return name

    async def busy(value: int) -> list[object]:
        try:
            await asyncio.wait_for(step(value, "never", 60), 1)
        except TimeoutError:
            log.append((value, "gave up", round(asyncio.get_running_loop().time(), 6)))
        both = await asyncio.gather(step(value, "a", 2), step(value, "b", 1))
        shielded = await asyncio.shield(step(value, "s", 1))
        async with locks[0]:
            held = await step(value, "lock", 1)
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            grouped = [group.create_task(step(value, f"g{n}", n)) for n in (2, 1)]
        queue: asyncio.Queue[int] = asyncio.Queue()
        queue.put_nowait(value)
        return [*both, shielded, held, *(task.result() for task in grouped), await queue.get()]

    def run() -> tuple[list[object], list[tuple[int, str, float]]]:
        log.clear()
        locks[:] = [asyncio.Lock()]
        env = ENV().configure(cost_ns=0)
        asked = AsyncDataStream.ordered_wait(env.from_collection([1, 2]), asks(busy), Duration.of_minutes(1))
        return list(asked.execute_and_collect()), list(log)

    results, seen = run()
    assert results == ["a", "b", "s", "lock", "g2", "g1", 1, "a", "b", "s", "lock", "g2", "g1", 2]
    assert [line for line in seen if line[0] == 1] == [
        (1, "gave up", 2.0), (1, "b", 3.0), (1, "a", 4.0), (1, "s", 5.0), (1, "lock", 6.0), (1, "g1", 7.0), (1, "g2", 8.0),
    ]  # fmt: skip
    assert [line for line in seen if line[:2] == (2, "lock")] == [(2, "lock", 7.0)]
    assert run() == (results, seen)


# Timeouts.


async def slow(value: int) -> list[int]:
    await asyncio.sleep(0.001 if value % 2 else 60)
    return [value]


@BOTH_CLOCKS
def test_timed_out_record_fails_the_job(clock: str) -> None:
    """Rule 11.17."""
    assert failure_of(asks(slow), timeout_ms=300, clock=clock) == (
        "asked, record 2: ElementFailed: could not complete the element: "
        "TimeoutError: Async function call has timed out."
    )


@BOTH_CLOCKS
def test_timeout_method_may_answer_the_record(clock: str) -> None:
    answered = asks(slow, timeout=lambda value: [-value])
    assert results_of(answered, (1, 2, 3, 4), mode="ordered", timeout_ms=300, clock=clock) == [1, -2, 3, -4]


def test_timeout_zero_never_fires() -> None:
    assert results_of(asks(slow), (1, 2), timeout_ms=0) == [1, 2]


def test_timeout_may_be_a_time() -> None:
    env = ENV()
    asked = AsyncDataStream.ordered_wait(
        env.from_collection([2]), asks(slow, lambda v: ["late"]), Time.milliseconds(20)
    )
    assert list(asked.execute_and_collect()) == ["late"]


# What a function has, and has not.


class Subtask(AsyncFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.name = runtime_context.get_index_of_this_subtask()
        self.calls = 0

    async def async_invoke(self, value: Any) -> list[Any]:
        self.calls += 1
        return [(self.name, self.calls)]


def test_each_subtask_calls_its_own_function_copy() -> None:
    function = Subtask()
    assert sorted(results_of(function, range(6), parallelism=3)) == [(n, call) for n in (0, 1, 2) for call in (1, 2)]  # type: ignore[type-var]
    assert not hasattr(function, "calls")


class WantsState(AsyncFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    async def async_invoke(self, value: Any) -> list[Any]:
        return []


class WantsStateToo(ResultFutureFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def async_invoke(self, value: Any, result_future: ResultFuture) -> None:
        result_future.complete([])


@pytest.mark.parametrize("function", [WantsState(), WantsStateToo()])
def test_keyed_state_is_refused_in_async_function(function: Any) -> None:
    keyed = ENV().from_collection([1]).key_by(lambda v: v)
    with pytest.raises(
        JobFailed, match="get_state is not available to an asynchronous function: when the call completes"
    ):
        list(AsyncDataStream.unordered_wait(keyed, function, SECOND).execute_and_collect())


def test_records_with_equal_keys_go_to_one_subtask() -> None:
    keyed = ENV().set_parallelism(4).from_collection(["a", "b", "a", "b", "a"]).key_by(lambda v: v)
    asked = AsyncDataStream.ordered_wait(keyed, Subtask(), SECOND)
    counts: dict[Any, int] = {}
    for subtask, call in asked.execute_and_collect():  # type: ignore[misc]
        counts[subtask] = max(call, counts.get(subtask, 0))
    assert sorted(counts.values()) == [2, 3]


class Echo(ResultFutureFunction):
    """Answers after 5 ms of the job's clock; 0 is never answered."""

    calls: AsyncCalls

    def open(self, runtime_context: RuntimeContext) -> None:
        self.calls = runtime_context.async_calls

    def async_invoke(self, value: Any, result_future: ResultFuture) -> None:
        if value:
            self.calls.after(5 * NS_PER_MS, lambda: result_future.complete([value]))


@BOTH_CLOCKS
def test_java_style_function_completes_result_future(clock: str) -> None:
    env = ENV().flowsim_settings(clock=clock)
    asked = AsyncDataStream.ordered_wait(env.from_collection([1, 2, 3]), Echo(), SECOND)
    assert list(asked.execute_and_collect()) == [1, 2, 3]


def test_java_style_function_without_timeout_method_fails_on_timeout() -> None:
    asked = AsyncDataStream.ordered_wait(ENV().from_collection([1, 0]), Echo(), SECOND)
    with pytest.raises(JobFailed, match=r"record 0: .*TimeoutError: Async function call has timed out"):
        list(asked.execute_and_collect())


# Both clocks.


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_simulated_calls_give_equal_results_on_both_clocks(mode: str) -> None:
    """In the same order where that is promised, else the same in some order; a share of the calls answers nothing."""

    def run(clock: str) -> list[object]:
        calls = SimulatedAsyncFunction(
            lambda value: [(value, "found")], UniformLatency(0, 8 * NS_PER_MS), on_timeout=lambda value: [(value, "late")],
            silence=lambda value: value % 50 == 3,
        )  # fmt: skip
        env = ENV().flowsim_settings(clock=clock)
        wait = AsyncDataStream.ordered_wait if mode == "ordered" else AsyncDataStream.unordered_wait
        asked = wait(env.from_collection(list(range(150))), calls, SECOND, 200)
        return list(asked.execute_and_collect())

    virtual, real = run("virtual"), run("real")
    expected = [(value, "late" if value % 50 == 3 else "found") for value in range(150)]
    if mode == "ordered":
        assert virtual == real == expected
    else:
        assert sorted(virtual) == sorted(real) == expected  # type: ignore[type-var]


# The description of the operator.


def test_graph_describes_async_parameters() -> None:
    env = ENV()
    backoff = AsyncRetryStrategy.exponential_backoff(2, 2, 10, 2.0, empty_result_predicate, has_exception_predicate)
    asked = AsyncDataStream.unordered_wait_with_retry(env.from_collection([1]), asks(slow), SECOND, backoff, 7)
    AsyncDataStream.ordered_wait(asked, asks(slow), Duration.of_millis(0)).print()
    params = [node.description for node in env.stream_graph().nodes.values() if node.description.kind == "async_wait"]
    assert [dict(one.params) for one in params] == [
        {
            "mode": "unordered", "capacity": 7, "timeout_ms": 1000, "design": "mailbox",
            "retry": {
                "kind": "exponential", "max_attempts": 2, "initial_ms": 2, "max_ms": 10, "multiplier": 2.0,
                "result": True, "exception": True,
            },
        },
        {"mode": "ordered", "capacity": 100, "timeout_ms": 0, "design": "mailbox", "retry": None},
    ]  # fmt: skip
