"""Calls that are tried again: when, how often, what the end and a timeout make of them (rules 11.24-11.29)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from flowsim.errors import Deadlock
from flowsim.facts.kinds import AsyncAction
from flowsim.mailbox.task_mailbox import MailboxClosedException
from flowsim.operators.async_wait.retry_strategies import (
    AsyncRetryStrategy,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
)
from tests.support.operators.async_wait_harness import AsyncBench


def is_empty(results: Sequence[Any]) -> bool:
    return not results


def is_a_value_error(error: BaseException) -> bool:
    return isinstance(error, ValueError)


def fixed(max_attempts: int = 2, pause_ms: int = 5) -> AsyncRetryStrategy:
    return FixedDelayRetryStrategy(max_attempts, pause_ms, is_empty, is_a_value_error)


def retrying(*, timeout_ms: int = 100, strategy: AsyncRetryStrategy | None = None, capacity: int = 10) -> AsyncBench:
    return AsyncBench(timeout_ms=timeout_ms, strategy=strategy or fixed(), capacity=capacity)


def wait(bench: AsyncBench, ms: int) -> None:
    """Time passes from 1 ms on; timers run, and then what they put."""
    bench.set_processing_time(bench.processing_time.current_processing_time_ms() + ms)
    bench.run_mails()


def test_matching_outcome_is_retried_after_the_pause() -> None:
    with retrying() as bench:
        bench.process_element("a", 1)
        bench.answer("a")
        wait(bench, 4)
        assert bench.calls.values == ["a"]
        wait(bench, 1)
        assert bench.calls.values == ["a", "a"]
        bench.answer("a", "A")
        assert bench.output == [("rec", "A", 1)]


def test_matching_error_is_retried_and_others_fail_the_task() -> None:
    with retrying() as bench:
        bench.process_element("a", 1)
        bench.calls.future("a").complete_exceptionally(ValueError())
        bench.run_mails()
        assert bench.failures == []
        wait(bench, 5)
        bench.calls.future("a").complete_exceptionally(KeyError("no"))
        bench.run_mails()
        assert [str(failure) for failure in bench.failures] == ["could not complete the element: KeyError: 'no'"]


def test_n_retries_call_function_n_plus_one_times() -> None:
    """Rule 11.25; then the last outcome counts, whatever it is."""
    with retrying(strategy=fixed(max_attempts=2)) as bench:
        bench.process_element("a", 1)
        for _ in range(3):
            bench.answer("a")
            wait(bench, 5)
        assert bench.calls.values == ["a", "a", "a"]
        assert bench.output == []
        assert len(bench.waiting.snapshot_state()) == 0
        assert bench.facts("attempt", "action")[:-2] == [
            (0, AsyncAction.PUT), (1, AsyncAction.INVOKE), (1, AsyncAction.RETRY), (2, AsyncAction.INVOKE),
            (2, AsyncAction.RETRY), (3, AsyncAction.INVOKE),
        ]  # fmt: skip


def test_first_outcome_mail_wins_over_second() -> None:
    with retrying() as bench:
        bench.process_element("a", 1)
        future = bench.calls.future("a")
        future.complete([])
        future.complete(["too late"])
        assert (bench.output, len(bench.mails)) == ([], 2)
        bench.run_mails()
        assert (bench.output, list(bench.waiting.awaiting_retry)) == ([], [0])


def test_element_awaiting_retry_keeps_its_queue_slot() -> None:
    """Rule 11.29."""
    with retrying(capacity=1) as bench:
        bench.process_element("a", 1)
        bench.answer("a")
        with pytest.raises(Deadlock):
            bench.process_element("b", 2)


def test_exponential_backoff_is_shared_by_records_of_subtask() -> None:
    """Rule 11.26: b's first retry resets the pause, so a's second one waits no longer than b's first times two."""
    strategy = ExponentialBackoffDelayRetryStrategy(5, 10, 1000, 2.0, is_empty)
    with retrying(timeout_ms=10_000, strategy=strategy) as bench:
        bench.process_elements([("a", 1), ("b", 2)])
        pauses: list[int] = []

        def answered(value: str) -> None:
            now_ms = bench.processing_time.current_processing_time_ms()
            before = set(bench.processing_time.live_timers_ms())
            bench.answer(value)
            pauses.extend(each - now_ms for each in set(bench.processing_time.live_timers_ms()) - before)

        answered("a")
        wait(bench, 10)
        answered("a")
        wait(bench, 20)
        answered("b")
        answered("a")
        assert pauses == [10, 20, 10, 20]


