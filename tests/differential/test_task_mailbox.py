"""TaskMailbox beside the real TaskMailboxImpl: every command, from the task itself and from other threads (3.1-3.10)."""

from __future__ import annotations

from typing import Any, ClassVar

from hypothesis.stateful import precondition, rule
from hypothesis.strategies import booleans, integers, sampled_from

from flowsim.mailbox.mail import MAX_PRIORITY, Mail, MailOptions
from flowsim.mailbox.task_mailbox import MailboxClosedException, TaskMailbox
from tests.support.flink.machine import Differential, DifferentialMachine

NAMES = {MailOptions.DEFAULT: "options", MailOptions.URGENT: "urgent", MailOptions.DEFERRABLE: "deferrable"}
options = sampled_from([MailOptions.DEFAULT, MailOptions.DEFAULT, MailOptions.URGENT, MailOptions.DEFERRABLE])
priorities = sampled_from([-1, 0, 1, 2, 5, MAX_PRIORITY])


class TaskMailboxMachine(DifferentialMachine):
    subject = "TaskMailbox"
    errors: ClassVar[dict[str, type[BaseException]]] = {"MailboxClosedException": MailboxClosedException}

    def __init__(self) -> None:
        super().__init__()
        self.inside = True
        self.ours = TaskMailbox(is_mailbox_thread=lambda: self.inside)
        self.real = self.flink.java.flowsim.differential.Mailboxes()
        self.puts = 0

    def do(self, call: tuple[object, ...], ours: Any) -> None:
        """The command itself, then what can be seen of the mailbox, in one round trip."""
        answer, *seen = self.flink.calls(self.real, call, "size", "hasMail", "getState")
        self.same(answer, ours)
        self.equal(seen, [len(self.ours), self.ours.has_mail, self.ours.state.value])

    @rule(options=options, priority=priorities, inside=booleans())
    def put(self, options: MailOptions, priority: int, inside: bool) -> None:
        name = f"m{self.puts}"
        self.puts += 1
        self.inside = inside
        mail = Mail(lambda: None, priority, name, options)
        self.do(("put", NAMES[options], priority, name, inside), lambda: self.ours.put(mail))
        self.inside = True

    @rule(priority=priorities)
    def try_take(self, priority: int) -> None:
        self.do(("tryTake", priority), lambda: text(self.ours.try_take(priority)))

    @precondition(lambda self: self.ours.has_mail or self.ours.state.value == "CLOSED")
    @rule()
    def take(self) -> None:
        self.do(("take", -1), lambda: text(self.ours.take_nowait(-1)))

    @rule()
    def create_batch(self) -> None:
        self.do(("createBatch",), self.ours.create_batch)

    @rule(times=integers(1, 3))
    def try_take_from_batch(self, times: int) -> None:
        for _ in range(times):
            self.do(("tryTakeFromBatch",), lambda: text(self.ours.try_take_from_batch()))

    @precondition(lambda self: self.puts > 12)
    @rule()
    def drain(self) -> None:
        self.do(("drain",), lambda: [mail.description for mail in self.ours.drain()])

    @precondition(lambda self: self.puts > 18)
    @rule()
    def quiesce(self) -> None:
        self.do(("quiesce",), self.ours.quiesce)

    @precondition(lambda self: self.puts > 24)
    @rule()
    def close(self) -> None:
        self.do(("close",), lambda: [mail.description for mail in self.ours.close()])


def text(mail: Mail | None) -> str | None:
    return None if mail is None else mail.description


def test_every_command_equals_flinks(differential: Differential) -> None:
    differential.run(TaskMailboxMachine, examples=40, steps=60)
