"""Retried calls: when, how often, and the effects of the end and of a timeout (rules 11.24-11.29)."""

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
from tests.support.operators.async_wait_harness import AsyncOperatorHarness


def is_empty(results: Sequence[Any]) -> bool:
    return not results


def is_a_value_error(error: BaseException) -> bool:
    return isinstance(error, ValueError)


def fixed(max_attempts: int = 2, pause_ms: int = 5) -> AsyncRetryStrategy:
    return FixedDelayRetryStrategy(max_attempts, pause_ms, is_empty, is_a_value_error)


def retrying(
    *, timeout_ms: int = 100, strategy: AsyncRetryStrategy | None = None, capacity: int = 10
) -> AsyncOperatorHarness:
    return AsyncOperatorHarness(timeout_ms=timeout_ms, strategy=strategy or fixed(), capacity=capacity)


def wait(harness: AsyncOperatorHarness, ms: int) -> None:
    """Time passes from 1 ms on; timers run, and then what they put."""
    harness.set_processing_time(harness.processing_time.current_processing_time_ms() + ms)
    harness.run_mails()


def test_matching_outcome_is_retried_after_the_pause() -> None:
    with retrying() as harness:
        harness.process_element("a", 1)
        harness.answer("a")
        wait(harness, 4)
        assert harness.calls.values == ["a"]
        wait(harness, 1)
        assert harness.calls.values == ["a", "a"]
        harness.answer("a", "A")
        assert harness.output == [("rec", "A", 1)]


def test_matching_error_is_retried_and_others_fail_the_task() -> None:
    with retrying() as harness:
        harness.process_element("a", 1)
        harness.calls.future("a").complete_exceptionally(ValueError())
        harness.run_mails()
        assert harness.failures == []
        wait(harness, 5)
        harness.calls.future("a").complete_exceptionally(KeyError("no"))
        harness.run_mails()
        assert [str(failure) for failure in harness.failures] == ["could not complete the element: KeyError: 'no'"]


def test_n_retries_call_function_n_plus_one_times() -> None:
    """Rule 11.25; then the last outcome counts, whatever it is."""
    with retrying(strategy=fixed(max_attempts=2)) as harness:
        harness.process_element("a", 1)
        for _ in range(3):
            harness.answer("a")
            wait(harness, 5)
        assert harness.calls.values == ["a", "a", "a"]
        assert harness.output == []
        assert len(harness.waiting.held_elements()) == 0
        assert harness.facts("attempt", "action")[:-2] == [
            (0, AsyncAction.PUT), (1, AsyncAction.INVOKE), (1, AsyncAction.RETRY), (2, AsyncAction.INVOKE),
            (2, AsyncAction.RETRY), (3, AsyncAction.INVOKE),
        ]  # fmt: skip


def test_first_outcome_mail_wins_over_second() -> None:
    with retrying() as harness:
        harness.process_element("a", 1)
        future = harness.calls.future("a")
        future.complete([])
        future.complete(["too late"])
        assert (harness.output, len(harness.mails)) == ([], 2)
        harness.run_mails()
        assert (harness.output, list(harness.waiting.awaiting_retry)) == ([], [0])


def test_element_awaiting_retry_keeps_its_queue_slot() -> None:
    """Rule 11.29."""
    with retrying(capacity=1) as harness:
        harness.process_element("a", 1)
        harness.answer("a")
        with pytest.raises(Deadlock):
            harness.process_element("b", 2)


def test_exponential_backoff_is_shared_by_records_of_subtask() -> None:
    """Rule 11.26: b's first retry resets the pause, so a's second one waits no longer than b's first times two."""
    strategy = ExponentialBackoffDelayRetryStrategy(5, 10, 1000, 2.0, is_empty)
    with retrying(timeout_ms=10_000, strategy=strategy) as harness:
        harness.process_elements([("a", 1), ("b", 2)])
        pauses: list[int] = []

        def answered(value: str) -> None:
            now_ms = harness.processing_time.current_processing_time_ms()
            before = set(harness.processing_time.live_timers_ms())
            harness.answer(value)
            pauses.extend(each - now_ms for each in set(harness.processing_time.live_timers_ms()) - before)

        answered("a")
        wait(harness, 10)
        answered("a")
        wait(harness, 20)
        answered("b")
        answered("a")
        assert pauses == [10, 20, 10, 20]


def test_predicates_are_called_even_when_no_retry_is_possible() -> None:
    asked: list[Sequence[Any]] = []

    def asks(results: Sequence[Any]) -> bool:
        asked.append(list(results))
        return True

    with retrying(strategy=FixedDelayRetryStrategy(1, 5, asks), timeout_ms=20) as harness:
        harness.process_element("a", 1)
        wait(harness, 3)
        harness.clock.now_ns += 30_000_000
        harness.answer("a", "late")
        assert (asked, harness.output) == ([["late"]], [("rec", "late", 1)])


