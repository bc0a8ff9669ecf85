"""The async operator in a harness, with elements, outcomes, timeouts and the end (rules 11.1-11.19)."""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.errors import BadInput, Deadlock
from flowsim.facts.kinds import AsyncAction
from flowsim.mailbox.mail import Mail, MailOptions
from flowsim.mailbox.task_mailbox import MailboxClosedException
from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator
from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.async_wait.retry_strategies import FixedDelayRetryStrategy
from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus
from flowsim.units import NS_PER_MS
from tests.support.operators.async_wait_harness import AsyncOperatorHarness, HandCalls


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_results_replace_records_and_watermarks_keep_their_position(mode: Any) -> None:
    with AsyncOperatorHarness(mode) as harness:
        harness.process_element("a", 1)
        harness.process_watermark(1)
        harness.process_element("b", 2)
        harness.answer("b", "B")
        assert harness.output == []
        harness.answer("a", "A1", "A2")
        assert harness.output == [("rec", "A1", 1), ("rec", "A2", 1), ("wm", 1), ("rec", "B", 2)]


def test_unordered_results_are_emitted_in_order_of_mails() -> None:
    with AsyncOperatorHarness("unordered") as harness:
        harness.process_elements([("a", 1), ("b", 2)])
        harness.calls.answer("b", "B")
        harness.calls.answer("a", "A")
        assert harness.output == []
        harness.run_mails()
        assert harness.output == [("rec", "B", 2), ("rec", "A", 1)]


def test_answer_within_the_call_is_emitted_by_mail() -> None:
    """Rule 11.4."""
    with AsyncOperatorHarness() as harness:
        harness.calls.at_once = lambda value, future: future.complete([value])
        harness.process_element("a", 1)
        assert (harness.output, len(harness.mails)) == ([], 1)
        harness.run_mails()
        assert harness.output == [("rec", "a", 1)]


def test_each_mail_emits_one_element_and_leaves_next_to_another_mail() -> None:
    """Rule 11.13: other mails come between."""
    with AsyncOperatorHarness() as harness:
        harness.process_elements([("a", 1), ("b", 2), ("c", 3)])
        for value in "cba":
            harness.calls.answer(value, value)
        harness.executor.execute(lambda: harness.collected.collect("other", None), "other")
        harness.run_mails()
        assert harness.output == [("rec", "a", 1), ("rec", "other", None), ("rec", "b", 2), ("rec", "c", 3)]


def test_watermark_in_empty_queue_is_emitted_at_once() -> None:
    with AsyncOperatorHarness(capacity=1) as harness:
        harness.process_watermark(5)
        assert harness.output == [("wm", 5)]


def test_statuses_and_latency_markers_overtake_queue() -> None:
    """Rule 11.3."""
    marker = LatencyMarker(1, 7, 0)
    with AsyncOperatorHarness() as harness:
        harness.process_element("a", 1)
        harness.process_watermark_status(WatermarkStatus.IDLE)
        harness.operator.process_latency_marker(marker)
        assert harness.output == [("st", WatermarkStatus.IDLE), ("latency", marker)]


def test_full_queue_yields_before_element_is_put_or_called() -> None:
    """Rule 11.1: the mail of the first element makes room, and only then the second one is called."""
    with AsyncOperatorHarness(capacity=1) as harness:
        harness.process_element("a", 1)
        harness.calls.answer("a", "A")
        harness.process_element("b", 2)
        assert harness.output == [("rec", "A", 1)]
        assert harness.calls.values == ["a", "b"]
        assert harness.steps() == [
            (0, "PUT"), (0, "INVOKE"), (0, "COMPLETE"), (0, "EMIT"), (1, "PUT"), (1, "INVOKE")
        ]  # fmt: skip


def test_yield_leaves_mails_of_lower_priority_and_deferrable_ones() -> None:
    """Those of operators above in the chain, of the task itself, and those that may be deferred (rule 3.21)."""
    with AsyncOperatorHarness(capacity=1) as harness:
        harness.process_element("a", 1)
        harness.mails.put(Mail(lambda: harness.collected.collect("above", None), 0, "above"))
        harness.mails.put(Mail(lambda: harness.collected.collect("task", None), -1, "task", MailOptions.URGENT))
        harness.executor.execute(lambda: harness.collected.collect("late", None), "late", MailOptions.DEFERRABLE)
        harness.mails.put(Mail(lambda: harness.collected.collect("below", None), 2, "below"))
        harness.calls.answer("a", "A")
        harness.process_element("b", 2)
        assert harness.output == [("rec", "below", None), ("rec", "A", 1)]
        harness.run_mails()
        assert [element[1] for element in harness.output[2:]] == ["task", "above", "late"]