def test_predicates_are_called_even_when_no_retry_is_possible() -> None:
    asked: list[Sequence[Any]] = []

    def asks(results: Sequence[Any]) -> bool:
        asked.append(list(results))
        return True

    with retrying(strategy=FixedDelayRetryStrategy(1, 5, asks), timeout_ms=20) as bench:
        bench.process_element("a", 1)
        wait(bench, 3)
        bench.clock.now_ns += 30_000_000
        bench.answer("a", "late")
        assert (asked, bench.output) == ([["late"]], [("rec", "late", 1)])


@pytest.mark.parametrize(("after_ms", "waiting"), [(20, [0]), (21, [])])
def test_element_times_out_only_after_more_than_timeout(after_ms: int, waiting: list[int]) -> None:
    """Rule 11.24: whether the timer of the timeout has fired does not matter."""
    with retrying(timeout_ms=20) as bench:
        bench.process_element("a", 1)
        bench.clock.now_ns += after_ms * 1_000_000
        bench.answer("a")
        assert list(bench.waiting.awaiting_retry) == waiting


def test_timeout_cancels_pending_retry_and_calls_timeout_once() -> None:
    """Rule 11.26: one timeout covers all calls, and the retry that was awaited does not come."""
    with retrying(timeout_ms=20, strategy=fixed(pause_ms=50)) as bench:
        bench.calls.on_timeout = lambda value, future: future.complete([f"no {value}"])
        bench.process_element("a", 1)
        bench.answer("a")
        assert bench.processing_time.live_timers_ms() == [21, 51]
        wait(bench, 21)
        assert (bench.calls.timed_out, bench.output) == (["a"], [("rec", "no a", 1)])
        assert bench.processing_time.live_timers_ms() == []


@pytest.mark.parametrize("results", [["no a"], None], ids=["answered", "left alone"])
def test_retry_mail_behind_timeout_mail_does_nothing(results: list[str] | None) -> None:
    """Cancelling its timer comes too late."""
    with retrying(timeout_ms=20, strategy=fixed(pause_ms=20)) as bench:
        bench.calls.on_timeout = lambda value, future: None if results is None else future.complete(results)
        bench.process_element("a", 1)
        bench.answer("a")
        timeout, retry = bench.processing_time.timers
        bench.clock.now_ns += 21 * 1_000_000
        bench.executor.execute(lambda: timeout.callback(timeout.timestamp_ms), "one timer has fired")
        bench.executor.execute(lambda: retry.callback(retry.timestamp_ms), "the other one, too")
        bench.run_mails()
        assert (bench.calls.timed_out, bench.calls.values) == (["a"], ["a"])


def test_results_given_by_timeout_are_final() -> None:
    """Rule 11.26: they ask for a retry, and would get one without the millisecond of rule 9.10."""
    with retrying(timeout_ms=20) as bench:
        bench.calls.on_timeout = lambda value, future: future.complete([])
        bench.process_element("a", 1)
        bench.clock.now_ns += 21 * 1_000_000
        wait(bench, 0)
        assert len(bench.waiting.snapshot_state()) == 0
        assert bench.calls.values == ["a"]


