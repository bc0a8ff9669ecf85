"""Coroutines that go wrong, or would never end: what the job says, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import CancelJob, RunAction, StopJob
from flowsim.cluster.run_options import JobExecutionResult, JobStatus, RunOptions
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import AsyncDataStream, AsyncFunction, ResultFutureFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.errors import JobFailed
from flowsim.operators.async_calls import AsyncCalls
from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.units import NS_PER_MS
from tests.coroutines import BOTH_CLOCKS, UNMARKED, asks, failure_of, nothing_left_behind, results_of

pytestmark = UNMARKED

ENV = StreamExecutionEnvironment.get_execution_environment
MINUTE = Duration.of_minutes(1)


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


MUST = "asked, record 1: ElementFailed: could not complete the element: TypeError: async_invoke of Asking must answer"


@pytest.mark.parametrize(
    ("invoke", "said"),
    [
        (nothing, "a list of results, not None: return [] to emit nothing"),
        (text, "a list of results, not the str 'abc'"),
        (number, "a list of results, not the int 1"),
        (one_record, "a list of results, not the tuple (1, 'name'): a tuple is one record, write [(...)]"),
        (no_await, "a list of results, not the coroutine lookup: was an await forgotten?"),
        (no_await_inside, "a list of results, not the coroutine lookup: was an await forgotten?"),
    ],
)
@BOTH_CLOCKS
def test_what_is_no_list_of_results_fails_the_job(invoke: Any, said: str, clock: str) -> None:
    assert failure_of(asks(invoke), clock=clock) == f"{MUST} {said}"


@pytest.mark.parametrize("value", [None, "x", (1,)])
def test_a_timeout_must_answer_a_list_too(value: object) -> None:
    async def never(record: object) -> list[object]:
        await asyncio.Event().wait()
        return []

    assert "TypeError: timeout of AskingWithTimeout must answer a list of results, not" in failure_of(
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
def test_what_a_coroutine_raises_fails_the_job_over_its_record(
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
def test_the_line_that_raised_is_named(clock: str) -> None:
    class Raises(AsyncFunction):
        async def async_invoke(self, value: Any) -> list[Any]:
            raise KeyError(value)

    line = Raises.async_invoke.__code__.co_firstlineno + 1
    assert failure_of(Raises(), clock=clock).endswith(f"KeyError: 1 (test_async_failures.py:{line})")


@BOTH_CLOCKS
def test_ctrl_c_in_a_coroutine_ends_the_program_as_anywhere_else(clock: str) -> None:
    async def interrupted(value: int) -> list[int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        results_of(asks(interrupted), clock=clock)


@BOTH_CLOCKS
def test_a_real_ctrl_c_leaves_no_call_behind(clock: str) -> None:
    """The first record sends it, as a user at the keyboard would."""

    async def sends(value: int) -> list[int]:
        if value == 1:
            signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(3600)
        return []

    with pytest.raises(KeyboardInterrupt):
        results_of(asks(sends), timeout_ms=0, clock=clock)


@BOTH_CLOCKS
def test_a_job_of_coroutines_runs_inside_of_a_running_loop_too(clock: str) -> None:
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
def test_the_virtual_clock_refuses_the_world_by_name(invoke: Any, name: str) -> None:
    assert failure_of(asks(invoke)).startswith(
        "asked, record 1: ElementFailed: could not complete the element: VirtualClockRefusal: "
        f"{name} is not available on the virtual clock: "
    )


# Calls that would never end.


class Endless(AsyncFunction):
    """Never answers; notes which of its calls were ended, and when the function itself was."""

    def __init__(self, log: list[object]) -> None:
        self.log = log

    def __deepcopy__(self, memo: object) -> Endless:
        return Endless(self.log)

    async def async_invoke(self, value: Any) -> list[Any]:
        if value < 0:
            raise ValueError("fails on purpose")
        try:
            await asyncio.Event().wait()
        finally:
            self.log.append(value)
        return []

    async def close(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0.001)
        self.log.append("closed")


def run(function: Any, clock: str, *, values: Any = None, until_ms: int | None = None, action: RunAction | None = None,
        timeout: Duration = MINUTE) -> JobExecutionResult:  # fmt: skip
    env = ENV()
    stream = env.from_collection([0, 1, 2]) if values is None else env.add_source(ScriptedSource(values))
    AsyncDataStream.unordered_wait(stream, function, timeout, 3).name("asked").print()
    until_ns = None if until_ms is None else until_ms * NS_PER_MS
    actions = () if action is None else (action,)
    return MiniCluster(env.stream_graph(), RunOptions(clock=clock, until_ns=until_ns, actions=actions)).run()


THREE = [record(1, 0), record(2, 0), record(3, 0)]
AT = 30 * NS_PER_MS


@pytest.mark.parametrize(
    ("values", "until_ms", "action", "status"),
    [
        ([*THREE, sleep(500)], 30, None, JobStatus.STOPPED),
        ([*THREE, sleep(500)], None, CancelJob(AT), JobStatus.CANCELED),
        ([*THREE, sleep(500)], None, StopJob(AT, drain=False), JobStatus.FINISHED),
        ([*THREE[:2], sleep(30), record(-1, 0), sleep(500)], None, None, JobStatus.FAILED),
    ],
    ids=["until", "cancelled", "stopped without drain", "failed"],
)
@BOTH_CLOCKS
def test_calls_that_would_never_end_are_ended_with_the_job(
    values: Any, until_ms: int | None, action: RunAction | None, status: JobStatus, clock: str
) -> None:
    log: list[object] = []
    ended = run(Endless(log), clock, values=values, until_ms=until_ms, action=action)
    assert ended.status is status
    assert log == [*([1, 2] if status is JobStatus.FAILED else [1, 2, 3]), "closed"]


def test_a_job_that_stands_still_ends_its_calls_too() -> None:
    log: list[object] = []
    assert run(Endless(log), "virtual", values=THREE, timeout=Duration.of_millis(0)).status is JobStatus.DEADLOCKED
    assert log == [1, 2, 3, "closed"]


@BOTH_CLOCKS
def test_a_call_that_outlives_its_record_is_ended_with_the_task(clock: str) -> None:
    """A timeout answers for the record; nobody tells the coroutine (PyFlink does not either)."""
    log: list[object] = []

    class Late(Endless):
        def __deepcopy__(self, memo: object) -> Late:
            return Late(self.log)

        def timeout(self, value: Any) -> list[Any]:
            return [-value]

    assert sorted(results_of(Late(log), timeout_ms=5, clock=clock)) == [-3, -2, -1]  # type: ignore[type-var]
    assert log == [1, 2, 3, "closed"]


def test_calls_are_ended_with_their_task_though_the_job_goes_on() -> None:
    """The records behind it keep the next task busy for minutes."""
    ended_ms: list[float] = []

    class Late(Endless):
        def __deepcopy__(self, memo: object) -> Late:
            return Late(self.log)

        async def async_invoke(self, value: Any) -> list[Any]:
            try:
                return await super().async_invoke(value)
            finally:
                ended_ms.append(asyncio.get_running_loop().time() * 1000 - 1000)

        def timeout(self, value: Any) -> list[Any]:
            return [-value]

    env = ENV()
    asked = AsyncDataStream.ordered_wait(env.from_collection([1, 2]), Late([]), Duration.of_millis(50))
    behind = asked.rebalance().map(lambda value: value).cost(MINUTE)
    assert list(behind.execute_and_collect()) == [-1, -2]
    assert [round(at) for at in ended_ms] == [51, 51]


@BOTH_CLOCKS
def test_a_call_that_takes_its_time_to_end_is_waited_for(clock: str) -> None:
    log: list[object] = []

    class Tidy(Endless):
        def __deepcopy__(self, memo: object) -> Tidy:
            return Tidy(self.log)

        async def async_invoke(self, value: Any) -> list[Any]:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.01)
                self.log.append(value)
            return []

    assert run(Tidy(log), clock, values=[*THREE, sleep(500)], until_ms=20).status is JobStatus.STOPPED
    assert log == [1, 2, 3, "closed"]


@BOTH_CLOCKS
def test_a_call_that_catches_its_cancellation_once_is_cancelled_again(clock: str) -> None:
    log: list[object] = []

    class Stubborn(Endless):
        def __deepcopy__(self, memo: object) -> Stubborn:
            return Stubborn(self.log)

        async def async_invoke(self, value: Any) -> list[Any]:
            while len(self.log) < 2:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    self.log.append("no")
            raise ValueError("told to nobody")

    assert run(Stubborn(log), clock, values=[record(1, 0), sleep(500)], until_ms=20).status is JobStatus.STOPPED
    assert log == ["no", "no", "closed"]


@BOTH_CLOCKS
def test_what_goes_wrong_at_the_very_end_fails_a_job_that_was_fine(clock: str) -> None:
    class Broken(AsyncFunction):
        async def async_invoke(self, value: Any) -> list[Any]:
            return [value]

        async def close(self) -> None:  # type: ignore[override]
            raise OSError("the pool is gone")

    ended = run(Broken(), clock)
    assert ended.status is JobStatus.FAILED
    assert "asked -> Sink: Print to Std. Out (1/1): OSError: the pool is gone (" in str(ended.error)


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
def test_a_future_that_is_given_no_list_fails_the_job_over_the_record(results: object) -> None:
    failure = failure_of(Badly(results))  # type: ignore[arg-type]
    assert failure.startswith(
        "asked, record 1: ElementFailed: could not complete the element: TypeError: the results of"
    )


@BOTH_CLOCKS
def test_what_is_raised_instead_of_answering_fails_the_task(clock: str) -> None:
    with pytest.raises(JobFailed, match=r"asked.*: KeyError: 'x' \(test_async_failures.py:"):
        results_of(Badly(KeyError("x")), clock=clock)  # type: ignore[arg-type]
