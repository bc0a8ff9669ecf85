"""Coroutines that fail: the message of the job, and that no coroutine is left."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from flowsim.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    ResultFutureFunction,
    StreamExecutionEnvironment,
)
from flowsim.datastream.async_retry_predicates import empty_result_predicate
from flowsim.datastream.async_retry_strategies import RetryPredicate
from flowsim.datastream.common import Duration
from flowsim.errors import JobFailed
from flowsim.operators.async_calls import AsyncCalls
from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.units import NS_PER_MS
from tests.support.jobs.coroutines import BOTH_CLOCKS, UNMARKED, asks, failure_of, nothing_left_behind, results_of

pytestmark = UNMARKED


@pytest.fixture(autouse=True)
def _nothing_left_behind(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with nothing_left_behind(caplog):
        yield


async def lookup(value: object) -> list[object]:
    await asyncio.sleep(0.001)
    return [value]


async def nothing(value: object) -> None:
    await lookup(value)


async def text(value: object) -> str:
    return "abc"


async def one_record(value: object) -> tuple[object, object]:
    return (value, "name")


async def number(value: object) -> object:
    return value


async def no_await(value: object) -> object:
    return lookup(value)


async def no_await_inside(value: object) -> object:
    return [value, lookup(value)]


MUST = "asked, record 1: ElementFailed: could not complete the element: TypeError: async_invoke of Asking must return"


@pytest.mark.parametrize(
    ("invoke", "said"),
    [
        (nothing, "a list of results, not None: return [] to emit nothing"),
        (text, "a list of results, not the str 'abc'"),
        (number, "a list of results, not the int 1"),
        (one_record, "a list of results, not the tuple (1, 'name'): a tuple is one record, write [(...)]"),
        (no_await, "a list of results, not the coroutine lookup: is an await missing?"),
        (no_await_inside, "a list of results, not the coroutine lookup: is an await missing?"),
    ],
)
@BOTH_CLOCKS
def test_result_that_is_no_list_fails_the_job(invoke: Any, said: str, clock: str) -> None:
    assert failure_of(asks(invoke), clock=clock) == f"{MUST} {said}"


@pytest.mark.parametrize("value", [None, "x", (1,)])
def test_timeout_result_must_be_a_list(value: object) -> None:
    async def never(record: object) -> list[object]:
        await asyncio.Event().wait()
        return []

    assert "TypeError: timeout of AskingWithTimeout must return a list of results, not" in failure_of(
        asks(never, timeout=lambda record: value), timeout_ms=5
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no such key"), "ValueError: no such key"),
        (asyncio.CancelledError(), "CancelledError: "),
        (asyncio.CancelledError("by me"), "CancelledError: by me"),
        (SystemExit(3), "SystemExit: 3"),
        (GeneratorExit(), "GeneratorExit: "),
        (StopIteration(), "RuntimeError: coroutine raised StopIteration"),
        (TimeoutError(), "TimeoutError: "),
    ],
)
@pytest.mark.parametrize("waits", [False, True])
@BOTH_CLOCKS
def test_exception_of_coroutine_fails_job_with_its_record(
    error: BaseException, said: str, waits: bool, clock: str
) -> None:
    """Whatever it is: asyncio would take some of these for its own, and the record would wait for ever."""

    async def raises(value: int) -> list[int]:
        if waits:
            await asyncio.sleep(0.001)
        if value == 2:
            raise error
        await asyncio.sleep(60)
        return []

    failure = failure_of(asks(raises), clock=clock)
    assert failure.startswith(f"asked, record 2: ElementFailed: could not complete the element: {said}")


@BOTH_CLOCKS
def test_failure_names_the_line_that_raised(clock: str) -> None:
    class Raises(AsyncFunction):
        async def async_invoke(self, value: Any) -> list[Any]:
            raise KeyError(value)

    line = Raises.async_invoke.__code__.co_firstlineno + 1
    assert failure_of(Raises(), clock=clock).endswith(f"KeyError: 1 (test_async_failures.py:{line})")


@BOTH_CLOCKS
def test_keyboard_interrupt_in_coroutine_is_raised(clock: str) -> None:
    async def interrupted(value: int) -> list[int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        results_of(asks(interrupted), clock=clock)


@BOTH_CLOCKS
def test_sigint_leaves_no_call_running(clock: str) -> None:
    """The first record sends it, as a user at the keyboard would."""

    async def sends(value: int) -> list[int]:
        if value == 1:
            signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(3600)
        return []

    with pytest.raises(KeyboardInterrupt):
        results_of(asks(sends), timeout_ms=0, clock=clock)


@BOTH_CLOCKS
def test_job_with_coroutines_runs_inside_running_loop(clock: str) -> None:
    """As in a notebook: in a thread of its own."""

    async def in_a_notebook() -> list[object]:
        return results_of(asks(lookup), mode="ordered", clock=clock)

    assert asyncio.run(in_a_notebook()) == [1, 2, 3]


# The virtual clock does not reach out of the process.


async def opens_a_socket(value: object) -> list[object]:
    await asyncio.open_connection("127.0.0.1", 9)
    return []


async def looks_up_a_host(value: object) -> list[object]:
    await asyncio.get_running_loop().getaddrinfo("localhost", 80)
    return []


async def reads_a_raw_socket(value: object) -> list[object]:
    mine, other = socket.socketpair()
    try:
        mine.setblocking(False)
        await asyncio.get_running_loop().sock_recv(mine, 1)
    finally:
        mine.close()
        other.close()
    return []


async def starts_a_process(value: object) -> list[object]:
    await asyncio.create_subprocess_exec("true")
    return []


async def uses_a_thread(value: object) -> list[object]:
    return [await asyncio.to_thread(os.getpid)]


async def is_woken_by_a_thread(value: object) -> list[object]:
    loop, errors = asyncio.get_running_loop(), []

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(print)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=wake)
    thread.start()
    thread.join()
    raise errors[0]


@pytest.mark.parametrize(
    ("invoke", "name"),
    [
        (opens_a_socket, "create_connection"),
        (looks_up_a_host, "getaddrinfo"),
        (reads_a_raw_socket, "sock_recv"),
        (starts_a_process, "subprocess_exec"),
        (uses_a_thread, "run_in_executor"),
        (is_woken_by_a_thread, "call_soon_threadsafe"),
    ],
)
def test_real_world_call_on_virtual_clock_is_refused_by_name(invoke: Any, name: str) -> None:
    assert failure_of(asks(invoke)).startswith(
        "asked, record 1: ElementFailed: could not complete the element: VirtualClockRefusal: "
        f"{name} is not available on the virtual clock: "
    )


# Functions in Java's shape that answer badly.


class Badly(ResultFutureFunction):
    calls: AsyncCalls

    def __init__(self, results: object) -> None:
        self.results = results

    def open(self, runtime_context: RuntimeContext) -> None:
        self.calls = runtime_context.async_calls

    def async_invoke(self, value: Any, result_future: ResultFuture) -> None:
        def answer() -> None:
            if isinstance(self.results, Exception):
                raise self.results
            result_future.complete(self.results)  # type: ignore[arg-type]

        self.calls.after(NS_PER_MS, answer)


@pytest.mark.parametrize("results", [None, "abc", 7], ids=["None", "str", "int"])
def test_result_future_completed_without_list_fails_job_with_record(results: object) -> None:
    failure = failure_of(Badly(results))  # type: ignore[arg-type]
    assert failure.startswith(
        "asked, record 1: ElementFailed: could not complete the element: TypeError: the results of"
    )


@BOTH_CLOCKS
def test_exception_in_async_invoke_of_java_style_function_fails_task(clock: str) -> None:
    with pytest.raises(JobFailed, match=r"asked.*: KeyError: 'x' \(test_async_failures.py:"):
        results_of(Badly(KeyError("x")), clock=clock)  # type: ignore[arg-type]


class Blaming(ResultFutureFunction):
    """Fails with what is no exception."""

    def async_invoke(self, value: Any, result_future: ResultFuture) -> None:
        result_future.complete_exceptionally("no such airline")  # type: ignore[arg-type]


@pytest.mark.parametrize("design", ["mailbox", "legacy"])
def test_complete_exceptionally_without_exception_fails_job_with_record(design: Any) -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    asked = AsyncDataStream.ordered_wait(stream, Blaming(), Duration.of_seconds(1), design=design)
    with pytest.raises(JobFailed) as failed:
        asked.execute_and_collect()
    assert (
        str(failed.value)
        .partition("operator, record ")[2]
        .startswith(
            "1: ElementFailed: could not complete the element: TypeError: complete_exceptionally must be given an exception: "
            "got 'no such airline' of type str"
        )
    )


class Strange(AsyncRetryStrategy):
    """Raises, or wants to wait for what is no time."""

    def __init__(self, pause: object) -> None:
        self.pause = pause

    def can_retry(self, current_attempts: int) -> bool:
        if isinstance(self.pause, Exception):
            raise self.pause
        return True

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self.pause  # type: ignore[return-value]

    def get_retry_predicate(self) -> Any:
        return RetryPredicate(empty_result_predicate, None)


@pytest.mark.parametrize(
    ("pause", "said"),
    [
        ("5", "BadInput: get_backoff_time_millis of Strange must return whole milliseconds, got '5'"),
        (2.5, "BadInput: get_backoff_time_millis of Strange must return whole milliseconds, got 2.5"),
        (KeyError("attempts"), "KeyError: 'attempts' (test_async_failures.py:"),
    ],
)
def test_invalid_result_of_retry_strategy_fails_job_with_record(pause: object, said: str) -> None:
    async def none(value: object) -> list[object]:
        return []

    assert failure_of(asks(none), strategy=Strange(pause)).startswith(f"asked, record 1: {said}")
