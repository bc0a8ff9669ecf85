"""Timers that mails interrupt between two firings (rule 9.18)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flowsim.operators.functions.process import KeyedProcessOperator, ProcessContext
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK


class Reminder:
    """A timer at each record's own time; a timer that fires puts the mails that ``mails_at`` names for it."""

    def __init__(self, allows: bool = True) -> None:
        self.allows = allows
        self.life: list[str] = []

    def use_interruptible_timers(self) -> bool:
        self.life.append("asked")
        return self.allows

    def open(self, runtime_context: RuntimeContext) -> None:
        self.life.append("open")

    def close(self) -> None:
        self.life.append("close")

    def process_element(self, value: object, ctx: ProcessContext) -> Iterable[object]:
        timestamp = ctx.timestamp()
        assert timestamp is not None
        ctx.timer_service().register_event_time_timer(timestamp)
        yield value

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> Iterable[object]:
        yield f"{ctx.get_current_key()} at {timestamp} of {ctx.timer_service().current_watermark()}"


def harness_of(function: Reminder, *, of_job: bool = True) -> OneInputOperatorHarness:
    operator = KeyedProcessOperator(function)
    made = OneInputOperatorHarness(operator, key_selector=lambda value: value)
    operator.setup(replace(made.context, interruptible_timers=of_job), made.collected)
    return made


def a_mail(harness: OneInputOperatorHarness) -> None:
    harness.mailbox.execute(lambda: harness.collected.collect("mail", None), "a mail")


def test_without_mail_all_timers_fire_before_watermark() -> None:
    with harness_of(Reminder()) as harness:
        harness.process_elements([("a", 1), ("a", 2)])
        harness.take_output()
        harness.process_watermark(5)
        assert harness.take_output() == [("rec", "a at 1 of 5", 1), ("rec", "a at 2 of 5", 2), ("wm", 5)]


def test_pending_mail_runs_after_one_timer() -> None:
    with harness_of(Reminder()) as harness:
        harness.process_elements([("a", 1), ("a", 2), ("a", 3)])
        harness.take_output()
        a_mail(harness)
        harness.process_watermark(5)
        assert harness.take_output() == [("rec", "a at 1 of 5", 1)]
        assert harness.mailbox.run_next_mail()
        assert harness.mailbox.run_next_mail()
        assert not harness.mailbox.run_next_mail()
        assert harness.take_output() == [
            ("rec", "mail", None), ("rec", "a at 2 of 5", 2), ("rec", "a at 3 of 5", 3), ("wm", 5),
        ]  # fmt: skip


def test_continuation_mail_never_runs_inside_yield() -> None:
    """Rule 3.7."""
    with harness_of(Reminder()) as harness:
        harness.process_elements([("a", 1), ("a", 2)])
        a_mail(harness)
        harness.process_watermark(5)
        assert harness.mailbox.try_yield()
        assert not harness.mailbox.try_yield()
        assert harness.mailbox.run_next_mail()
        assert harness.output[-1] == ("wm", 5)


def test_record_between_timers_sees_new_watermark() -> None:
    with harness_of(Reminder()) as harness:
        harness.process_elements([("a", 1), ("a", 4)])
        a_mail(harness)
        harness.process_watermark(5)
        harness.take_output()
        harness.process_element("b", 3)
        while harness.mailbox.run_next_mail():
            """What waits."""
        assert harness.take_output() == [
            ("rec", "b", 3), ("rec", "mail", None), ("rec", "b at 3 of 5", 3), ("rec", "a at 4 of 5", 4), ("wm", 5),
        ]  # fmt: skip


def test_watermarks_during_interruption_are_merged() -> None:
    """The highest counts, one mail is enough, and a lower one changes nothing."""
    with harness_of(Reminder()) as harness:
        harness.process_elements([("a", 1), ("a", 2), ("a", 7)])
        harness.take_output()
        a_mail(harness)
        harness.process_watermark(2)
        harness.process_watermark(8)
        harness.process_watermark(4)
        assert harness.take_output() == [
            ("rec", "a at 1 of 2", 1), ("rec", "a at 2 of 8", 2), ("rec", "a at 7 of 8", 7),
        ]  # fmt: skip
        assert harness.mailbox.run_next_mail()
        assert harness.mailbox.run_next_mail()
        assert not harness.mailbox.run_next_mail()
        assert harness.take_output() == [("rec", "mail", None), ("wm", 8)]


def test_watermark_waits_when_mail_interrupts_after_last_timer() -> None:
    with harness_of(Reminder()) as harness:
        harness.process_element("a", 1)
        a_mail(harness)
        harness.process_watermark(MAX_WATERMARK)
        assert harness.output[-1] == ("rec", f"a at 1 of {MAX_WATERMARK}", 1)


def test_job_and_function_must_both_allow_interruption() -> None:
    for function, of_job in ((Reminder(), False), (Reminder(allows=False), True)):
        with harness_of(function, of_job=of_job) as harness:
            harness.process_elements([("a", 1), ("a", 2)])
            a_mail(harness)
            harness.process_watermark(5)
            assert harness.output[-1] == ("wm", 5)
        assert function.life == (["asked", "open", "close"] if of_job else ["open", "close"])