def test_watermark_yields_for_queue_slot() -> None:
    with AsyncOperatorHarness(capacity=1) as harness:
        harness.process_element("a", 1)
        with pytest.raises(Deadlock):
            harness.process_watermark(1)
        harness.calls.answer("a")
        harness.process_watermark(2)
        assert harness.output == [("wm", 2)]


def test_timeout_starts_when_element_has_queue_slot() -> None:
    """Rule 11.1: the wait for space does not count."""
    with AsyncOperatorHarness(capacity=1, timeout_ms=10) as harness:
        harness.process_element("a", 1)

        def later() -> None:
            harness.clock.now_ns = 8 * NS_PER_MS

        harness.executor.execute(later, "time passes")
        harness.calls.answer("a")
        harness.process_element("b", 2)
        assert harness.processing_time.live_timers_ms() == [18]


def test_timeout_zero_registers_no_timer() -> None:
    with AsyncOperatorHarness(timeout_ms=0) as harness:
        harness.process_element("a", 1)
        assert harness.processing_time.live_timers_ms() == []


def test_timer_is_registered_before_function_is_called() -> None:
    with AsyncOperatorHarness(timeout_ms=10) as harness:
        seen: list[list[int]] = []
        harness.calls.at_once = lambda value, future: seen.append(harness.processing_time.live_timers_ms())
        harness.process_element("a", 1)
        assert seen == [[11]]


def test_timeout_beyond_64_bits_is_over_at_once() -> None:
    """As in Flink, whose sum of longs wraps around."""
    with AsyncOperatorHarness(timeout_ms=2**63 - 1) as harness:
        harness.process_element("a", 1)
        assert harness.processing_time.live_timers_ms() == [-(2**63)]


def test_result_cancels_timeout_when_its_mail_runs() -> None:
    with AsyncOperatorHarness(timeout_ms=10) as harness:
        harness.process_element("a", 1)
        harness.calls.answer("a", "A")
        assert harness.processing_time.live_timers_ms() == [11]
        harness.run_mails()
        assert harness.processing_time.live_timers_ms() == []


def test_result_with_pending_mail_prevents_timeout() -> None:
    """Rule 11.18."""
    with AsyncOperatorHarness(timeout_ms=10) as harness:
        harness.process_element("a", 1)
        harness.calls.answer("a", "A")
        harness.set_processing_time(11)
        assert harness.calls.timed_out == []
        harness.run_mails()
        assert harness.output == [("rec", "A", 1)]


def test_results_of_timeout_win_over_late_answer() -> None:
    """Rules 11.12, 11.17."""
    with AsyncOperatorHarness(timeout_ms=10) as harness:
        harness.calls.on_timeout = lambda value, future: future.complete([f"no {value}"])
        harness.process_element("a", 1)
        harness.set_processing_time(11)
        harness.answer("a", "A")
        assert harness.output == [("rec", "no a", 1)]


def test_timeout_without_results_keeps_element_until_answer() -> None:
    """Rule 11.17."""
    with AsyncOperatorHarness(capacity=1, timeout_ms=10) as harness:
        harness.process_element("a", 1)
        harness.set_processing_time(11)
        assert harness.calls.timed_out == ["a"]
        with pytest.raises(Deadlock):
            harness.process_element("b", 2)
        harness.answer("a", "A")
        assert harness.output == [("rec", "A", 1)]


def test_first_outcome_wins() -> None:
    with AsyncOperatorHarness() as harness:
        harness.process_element("a", 1)
        future = harness.calls.future("a")
        future.complete(["first"])
        future.complete(["second"])
        future.complete_from(lambda: ["third"])
        future.complete_exceptionally(ValueError("fourth"))
        assert len(harness.mails) == 1
        harness.run_mails()
        assert (harness.output, harness.failures) == ([("rec", "first", 1)], [])


def test_complete_from_runs_supplier_in_task() -> None:
    with AsyncOperatorHarness() as harness:
        made: list[str] = []

        def make() -> list[str]:
            made.append("now")
            return ["A"]

        harness.process_element("a", 1)
        harness.calls.future("a").complete_from(make)
        assert made == []
        harness.run_mails()
        assert (made, harness.output) == (["now"], [("rec", "A", 1)])
        assert harness.facts("action", "rows")[-2:] == [(AsyncAction.COMPLETE, -1), (AsyncAction.EMIT, 1)]


def test_error_fails_task_and_frees_queue_slot() -> None:
    """Rule 11.15."""
    with AsyncOperatorHarness(capacity=1) as harness:
        harness.process_element("a", 1)
        error = ValueError("no such airline")
        harness.calls.future("a").complete_exceptionally(error)
        (failure,) = harness.failures
        assert str(failure) == "could not complete the element: ValueError: no such airline"
        assert (failure.__cause__, failure.timestamp) == (error, 1)
        harness.run_mails()
        harness.process_element("b", 2)
        assert harness.output == []


