"""TaskMailbox answers every command as the real TaskMailboxImpl did (rules 3.1-3.10)."""

from __future__ import annotations

from typing import Any

from flowsim.mailbox.mail import Mail, MailOptions
from flowsim.mailbox.task_mailbox import MailboxClosedException, TaskMailbox
from tests.support.flink.golden import cases

OPTIONS = {"plain": MailOptions.DEFAULT, "urgent": MailOptions.URGENT, "deferrable": MailOptions.DEFERRABLE}


def answer(mailbox: TaskMailbox, command: list[Any]) -> Any:
    def name(mail: Mail | None) -> str | None:
        return None if mail is None else mail.description

    match command:
        case ["put", option, priority, text]:
            return mailbox.put(Mail(lambda: None, priority, text, OPTIONS[option]))
        case ["try_take", priority]:
            return name(mailbox.try_take(priority))
        case ["take", priority]:
            return name(mailbox.take_nowait(priority))
        case ["create_batch"]:
            return mailbox.create_batch()
        case ["try_take_from_batch"]:
            return name(mailbox.try_take_from_batch())
        case ["has_mail"]:
            return mailbox.has_mail
        case ["drain"]:
            return [m.description for m in mailbox.drain()]
        case ["close"]:
            return [m.description for m in mailbox.close()]
        case ["quiesce"]:
            return mailbox.quiesce()
    raise AssertionError(f"unknown command {command}")


def test_every_command_equals_flinks() -> None:
    commands = 0
    for case in cases("component/task_mailbox"):
        mailbox = TaskMailbox()
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            try:
                result, error = answer(mailbox, command), None
            except MailboxClosedException:
                result, error = None, "closed"
            where = (case["id"], command)
            assert (where, result, error is not None) == (where, expected["res"], expected["err"] is not None)
            assert (where, len(mailbox), mailbox.state.value) == (where, expected["size"], expected["state"])
            assert (where, mailbox.has_mail) == (where, expected["has_mail"])
            commands += 1
    assert commands > 10_000
