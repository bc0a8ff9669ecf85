"""Suspension, poison and the timers that stop for mails (rules 3.11-3.19)."""

from __future__ import annotations

import pytest

from flowsim.errors import InvariantViolation
from flowsim.facts.kinds import ActionKind, ActionPhase, Level
from flowsim.facts.tracer import TaskTrace
from flowsim.mailbox.task_mailbox import TaskMailbox
from flowsim.recording.memory import MemoryRecorder
from flowsim.tasks.mailbox_processor import MailboxProcessor
from flowsim.tasks.task_clock import TaskClock
from flowsim.tasks.time_buckets import PeriodTimer, TimeBuckets


def nobody(priority: int) -> None:
    raise AssertionError("waits for a mail that nobody puts")


def test_the_default_action_is_suspended_once_at_a_time_and_a_stale_resume_is_ignored() -> None:
    """Rule 3.13."""
    processor = MailboxProcessor(lambda: None, TaskMailbox(), nobody)
    stale = processor.suspend_default_action()
    with pytest.raises(InvariantViolation, match="Default action has already been suspended"):
        processor.suspend_default_action()
    stale.resume()
    fresh = processor.suspend_default_action()
    stale.resume()
    stale.resume_by_mail()
    assert processor.suspension is fresh
    assert not processor.mailbox.has_mail


def test_a_resume_from_outside_is_one_urgent_mail_however_often_it_is_called() -> None:
    processor = MailboxProcessor(lambda: None, TaskMailbox(), nobody)
    suspension = processor.suspend_default_action()
    processor.executor().execute(lambda: None, "before")
    suspension.resume_by_mail()
    suspension.resume_by_mail()
    assert [mail.description for mail in processor.mailbox.drain()] == ["resume default action", "before"]


def test_a_suspended_loop_leaves_later_mails_and_goes_on_when_it_is_run_again() -> None:
    """Rule 3.14."""
    log: list[str] = []

    def default_action() -> None:
        log.append("default")
        processor.all_actions_completed()

    processor = MailboxProcessor(default_action, TaskMailbox(), nobody)
    processor.suspend()
    processor.executor().execute(lambda: log.append("mail"), "mail")
    processor.run_mailbox_loop()
    assert log == []
    processor.run_mailbox_loop()
    assert log == ["mail", "default"]
    processor.run_mailbox_loop()
    assert log == ["mail", "default"]


def test_the_time_of_mails_is_not_part_of_a_suspension() -> None:
    """Rule 3.19: idle for 7 and 5 ns, with a mail of 100 ns between."""
    clock = TaskClock(1_000)
    idle = PeriodTimer(clock)

    def work() -> None:
        clock.now_ns += 100

    def default_action() -> None:
        if idle.total_ns == 0:
            processor.suspend_default_action(idle)
        else:
            processor.all_actions_completed()

    waits = iter((7, 5))

    def wait(priority: int) -> None:
        after_ns = next(waits)
        clock.now_ns += after_ns
        if after_ns == 7:
            processor.executor().execute(work, "work")
        elif processor.suspension is not None:
            processor.suspension.resume_by_mail()

    processor = MailboxProcessor(default_action, TaskMailbox(), wait)
    processor.run_mailbox_loop()
    assert idle.total_ns == 12


def test_buckets_end_with_the_task_and_add_up() -> None:
    clock = TaskClock(50)
    times = TimeBuckets(clock)
    times.start()
    clock.now_ns += 10
    times.hard.mark_start()
    clock.now_ns += 5
    times.hard.mark_end()
    times.hard.mark_end()
    times.idle.mark_start()
    clock.now_ns += 3
    times.stop()
    assert (times.busy_ns, times.idle_ns, times.soft_ns, times.hard_ns, times.total_ns) == (10, 3, 0, 5, 18)


def test_every_action_is_recorded_with_its_begin_and_end() -> None:
    recorder = MemoryRecorder(Level.FULL)
    trace = TaskTrace(0, TaskClock(5), recorder)
    processor = MailboxProcessor(lambda: processor.all_actions_completed(), TaskMailbox(), nobody, trace=trace)
    processor.executor().execute(lambda: None, "mail")
    processor.run_mailbox_loop()
    assert [(ActionPhase(p).name, ActionKind(k).name, n) for _, _, _, p, k, n, _ in recorder.rows("actions")] == [
        ("BEGIN", "MAIL", 0), ("END", "MAIL", 0),
        ("BEGIN", "DEFAULT_ACTION", 1), ("END", "DEFAULT_ACTION", 1),
        ("BEGIN", "MAIL", 2), ("END", "MAIL", 2),
    ]  # fmt: skip