@pytest.mark.parametrize(
    ("wrong", "got"), [(None, "None"), ("text", "'text' of type str"), (7, "7 of type int"), ({"a": 1}, "of type dict")]
)
def test_invalid_results_fail_task_in_mail(wrong: Any, got: str) -> None:
    """Rule 11.12."""
    with AsyncOperatorHarness() as harness:
        harness.process_element("a", 1)
        harness.calls.future("a").complete(wrong)
        with pytest.raises(Exception, match=f"results of an async call must be a list.*got .*{got}"):
            harness.run_mails()


def test_any_sequence_is_a_valid_result() -> None:
    with AsyncOperatorHarness() as harness:
        harness.process_elements([("a", 1), ("b", 2)])
        harness.calls.future("a").complete(("A", "a"))
        harness.calls.future("b").complete(range(2))
        harness.run_mails()
        assert [element[1] for element in harness.output] == ["A", "a", 0, 1]


def test_outcome_after_quiesce_is_refused() -> None:
    """Rule 11.16. The element counts as answered, so it does not time out either."""
    with AsyncOperatorHarness(timeout_ms=10) as harness:
        harness.process_element("a", 1)
        harness.mails.quiesce()
        with pytest.raises(MailboxClosedException):
            harness.calls.answer("a", "A")
        harness.set_processing_time(11)
        assert (harness.calls.timed_out, harness.output) == ([], [])


def test_mail_for_next_element_is_skipped_after_quiesce() -> None:
    """Rule 11.16."""
    with AsyncOperatorHarness() as harness:
        harness.process_elements([("a", 1), ("b", 2)])
        harness.calls.answer("b", "B")
        harness.calls.answer("a", "A")
        harness.mails.quiesce()
        harness.run_mails()
        assert harness.output == [("rec", "A", 1)]


def test_end_of_input_waits_until_queue_is_empty() -> None:
    """Rule 11.19."""
    with AsyncOperatorHarness() as harness:
        harness.process_elements([("a", 1), ("b", 2)])
        with pytest.raises(Deadlock):
            harness.operator.end_input()
        harness.calls.answer("b", "B")
        harness.calls.answer("a", "A")
        harness.operator.end_input()
        assert harness.output == [("rec", "A", 1), ("rec", "B", 2)]


def test_object_reuse_copies_record_before_queueing() -> None:
    """Rule 11.1."""
    reused = ["a"]
    with AsyncOperatorHarness(object_reuse=True) as copying, AsyncOperatorHarness() as keeping:
        copying.process_element(reused, 1)
        keeping.process_element(reused, 1)
        reused[0] = "b"
        assert (copying.calls.values, keeping.calls.values) == ([["a"]], [["b"]])


def test_records_cost_time_before_queueing_and_count_once() -> None:
    with AsyncOperatorHarness(cost_ns=5) as harness:
        began_ns = harness.clock.now_ns
        harness.process_elements([("a", 1), ("b", 2)])
        assert (harness.operator.records_in, harness.clock.now_ns - began_ns) == (2, 10)


def test_function_is_opened_and_closed_once() -> None:
    with AsyncOperatorHarness() as harness:
        assert harness.calls.life == ["open"]
    assert harness.calls.life == ["open", "close"]


def test_exception_of_function_fails_task_within_element() -> None:
    """Rule 11.4."""

    def raise_(value: Any, future: ResultFuture) -> None:
        raise ValueError(f"cannot ask for {value}")

    with AsyncOperatorHarness() as harness:
        harness.calls.at_once = raise_
        with pytest.raises(ValueError, match="cannot ask for a"):
            harness.process_element("a", 1)


# Arguments.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0, "ordered"), "capacity of an async operator must be at least 1, got 0"),
        ((0, 1, "sorted"), "must be ordered or unordered, got 'sorted'"),
        ((0, 1, "ordered", FixedDelayRetryStrategy(1, 1, None, lambda error: True)), "retries needs a timeout above 0"),
    ],
)
def test_invalid_arguments_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        AsyncWaitOperator(HandCalls(), *arguments)


def test_strategy_without_predicates_retries_nothing_without_timeout() -> None:
    with AsyncOperatorHarness(strategy=FixedDelayRetryStrategy(3, 5)) as harness:
        harness.process_element("a", 1)
        harness.answer("a")
        assert harness.calls.values == ["a"]


def test_retrying_strategy_accepts_timeout_of_one_millisecond() -> None:
    with AsyncOperatorHarness(timeout_ms=1, strategy=FixedDelayRetryStrategy(1, 5, lambda results: True)) as harness:
        harness.process_element("a", 1)
        assert harness.calls.values == ["a"]
