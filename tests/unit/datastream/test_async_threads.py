"""Answers from other threads, as Java's ResultFuture accepts them: on the real clock; refused on the virtual one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from flowsim.datastream import (
    AsyncDataStream,
    AsyncRetryStrategy,
    ResultFutureFunction,
    StreamExecutionEnvironment,
)
from flowsim.datastream.async_retry_predicates import has_exception_predicate
from flowsim.datastream.common import Duration
from flowsim.errors import JobFailed
from flowsim.operators.async_wait.result_future import ResultFuture
from tests.support.jobs.coroutines import UNMARKED, nothing_left_behind

pytestmark = UNMARKED
BOTH_DESIGNS = pytest.mark.parametrize("design", ["mailbox", "legacy"])
MINUTE = Duration.of_minutes(1)


@pytest.fixture(autouse=True)
def _nothing_left_behind(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with nothing_left_behind(caplog):
        yield


class Pooled(ResultFutureFunction):
    """Its ``work`` runs on a pool of threads; what it raises is kept in ``done``."""

    threads = 1

    def __init__(self) -> None:
        self.done: list[Future[None]] = []

    def __deepcopy__(self, memo: object) -> Pooled:
        return self

    def open(self, runtime_context: object) -> None:
        self.pool = ThreadPoolExecutor(self.threads)

    def close(self) -> None:
        self.pool.shutdown()

    def async_invoke(self, value: Any, result_future: ResultFuture) -> None:
        self.done.append(self.pool.submit(self.work, value, result_future))

    def work(self, value: Any, result_future: ResultFuture) -> None:
        result_future.complete([value * 2])


def asked(
    function: Any, design: Any, *, records: int = 3, capacity: int = 10, clock: Any = "real", timeout: Duration = MINUTE
) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment().flowsim_settings(clock=clock)
    stream = env.from_collection(list(range(records)))
    behind = AsyncDataStream.unordered_wait(stream, function, timeout, capacity, design=design).name("asked")
    return list(behind.execute_and_collect())


@BOTH_DESIGNS
def test_answers_of_sixteen_threads_keep_the_capacity(design: Any) -> None:
    class Counting(Pooled):
        threads = 16

        def __init__(self) -> None:
            super().__init__()
            self.lock = threading.Lock()
            self.running = self.most = 0

        def async_invoke(self, value: Any, result_future: ResultFuture) -> None:
            with self.lock:
                self.running += 1
                self.most = max(self.most, self.running)
            super().async_invoke(value, result_future)

        def work(self, value: Any, result_future: ResultFuture) -> None:
            with self.lock:
                self.running -= 1
            result_future.complete([value * 2])

    counting = Counting()
    assert sorted(asked(counting, design, records=2000, capacity=40)) == [2 * value for value in range(2000)]
    assert 1 <= counting.most <= 40
    assert [one.exception() for one in counting.done] == [None] * 2000


@BOTH_DESIGNS
def test_answer_from_thread_wakes_waiting_task(design: Any) -> None:
    """The second record is asked for when the first has left, and nothing else wakes the loop."""

    class Late(Pooled):
        def work(self, value: Any, result_future: ResultFuture) -> None:
            threading.Event().wait(0.05)
            result_future.complete([value])

    assert asked(Late(), design, capacity=1, timeout=Duration.of_millis(0)) == [0, 1, 2]


@BOTH_DESIGNS
def test_answers_of_one_thread_keep_their_order(design: Any) -> None:
    class Backwards(Pooled):
        def __init__(self) -> None:
            super().__init__()
            self.asked: list[tuple[int, ResultFuture]] = []

        def work(self, value: Any, result_future: ResultFuture) -> None:
            self.asked.append((value, result_future))
            if value == 99:
                for number, future in reversed(self.asked):
                    future.complete([number])

    assert asked(Backwards(), design, records=100, capacity=100) == list(range(99, -1, -1))


@BOTH_DESIGNS
def test_exception_from_thread_fails_job_with_record(design: Any) -> None:
    class Failing(Pooled):
        def work(self, value: Any, result_future: ResultFuture) -> None:
            if value == 1:
                result_future.complete_exceptionally(OSError("no route"))
            else:
                result_future.complete([value])

    with pytest.raises(JobFailed, match=r"operator asked, record 1: .*OSError: no route"):
        asked(Failing(), design)


@BOTH_DESIGNS
def test_complete_from_supplier_runs_on_thread_of_task(design: Any) -> None:
    made: list[int] = []

    class Supplied(Pooled):
        def work(self, value: Any, result_future: ResultFuture) -> None:
            def supply() -> list[Any]:
                made.append(threading.get_ident())
                return [value]

            result_future.complete_from(supply)

    assert sorted(asked(Supplied(), design)) == [0, 1, 2]
    assert made == [threading.get_ident()] * 3


def test_failed_answer_from_thread_is_retried() -> None:
    """Record 1 waits for a place meanwhile, so the input has not ended, when every outcome is final (rule 11.27)."""

    class Twice(Pooled):
        def work(self, value: Any, result_future: Any) -> None:
            if value == 0 and result_future.attempts == 1:
                result_future.complete_exceptionally(OSError("busy"))
            else:
                result_future.complete([value])

    env = StreamExecutionEnvironment.get_execution_environment().flowsim_settings(clock="real")
    retry = AsyncRetryStrategy.fixed_delay(2, 1, None, has_exception_predicate)
    behind = AsyncDataStream.ordered_wait_with_retry(env.from_collection([0, 1]), Twice(), MINUTE, retry, 1)
    assert list(behind.execute_and_collect()) == [0, 1]


def test_answer_from_thread_after_job_end_is_dropped() -> None:
    over = threading.Event()

    class TooLate(Pooled):
        def close(self) -> None:
            return

        def work(self, value: Any, result_future: ResultFuture) -> None:
            over.wait()
            result_future.complete([value])

        def timeout(self, value: Any, result_future: ResultFuture) -> None:
            result_future.complete([-value])

    late = TooLate()
    assert sorted(asked(late, "mailbox", timeout=Duration.of_millis(5))) == [-2, -1, 0]
    over.set()
    late.pool.shutdown()
    assert [one.exception() for one in late.done] == [None] * 3


@BOTH_DESIGNS
@pytest.mark.parametrize("timeout", [MINUTE, Duration.of_millis(0)], ids=["timeout", "standstill"])
def test_answer_from_thread_on_virtual_clock_fails_job_by_name(design: Any, timeout: Duration) -> None:
    """Virtual time does not wait for the thread, which may come first or after the timeout: the failure is the same."""

    class Late(Pooled):
        def work(self, value: Any, result_future: ResultFuture) -> None:
            threading.Event().wait(0.02)
            result_future.complete([value])

    late = Late()
    with pytest.raises(JobFailed) as failed:
        asked(late, design, records=1, clock="virtual", timeout=timeout)
    assert str(failed.value).endswith(
        "operator asked, record 0: AnswerFromThread: completing a ResultFuture in another thread is not available on the "
        "virtual clock: threads would make the run depend on the machine; use --clock real"
    )
    assert (failed.value.operator, failed.value.record) == ("asked", "0")
    assert "completing a ResultFuture in another thread" in str(late.done[0].exception())


def test_answer_from_thread_during_element_on_virtual_clock_fails_job() -> None:
    """The task waits for the thread here, in the middle of a record, so the answer is there before any timeout."""

    class Joined(Pooled):
        def async_invoke(self, value: Any, result_future: ResultFuture) -> None:
            super().async_invoke(value, result_future)
            self.done[-1].exception()

    joined = Joined()
    with pytest.raises(JobFailed, match="operator asked, record 0: AnswerFromThread: "):
        asked(joined, "mailbox", clock="virtual")
