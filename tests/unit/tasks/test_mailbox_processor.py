"""The mailbox loop: suspension, poison mails and time measurement (rules 3.11-3.19)."""

from __future__ import annotations

import pytest

from flowsim.errors import InvariantViolation, WouldBlock
from flowsim.facts.kinds import ActionKind, ActionPhase, Level
from flowsim.facts.tracer import TaskTrace
from flowsim.mailbox.mail import MailOptions
from flowsim.mailbox.task_mailbox import MailboxClosedException, TaskMailbox
from flowsim.recording.memory import MemoryRecorder
from flowsim.task_clock import TaskClock
from flowsim.tasks.mailbox_processor import MailboxProcessor
from flowsim.tasks.time_buckets import PeriodTimer, TimeBuckets


def no_mail(priority: int) -> None:
    raise AssertionError("waits for a mail that is never put")


def test_default_action_is_suspended_once_and_stale_resume_ignored() -> None:
    """Rule 3.13."""
    processor = MailboxProcessor(lambda: None, TaskMailbox(), no_mail)
    stale = processor.suspend_default_action()
    with pytest.raises(InvariantViolation, match="Default action has already been suspended"):
        processor.suspend_default_action()
    stale.resume()
    fresh = processor.suspend_default_action()
    stale.resume()
    assert processor.suspension is fresh


def test_resume_from_other_thread_is_urgent_mail_until_mailbox_closes() -> None:
    processor = MailboxProcessor(lambda: None, TaskMailbox(is_mailbox_thread=lambda: False), no_mail)
    suspension = processor.suspend_default_action()
    processor.executor().execute(lambda: None, "before")
    suspension.resume()
    assert [mail.description for mail in processor.mailbox.drain()] == ["resume default action", "before"]
    processor.close()
    suspension.resume()
    assert processor.suspension is suspension


def test_suspended_loop_keeps_later_mails_until_run_again() -> None:
    """Rule 3.14."""
    log: list[str] = []

    def default_action() -> None:
        log.append("default")
        processor.all_actions_completed()

    processor = MailboxProcessor(default_action, TaskMailbox(), no_mail)
    processor.suspend()
    processor.executor().execute(lambda: log.append("mail"), "mail")
    processor.run_mailbox_loop()
    assert log == []
    processor.run_mailbox_loop()
    assert log == ["mail", "default"]
    processor.run_mailbox_loop()
    assert log == ["mail", "default"]


def test_time_of_mails_is_not_part_of_suspension() -> None:
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
            processor.suspension.resume()

    processor = MailboxProcessor(default_action, TaskMailbox(is_mailbox_thread=lambda: False), wait)
    processor.run_mailbox_loop()
    assert idle.total_ns == 12


def test_reported_error_is_raised_by_loop_and_keeps_other_mails() -> None:
    """Rule 3.15."""
    processor = MailboxProcessor(lambda: None, TaskMailbox(), no_mail)
    processor.executor().execute(lambda: None, "left")
    processor.report_error(ValueError("from a neighbour"))
    with pytest.raises(ValueError, match="from a neighbour"):
        processor.run_mailbox_loop()
    assert [mail.description for mail in processor.mailbox.drain()] == ["left"]
    processor.close()
    with pytest.raises(MailboxClosedException):
        processor.report_error(ValueError("too late"))
    with pytest.raises(InvariantViolation, match="Mailbox must be opened"):
        processor.run_mailbox_loop()


def test_dropped_mail_is_cancelled_and_others_keep_results() -> None:
    """Rule 3.9."""
    processor = MailboxProcessor(lambda: None, TaskMailbox(), no_mail)
    executor = processor.executor(1)
    answered, failed, dropped = (
        executor.submit(command, "asked") for command in (lambda: 5, lambda: 1 // 0, lambda: 6)
    )
    assert processor.run_mailbox_step()
    assert processor.run_mailbox_step()
    processor.close()
    assert answered.result_nowait() == 5
    with pytest.raises(ZeroDivisionError):
        failed.result_nowait()
    assert (dropped.done, dropped.cancelled, answered.cancel()) == (True, True, False)
    with pytest.raises(WouldBlock, match="cancelled"):
        dropped.result_nowait()


def test_last_of_several_urgent_mails_ending_a_wait_runs_first() -> None:
    """Rule 3.4: a waiting take reads the queue itself, in which urgent mails are reversed."""
    ran: list[str] = []

    def neighbours_put(_: int) -> None:
        for name in ("u1", "u2", "u3"):
            executor.execute(lambda name=name: ran.append(name), name, MailOptions.URGENT)  # type: ignore[misc]
        processor.suspend()

    processor = MailboxProcessor(lambda: None, TaskMailbox(is_mailbox_thread=lambda: False), neighbours_put)
    executor = processor.executor(1)
    executor.yield_()
    while executor.try_yield():
        continue
    assert (ran, processor.suspended) == (["u1", "u2", "u3"], True)


def test_mails_of_loop_are_counted_and_those_of_yield_are_not() -> None:
    """Rule 3.18."""
    processor = MailboxProcessor(lambda: None, TaskMailbox(), no_mail)
    for name in ("a", "b", "c"):
        processor.executor().execute(lambda: None, name)
    assert processor.executor(-1).try_yield()
    assert processor.run_mailbox_step()
    processor.drain()
    assert processor.mails_processed == 2


def test_step_runs_mail_or_default_action_and_single_loop_runs_both() -> None:
    """Rule 3.17."""
    log: list[str] = []
    processor = MailboxProcessor(lambda: log.append("default"), TaskMailbox(), no_mail)
    for name in ("a", "b"):
        processor.executor().execute(lambda name=name: log.append(name), name)  # type: ignore[misc]
    assert processor.run_mailbox_step()
    assert log == ["a"]
    assert processor.run_single_mailbox_loop()
    assert log == ["a", "b", "default"]
    suspension = processor.suspend_default_action()
    assert not processor.run_mailbox_step()
    suspension.resume()
    assert processor.run_mailbox_step()
    assert log == ["a", "b", "default", "default"]


def test_yield_records_minimum_priority_of_mails() -> None:
    recorder = MemoryRecorder(Level.FULL)
    processor = MailboxProcessor(lambda: None, TaskMailbox(), no_mail, trace=TaskTrace(0, TaskClock(5), recorder))
    processor.executor(7).execute(lambda: None, "mail")
    processor.executor(3).yield_()
    rows = [(ActionPhase(p).name, priority) for _, _, _, p, _, _, priority, _ in recorder.rows("actions")]
    assert rows == [("WAIT", 3), ("BEGIN", -1), ("END", -1), ("RESUME", 3)]


def test_time_buckets_end_with_task_and_sum_to_total() -> None:
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


def test_every_action_is_recorded_with_begin_and_end() -> None:
    recorder = MemoryRecorder(Level.FULL)
    trace = TaskTrace(0, TaskClock(5), recorder)
    processor = MailboxProcessor(lambda: processor.all_actions_completed(), TaskMailbox(), no_mail, trace=trace)
    processor.executor().execute(lambda: None, "mail")
    processor.run_mailbox_loop()
    assert [(ActionPhase(p).name, ActionKind(k).name, n) for _, _, _, p, k, n, _, _ in recorder.rows("actions")] == [
        ("BEGIN", "MAIL", 0), ("END", "MAIL", 0),
        ("BEGIN", "DEFAULT_ACTION", 1), ("END", "DEFAULT_ACTION", 1),
        ("BEGIN", "MAIL", 2), ("END", "MAIL", 2),
    ]  # fmt: skip
