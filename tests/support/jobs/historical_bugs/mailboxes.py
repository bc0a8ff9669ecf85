"""Bugs of the mailbox of a task."""

from __future__ import annotations

import pytest

from flowsim.mailbox.mail import Mail
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.mailbox.task_mailbox import TaskMailbox
from flowsim.tasks.mailbox_processor import MailboxProcessor
from tests.support.faults import Fault
from tests.support.jobs.historical_bugs.bug import Bug, replaced


def _put_last(self: TaskMailbox, mail: Mail) -> None:
    mail.urgent = False
    self._queue.append(mail)


def _create_batch_of_urgent_mails(self: TaskMailbox) -> bool:
    if not self._take_urgent() and not self._batch:
        self._batch.extend(self._queue)
        self._queue.clear()
    return bool(self._batch)


def _all_operators_have_one_priority(patch: pytest.MonkeyPatch) -> None:
    executor = MailboxProcessor.executor

    def of_one_priority(self: MailboxProcessor, priority: int = -1, operator: str | None = None) -> MailboxExecutor:
        return executor(self, min(priority, 0), operator)

    patch.setattr(MailboxProcessor, "executor", of_one_priority)


BUGS_OF_MAILBOXES = (
    Bug(
        "FLINK-35051",
        "An urgent mail, such as that of an unaligned barrier, waits behind mails that are not urgent.",
        replaced(TaskMailbox, "_put_first", _put_last),
    ),
    Bug(
        "FLINK-39898",
        "While urgent mails come, a batch contains no other mails.",
        replaced(TaskMailbox, "create_batch", _create_batch_of_urgent_mails),
        is_cheap=True,
    ),
    Bug(
        "FLINK-35528",
        "An operator that yields runs mails of operators before it in the chain.",
        Fault("yield_runs_any_mail"),
        is_cheap=True,
    ),
    Bug(
        "FLINK-14156",
        "All operators of a chain post mails of one priority.",
        _all_operators_have_one_priority,
    ),
)