@pytest.mark.parametrize(("after_ms", "waiting"), [(20, [0]), (21, [])])
def test_element_times_out_only_after_more_than_timeout(after_ms: int, waiting: list[int]) -> None:
    """Rule 11.24: whether the timer of the timeout has fired does not matter."""
    with retrying(timeout_ms=20) as harness:
        harness.process_element("a", 1)
        harness.clock.now_ns += after_ms * 1_000_000
        harness.answer("a")
        assert list(harness.waiting.awaiting_retry) == waiting


def test_timeout_cancels_pending_retry_and_calls_timeout_once() -> None:
    """Rule 11.26: one timeout covers all calls, and the retry that was awaited does not come."""
    with retrying(timeout_ms=20, strategy=fixed(pause_ms=50)) as harness:
        harness.calls.on_timeout = lambda value, future: future.complete([f"no {value}"])
        harness.process_element("a", 1)
        harness.answer("a")
        assert harness.processing_time.live_timers_ms() == [21, 51]
        wait(harness, 21)
        assert (harness.calls.timed_out, harness.output) == (["a"], [("rec", "no a", 1)])
        assert harness.processing_time.live_timers_ms() == []


@pytest.mark.parametrize("results", [["no a"], None], ids=["answered", "left alone"])
def test_retry_mail_behind_timeout_mail_does_nothing(results: list[str] | None) -> None:
    """Cancelling its timer comes too late."""
    with retrying(timeout_ms=20, strategy=fixed(pause_ms=20)) as harness:
        harness.calls.on_timeout = lambda value, future: None if results is None else future.complete(results)
        harness.process_element("a", 1)
        harness.answer("a")
        timeout, retry = harness.processing_time.timers
        harness.clock.now_ns += 21 * 1_000_000
        harness.executor.execute(lambda: timeout.callback(timeout.timestamp_ms), "one timer has fired")
        harness.executor.execute(lambda: retry.callback(retry.timestamp_ms), "the other one, too")
        harness.run_mails()
        assert (harness.calls.timed_out, harness.calls.values) == (["a"], ["a"])


def test_results_given_by_timeout_are_final() -> None:
    """Rule 11.26: they ask for a retry, and would get one without the millisecond of rule 9.10."""
    with retrying(timeout_ms=20) as harness:
        harness.calls.on_timeout = lambda value, future: future.complete([])
        harness.process_element("a", 1)
        harness.clock.now_ns += 21 * 1_000_000
        wait(harness, 0)
        assert len(harness.waiting.held_elements()) == 0
        assert harness.calls.values == ["a"]


def test_timeout_without_results_leaves_element_to_running_call() -> None:
    with retrying(timeout_ms=20) as harness:
        harness.process_element("a", 1)
        wait(harness, 25)
        assert harness.calls.timed_out == ["a"]
        harness.answer("a")
        assert len(harness.waiting.held_elements()) == 0


# The end of input.


def test_end_of_input_calls_pending_retry_once_with_final_outcome() -> None:
    """Rule 11.27."""
    with retrying() as harness:
        harness.process_elements([("a", 1), ("b", 2)])
        harness.answer("a")
        harness.calls.at_once = lambda value, future: future.complete([])
        harness.calls.answer("b", "B")
        harness.operator.end_input()
        assert (harness.calls.values, harness.output) == (["a", "b", "a"], [("rec", "B", 2)])
        assert harness.processing_time.live_timers_ms() == []


def test_end_of_input_calls_running_retry_once_more() -> None:
    """Rule 11.27: it joined those that await a retry with its first one, and leaves them only with its last outcome."""
    with retrying() as harness:
        harness.process_element("a", 1)
        harness.answer("a")
        wait(harness, 5)
        assert harness.calls.values == ["a", "a"]
        harness.calls.at_once = lambda value, future: future.complete(["A"])
        harness.operator.end_input()
        assert (harness.calls.values, harness.output) == (["a", "a", "a"], [("rec", "A", 1)])


def test_end_of_input_adds_a_call_to_queued_retry_mail() -> None:
    """Rule 11.27: cancelling its timer comes too late."""
    with retrying(strategy=fixed(max_attempts=1)) as harness:
        harness.process_element("a", 1)
        harness.answer("a")
        timer = harness.processing_time.timers[-1]
        harness.executor.execute(lambda: timer.callback(timer.timestamp_ms), "the timer has fired")
        harness.executor.execute(lambda: harness.calls.answer("a", "A"), "an answer")
        harness.operator.end_input()
        assert (harness.calls.values, harness.output) == (["a", "a", "a"], [("rec", "A", 1)])


def test_end_of_input_calls_element_timed_out_before_first_retry() -> None:
    """Rule 11.28."""
    with retrying(timeout_ms=20, strategy=fixed(pause_ms=50)) as harness:
        harness.calls.on_timeout = lambda value, future: future.complete([f"no {value}"])
        harness.process_element("a", 1)
        harness.answer("a")
        wait(harness, 21)
        assert harness.output == [("rec", "no a", 1)]
        harness.operator.end_input()
        assert harness.calls.values == ["a", "a"]
        harness.answer("a", "for nothing")
        assert harness.output == [("rec", "no a", 1)]