def test_timeout_without_results_leaves_element_to_running_call() -> None:
    with retrying(timeout_ms=20) as bench:
        bench.process_element("a", 1)
        wait(bench, 25)
        assert bench.calls.timed_out == ["a"]
        bench.answer("a")
        assert len(bench.waiting.snapshot_state()) == 0


# The end of input.


def test_end_of_input_calls_pending_retry_once_with_final_outcome() -> None:
    """Rule 11.27."""
    with retrying() as bench:
        bench.process_elements([("a", 1), ("b", 2)])
        bench.answer("a")
        bench.calls.at_once = lambda value, future: future.complete([])
        bench.calls.answer("b", "B")
        bench.operator.end_input()
        assert (bench.calls.values, bench.output) == (["a", "b", "a"], [("rec", "B", 2)])
        assert bench.processing_time.live_timers_ms() == []


def test_end_of_input_calls_running_retry_once_more() -> None:
    """Rule 11.27: it joined those that await a retry with its first one, and leaves them only with its last outcome."""
    with retrying() as bench:
        bench.process_element("a", 1)
        bench.answer("a")
        wait(bench, 5)
        assert bench.calls.values == ["a", "a"]
        bench.calls.at_once = lambda value, future: future.complete(["A"])
        bench.operator.end_input()
        assert (bench.calls.values, bench.output) == (["a", "a", "a"], [("rec", "A", 1)])


def test_end_of_input_adds_a_call_to_queued_retry_mail() -> None:
    """Rule 11.27: cancelling its timer comes too late."""
    with retrying(strategy=fixed(max_attempts=1)) as bench:
        bench.process_element("a", 1)
        bench.answer("a")
        timer = bench.processing_time.timers[-1]
        bench.executor.execute(lambda: timer.callback(timer.timestamp_ms), "the timer has fired")
        bench.executor.execute(lambda: bench.calls.answer("a", "A"), "an answer")
        bench.operator.end_input()
        assert (bench.calls.values, bench.output) == (["a", "a", "a"], [("rec", "A", 1)])


def test_end_of_input_calls_element_timed_out_before_first_retry() -> None:
    """Rule 11.28."""
    with retrying(timeout_ms=20, strategy=fixed(pause_ms=50)) as bench:
        bench.calls.on_timeout = lambda value, future: future.complete([f"no {value}"])
        bench.process_element("a", 1)
        bench.answer("a")
        wait(bench, 21)
        assert bench.output == [("rec", "no a", 1)]
        bench.operator.end_input()
        assert bench.calls.values == ["a", "a"]
        bench.answer("a", "for nothing")
        assert bench.output == [("rec", "no a", 1)]


def test_end_of_input_does_not_call_element_timed_out_after_first_retry() -> None:
    with retrying(timeout_ms=20, strategy=fixed(pause_ms=5)) as bench:
        bench.calls.on_timeout = lambda value, future: future.complete([f"no {value}"])
        bench.process_element("a", 1)
        bench.answer("a")
        wait(bench, 5)
        bench.clock.now_ns += 21 * 1_000_000
        wait(bench, 0)
        bench.operator.end_input()
        assert bench.calls.values == ["a", "a"]


def test_outcomes_after_end_of_input_are_final() -> None:
    with retrying() as bench:
        bench.process_elements([("a", 1), ("b", 2), ("c", 3)])
        bench.executor.execute(lambda: bench.calls.answer("a"), "an answer")
        bench.executor.execute(lambda: bench.calls.future("b").complete_exceptionally(ValueError("b")), "an error")
        bench.executor.execute(lambda: bench.calls.future("c").complete_from(lambda: ["C"]), "results to be made")
        bench.operator.end_input()
        assert bench.calls.values == ["a", "b", "c"]
        assert bench.output == [("rec", "C", 3)]
        assert [str(failure) for failure in bench.failures] == ["could not complete the element: ValueError: b"]


# What the user's code may do wrong.


