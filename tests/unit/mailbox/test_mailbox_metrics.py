"""The mail that measures how long mails wait (rule 3.18)."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.mailbox.task_mailbox import TaskMailbox
from flowsim.tasks.mailbox_processor import MailboxProcessor


def test_the_first_mail_starts_the_measuring_and_each_answer_arranges_for_the_next_one() -> None:
    now = [5_000]
    due: list[tuple[int, Callable[[], None]]] = []
    waited: list[int] = []
    processor = MailboxProcessor(lambda: None, TaskMailbox(), lambda _: None)
    processor.metrics.set_up_latency(
        lambda at, call: due.append((at, call)), lambda: now[0], processor.executor(), waited.append
    )
    assert due == []
    for name in ("first", "second"):
        processor.executor().execute(lambda: None, name)
        processor.run_mailbox_step()
    for wait_ms in (30, 0):
        [(at, call)] = due
        due.clear()
        assert at == now[0] + 1_000
        now[0] = at
        call()
        now[0] += wait_ms
        processor.run_mailbox_step()
    assert waited == [30, 0]
    assert [at for at, _ in due] == [8_030]


def test_a_poison_mail_does_not_start_the_measuring() -> None:
    due: list[int] = []
    processor = MailboxProcessor(lambda: None, TaskMailbox(), lambda _: None)
    processor.metrics.set_up_latency(lambda at, _: due.append(at), lambda: 1, processor.executor(), lambda _: None)
    processor.suspend()
    processor.run_mailbox_loop()
    assert due == []