def test_end_of_input_does_not_call_element_timed_out_after_first_retry() -> None:
    with retrying(timeout_ms=20, strategy=fixed(pause_ms=5)) as harness:
        harness.calls.on_timeout = lambda value, future: future.complete([f"no {value}"])
        harness.process_element("a", 1)
        harness.answer("a")
        wait(harness, 5)
        harness.clock.now_ns += 21 * 1_000_000
        wait(harness, 0)
        harness.operator.end_input()
        assert harness.calls.values == ["a", "a"]


def test_outcomes_after_end_of_input_are_final() -> None:
    with retrying() as harness:
        harness.process_elements([("a", 1), ("b", 2), ("c", 3)])
        harness.executor.execute(lambda: harness.calls.answer("a"), "an answer")
        harness.executor.execute(lambda: harness.calls.future("b").complete_exceptionally(ValueError("b")), "an error")
        harness.executor.execute(lambda: harness.calls.future("c").complete_from(lambda: ["C"]), "results to be made")
        harness.operator.end_input()
        assert harness.calls.values == ["a", "b", "c"]
        assert harness.output == [("rec", "C", 3)]
        assert [str(failure) for failure in harness.failures] == ["could not complete the element: ValueError: b"]


# What the user's code may do wrong.


@pytest.mark.parametrize("wrong", [None, "text", 7])
def test_invalid_results_are_refused_and_call_continues(wrong: Any) -> None:
    """Rule 11.12."""
    with retrying() as harness:
        harness.process_element("a", 1)
        with pytest.raises(TypeError, match="must be a list"):
            harness.calls.future("a").complete(wrong)
        harness.answer("a", "A")
        assert harness.output == [("rec", "A", 1)]


def supply(harness: AsyncOperatorHarness, supplier: Callable[[], Any]) -> None:
    harness.calls.future("a").complete_from(supplier)
    harness.run_mails()


def test_exception_of_supplier_is_an_outcome() -> None:
    def fail() -> Any:
        raise ValueError("not yet")

    with retrying() as harness:
        harness.process_element("a", 1)
        supply(harness, fail)
        wait(harness, 5)
        assert harness.calls.values == ["a", "a"]
        supply(harness, lambda: ["A"])
        assert harness.output == [("rec", "A", 1)]


@pytest.mark.parametrize("wrong", [None, "text"])
def test_supplier_of_invalid_results_fails_task_without_retry(wrong: Any) -> None:
    """The predicates are not called for it."""
    strategy = FixedDelayRetryStrategy(2, 5, lambda results: True, lambda error: True)
    with retrying(strategy=strategy) as harness:
        harness.process_element("a", 1)
        supply(harness, lambda: wrong)
        (failure,) = harness.failures
        assert "must be a list" in str(failure)
        supply(harness, list)
        assert harness.calls.values == ["a"]
        assert harness.processing_time.live_timers_ms() == [], "what comes after the last outcome is not tried again"


def test_exception_of_predicate_fails_task_unless_from_supplier() -> None:
    """Then the error is taken for an outcome that comes too late, as in Flink, and only the timeout ends the waiting."""

    def raises(results: Sequence[Any]) -> bool:
        raise KeyError("predicate")

    with retrying(strategy=FixedDelayRetryStrategy(2, 5, raises), timeout_ms=20) as harness:
        harness.process_element("a", 1)
        harness.calls.answer("a", "A")
        with pytest.raises(KeyError):
            harness.run_mails()
    with retrying(strategy=FixedDelayRetryStrategy(2, 5, raises), timeout_ms=20) as harness:
        harness.calls.on_timeout = lambda value, future: future.complete_exceptionally(TimeoutError("over"))
        harness.process_element("a", 1)
        supply(harness, lambda: ["A"])
        assert (harness.output, harness.failures) == ([], [])
        wait(harness, 25)
        assert [str(failure) for failure in harness.failures] == ["could not complete the element: TimeoutError: over"]


def test_results_of_supplier_after_quiesce_are_lost() -> None:
    """Their mail still runs, but the next one, which completes the element, is refused inside of it."""

    def fail() -> Any:
        raise KeyError("b")

    with retrying() as harness:
        harness.process_elements([("a", 1), ("b", 2)])
        harness.calls.future("a").complete_from(lambda: ["A"])
        harness.calls.future("b").complete_from(fail)
        harness.mails.quiesce()
        harness.run_mails()
        assert harness.output == []
        assert [str(failure) for failure in harness.failures] == ["could not complete the element: KeyError: 'b'"]


def test_outcome_after_quiesce_is_refused() -> None:
    """Rule 11.16."""
    with retrying() as harness:
        harness.process_element("a", 1)
        harness.mails.quiesce()
        for outcome in (
            lambda future: future.complete(["A"]),
            lambda future: future.complete_from(lambda: ["A"]),
            lambda future: future.complete_exceptionally(ValueError()),
        ):
            with pytest.raises(MailboxClosedException):
                outcome(harness.calls.future("a"))


def test_pause_beyond_64_bits_is_over_at_once() -> None:
    with retrying(strategy=fixed(pause_ms=2**63 - 1)) as harness:
        harness.process_element("a", 1)
        harness.answer("a")
        wait(harness, 0)
        assert harness.calls.values == ["a", "a"]