@pytest.mark.parametrize("wrong", [None, "text", 7])
def test_invalid_results_are_refused_and_call_continues(wrong: Any) -> None:
    """Rule 11.12."""
    with retrying() as bench:
        bench.process_element("a", 1)
        with pytest.raises(TypeError, match="must be a list"):
            bench.calls.future("a").complete(wrong)
        bench.answer("a", "A")
        assert bench.output == [("rec", "A", 1)]


def supply(bench: AsyncBench, supplier: Callable[[], Any]) -> None:
    bench.calls.future("a").complete_from(supplier)
    bench.run_mails()


def test_exception_of_supplier_is_an_outcome() -> None:
    def fail() -> Any:
        raise ValueError("not yet")

    with retrying() as bench:
        bench.process_element("a", 1)
        supply(bench, fail)
        wait(bench, 5)
        assert bench.calls.values == ["a", "a"]
        supply(bench, lambda: ["A"])
        assert bench.output == [("rec", "A", 1)]


@pytest.mark.parametrize("wrong", [None, "text"])
def test_supplier_of_invalid_results_fails_task_without_retry(wrong: Any) -> None:
    """Nobody asks the predicates about it."""
    strategy = FixedDelayRetryStrategy(2, 5, lambda results: True, lambda error: True)
    with retrying(strategy=strategy) as bench:
        bench.process_element("a", 1)
        supply(bench, lambda: wrong)
        (failure,) = bench.failures
        assert "must be a list" in str(failure)
        supply(bench, list)
        assert bench.calls.values == ["a"]
        assert bench.processing_time.live_timers_ms() == [], "what comes after the last outcome is not tried again"


def test_exception_of_predicate_fails_task_unless_from_supplier() -> None:
    """Then the error is taken for an outcome that comes too late, as in Flink, and only the timeout ends the waiting."""

    def raises(results: Sequence[Any]) -> bool:
        raise KeyError("predicate")

    with retrying(strategy=FixedDelayRetryStrategy(2, 5, raises), timeout_ms=20) as bench:
        bench.process_element("a", 1)
        bench.calls.answer("a", "A")
        with pytest.raises(KeyError):
            bench.run_mails()
    with retrying(strategy=FixedDelayRetryStrategy(2, 5, raises), timeout_ms=20) as bench:
        bench.calls.on_timeout = lambda value, future: future.complete_exceptionally(TimeoutError("over"))
        bench.process_element("a", 1)
        supply(bench, lambda: ["A"])
        assert (bench.output, bench.failures) == ([], [])
        wait(bench, 25)
        assert [str(failure) for failure in bench.failures] == ["could not complete the element: TimeoutError: over"]


def test_results_of_supplier_after_quiesce_are_lost() -> None:
    """Their mail still runs, but the next one, which completes the element, is refused inside of it."""

    def fail() -> Any:
        raise KeyError("b")

    with retrying() as bench:
        bench.process_elements([("a", 1), ("b", 2)])
        bench.calls.future("a").complete_from(lambda: ["A"])
        bench.calls.future("b").complete_from(fail)
        bench.mails.quiesce()
        bench.run_mails()
        assert bench.output == []
        assert [str(failure) for failure in bench.failures] == ["could not complete the element: KeyError: 'b'"]


def test_outcome_after_quiesce_is_refused() -> None:
    """Rule 11.16."""
    with retrying() as bench:
        bench.process_element("a", 1)
        bench.mails.quiesce()
        for outcome in (
            lambda future: future.complete(["A"]),
            lambda future: future.complete_from(lambda: ["A"]),
            lambda future: future.complete_exceptionally(ValueError()),
        ):
            with pytest.raises(MailboxClosedException):
                outcome(bench.calls.future("a"))


def test_pause_beyond_64_bits_is_over_at_once() -> None:
    with retrying(strategy=fixed(pause_ms=2**63 - 1)) as bench:
        bench.process_element("a", 1)
        bench.answer("a")
        wait(bench, 0)
        assert bench.calls.values == ["a", "a"]
