"""Timers that give way to mails between two firings (rule 9.18)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from flowsim.operators.functions.process import KeyedProcessOperator, ProcessContext
from flowsim.operators.user_functions import RuntimeContext
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


def harness(function: Reminder, *, of_job: bool = True) -> OneInputOperatorHarness:
    operator = KeyedProcessOperator(function)
    made = OneInputOperatorHarness(operator, key_selector=lambda value: value)
    operator.setup(replace(made.context, interruptible_timers=of_job), made.collected)
    return made


def a_mail(bench: OneInputOperatorHarness) -> None:
    bench.mailbox.execute(lambda: bench.collected.collect("mail", None), "a mail")


def test_without_mail_all_timers_fire_before_watermark() -> None:
    with harness(Reminder()) as bench:
        bench.process_elements([("a", 1), ("a", 2)])
        bench.take_output()
        bench.process_watermark(5)
        assert bench.take_output() == [("rec", "a at 1 of 5", 1), ("rec", "a at 2 of 5", 2), ("wm", 5)]


def test_pending_mail_runs_after_one_timer() -> None:
    with harness(Reminder()) as bench:
        bench.process_elements([("a", 1), ("a", 2), ("a", 3)])
        bench.take_output()
        a_mail(bench)
        bench.process_watermark(5)
        assert bench.take_output() == [("rec", "a at 1 of 5", 1)]
        assert bench.mailbox.run_next_mail()
        assert bench.mailbox.run_next_mail()
        assert not bench.mailbox.run_next_mail()
        assert bench.take_output() == [
            ("rec", "mail", None), ("rec", "a at 2 of 5", 2), ("rec", "a at 3 of 5", 3), ("wm", 5),
        ]  # fmt: skip


def test_continuation_mail_never_runs_inside_yield() -> None:
    """Rule 3.7."""
    with harness(Reminder()) as bench:
        bench.process_elements([("a", 1), ("a", 2)])
        a_mail(bench)
        bench.process_watermark(5)
        assert bench.mailbox.try_yield()
        assert not bench.mailbox.try_yield()
        assert bench.mailbox.run_next_mail()
        assert bench.output[-1] == ("wm", 5)


def test_record_between_timers_sees_new_watermark() -> None:
    with harness(Reminder()) as bench:
        bench.process_elements([("a", 1), ("a", 4)])
        a_mail(bench)
        bench.process_watermark(5)
        bench.take_output()
        bench.process_element("b", 3)
        while bench.mailbox.run_next_mail():
            """What waits."""
        assert bench.take_output() == [
            ("rec", "b", 3), ("rec", "mail", None), ("rec", "b at 3 of 5", 3), ("rec", "a at 4 of 5", 4), ("wm", 5),
        ]  # fmt: skip


def test_watermarks_during_interruption_are_merged() -> None:
    """The highest counts, one mail is enough, and a lower one changes nothing."""
    with harness(Reminder()) as bench:
        bench.process_elements([("a", 1), ("a", 2), ("a", 7)])
        bench.take_output()
        a_mail(bench)
        bench.process_watermark(2)
        bench.process_watermark(8)
        bench.process_watermark(4)
        assert bench.take_output() == [
            ("rec", "a at 1 of 2", 1), ("rec", "a at 2 of 8", 2), ("rec", "a at 7 of 8", 7),
        ]  # fmt: skip
        assert bench.mailbox.run_next_mail()
        assert bench.mailbox.run_next_mail()
        assert not bench.mailbox.run_next_mail()
        assert bench.take_output() == [("rec", "mail", None), ("wm", 8)]


def test_watermark_waits_when_mail_interrupts_after_last_timer() -> None:
    with harness(Reminder()) as bench:
        bench.process_element("a", 1)
        a_mail(bench)
        bench.process_watermark(MAX_WATERMARK)
        assert bench.output[-1] == ("rec", f"a at 1 of {MAX_WATERMARK}", 1)


def test_job_and_function_must_both_allow_interruption() -> None:
    for function, of_job in ((Reminder(), False), (Reminder(allows=False), True)):
        with harness(function, of_job=of_job) as bench:
            bench.process_elements([("a", 1), ("a", 2)])
            a_mail(bench)
            bench.process_watermark(5)
            assert bench.output[-1] == ("wm", 5)
        assert function.life == (["asked", "open", "close"] if of_job else ["open", "close"])
