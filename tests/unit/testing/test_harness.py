"""The public harness for operators."""

from __future__ import annotations

import doctest

import pytest

from flowsim.errors import Deadlock
from flowsim.operators.functions.basic import MapOperator
from flowsim.operators.stream_operator import StreamOperator
from flowsim.testing import harness as harness_module
from flowsim.testing.harness import ManualClock, ManualProcessingTimeService, OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK, NS_PER_MS


def test_documentation_example_runs() -> None:
    assert doctest.testmod(harness_module).failed == 0
    assert doctest.testmod(harness_module).attempted == 2


def test_timers_fire_by_time_then_registration_and_may_register_more() -> None:
    clock = ManualClock(NS_PER_MS)
    time = ManualProcessingTimeService(clock)
    ran: list[str] = []

    def ran_at(name: str) -> None:
        ran.append(f"{name} at {time.current_processing_time_ms()}")

    def register_overdue(timestamp: int) -> None:
        time.register_timer(5, lambda late: ran_at(f"overdue {late}"))

    time.register_timer(20, lambda timestamp: ran_at(f"second {timestamp}"))
    time.register_timer(10, lambda timestamp: ran_at(f"first {timestamp}"))
    time.register_timer(20, register_overdue)
    time.register_timer(15, lambda timestamp: ran_at("never")).cancel()
    time.advance_to(19)
    assert ran == ["first 10 at 19"]
    time.advance_to(20)
    assert ran == ["first 10 at 19", "second 20 at 20", "overdue 5 at 20"]
    assert time.live_timers_ms() == []


def test_time_does_not_decrease_and_daemon_timer_keeps_nothing_alive() -> None:
    clock = ManualClock(30 * NS_PER_MS)
    time = ManualProcessingTimeService(clock)
    time.register_timer(90, print, daemon_while_not=lambda: False)
    assert not time.keeps_alive()
    time.register_timer(91, print)
    assert time.keeps_alive()
    time.advance_to(20)
    assert time.current_processing_time_ms() == 30


def test_yield_runs_mails_in_order_and_without_mail_is_deadlock() -> None:
    ran: list[int] = []
    harness = OneInputOperatorHarness(MapOperator(str))
    mailbox = harness.context.mailbox_executor
    mailbox.execute(lambda: ran.append(1), "first")
    mailbox.execute(lambda: ran.append(2), "second")
    mailbox.yield_()
    assert ran == [1]
    assert mailbox.try_yield()
    assert not mailbox.try_yield()
    with pytest.raises(Deadlock, match="no mail that could run"):
        mailbox.yield_()
    assert ran == [1, 2]


def test_operator_is_closed_when_test_fails() -> None:
    class Recording(MapOperator):
        closed = 0

        def close(self) -> None:
            type(self).closed += 1

    with pytest.raises(ZeroDivisionError), OneInputOperatorHarness(Recording(lambda value: 1 // 0)) as harness:
        harness.process_element("x")
    assert Recording.closed == 1


def test_end_of_input_is_max_watermark_then_end_input_then_finish() -> None:
    """Rules 4.9-4.12."""

    class EmitsItsSteps(StreamOperator):
        def end_input(self) -> None:
            self.output.collect("end_input", None)

        def finish(self) -> None:
            self.output.collect("finish", None)

    with OneInputOperatorHarness(EmitsItsSteps()) as harness:
        harness.end_of_input()
        assert harness.take_output() == [("wm", MAX_WATERMARK), ("rec", "end_input", None), ("rec", "finish", None)]
        assert harness.output == []


def test_subtask_owns_its_key_group_range() -> None:
    """Rule 1.20."""
    harness = OneInputOperatorHarness(MapOperator(str), subtask_index=1, parallelism=2, max_parallelism=8)
    assert (harness.context.key_group_range.start, harness.context.key_group_range.end) == (4, 7)
    assert harness.context.task_name == "MapOperator (2/2)"
