"""Which mails an operator's yield runs, and which it leaves (rules 3.7, 3.20-3.23)."""

from __future__ import annotations

import pytest

from flowsim.errors import WouldBlock
from flowsim.mailbox.mail import MAX_PRIORITY, Mail, MailOptions
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.mailbox.task_mailbox import MailboxClosedException, TaskMailbox
from flowsim.tasks.mailbox_processor import MailboxProcessor


class Task:
    """A processor without a default action; a wait for a mail puts the next one of ``arrives``."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.waits: list[int] = []
        self.processor = MailboxProcessor(lambda: None, TaskMailbox(), self.wait_for_mail)
        self.arrives: list[tuple[int, str]] = []

    def wait_for_mail(self, priority: int) -> None:
        self.waits.append(priority)
        for at, name in self.arrives:
            self.put(at, name)

    def executor(self, priority: int) -> MailboxExecutor:
        return self.processor.executor(priority)

    def put(self, priority: int, name: str, options: MailOptions = MailOptions.DEFAULT) -> None:
        self.executor(priority).execute(lambda: self.ran.append(name), name, options)


def test_yield_runs_mails_of_own_and_higher_priorities() -> None:
    """Rule 3.21: with mails main, op1, op2, notify, op2 runs op2 and notify; op1 also op1; main the rest."""
    task = Task()
    for priority, name in ((-1, "main"), (1, "op1"), (2, "op2"), (MAX_PRIORITY, "notify")):
        task.put(priority, name)
    while task.executor(2).try_yield():
        continue
    assert task.ran == ["op2", "notify"]
    while task.executor(1).try_yield():
        continue
    assert task.ran == ["op2", "notify", "op1"]
    while task.executor(-1).try_yield():
        continue
    assert task.ran == ["op2", "notify", "op1", "main"]


def test_deferrable_mail_never_runs_inside_yield() -> None:
    """Rule 3.7."""
    task = Task()
    task.put(3, "later", MailOptions.DEFERRABLE)
    assert not task.executor(0).try_yield()
    assert task.executor(-1).try_yield()
    assert task.ran == ["later"]


def test_urgent_mail_does_not_pass_priority_filter() -> None:
    """Rule 3.6."""
    task = Task()
    task.put(-1, "urgent", MailOptions.URGENT)
    assert not task.executor(0).try_yield()


def test_yield_waits_for_mail_of_its_priority() -> None:
    task = Task()
    task.put(-1, "main")
    task.arrives = [(1, "upstream"), (2, "mine")]
    task.executor(2).yield_()
    assert (task.waits, task.ran) == ([2], ["mine"])


def test_mail_run_inside_yield_may_yield() -> None:
    task = Task()
    inner = task.executor(2)

    def outer_mail() -> None:
        task.ran.append("outer begins")
        inner.yield_()
        task.ran.append("outer ends")

    task.executor(1).execute(outer_mail, "outer")
    task.put(1, "skipped")
    task.put(2, "inner")
    task.executor(1).yield_()
    assert task.ran == ["outer begins", "inner", "outer ends"]


def test_any_mail_requests_interruption() -> None:
    """Rule 3.23."""
    task = Task()
    executor = task.executor(5)
    assert not executor.should_interrupt()
    task.put(-1, "main")
    assert executor.should_interrupt()


def test_executor_is_idle_when_default_action_is_suspended_without_mails() -> None:
    """Rule 3.23."""
    task = Task()
    executor = task.executor(1)
    assert not executor.is_idle()
    task.processor.suspend_default_action()
    assert executor.is_idle()
    task.put(1, "mail")
    assert not executor.is_idle()
    task.processor.mailbox.drain()
    task.processor.mailbox.quiesce()
    assert not executor.is_idle()


def test_quiesced_mailbox_refuses_mails_and_runs_queued_ones() -> None:
    """Rules 3.9, 3.14, 3.16: control mails are dropped silently, others are refused."""
    task = Task()
    task.put(0, "last")
    task.processor.prepare_close()
    with pytest.raises(MailboxClosedException):
        task.put(0, "too late")
    task.processor.suspend()
    task.processor.drain()
    assert task.ran == ["last"]
    assert task.processor.mailbox.close() == []


def test_take_without_mail_would_block() -> None:
    with pytest.raises(WouldBlock):
        TaskMailbox().take_nowait(-1)


def test_every_put_wakes_the_task() -> None:
    woken: list[int] = []
    mailbox = TaskMailbox(lambda: woken.append(len(mailbox)))
    for options in MailOptions:
        mailbox.put(Mail(lambda: None, 0, "mail", options))
    assert woken == [1, 2, 3]
