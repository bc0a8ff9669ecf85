"""The actions of the model job's tasks, and the mails that run as such."""

from __future__ import annotations

from random import Random

from flowsim.facts.kinds import ActionKind, ActionPhase, Level, MailAction, WaitKind
from tests.support.facts.fact_builder import FactBuilder


class HonestActions:
    """Numbers actions and mails, and records them."""

    def __init__(self, facts: FactBuilder, random: Random) -> None:
        self.facts = facts
        self.random = random
        self.actions: dict[int, int] = {}
        self.mailboxes: dict[int, list[tuple[int, int, int]]] = {}
        """Waiting mails of a task: (number, priority, urgent)."""
        self.mail_numbers: dict[int, int] = {}
        self.suspended: set[int] = set()
        """Tasks whose default action is suspended."""

    def act(self, phase: ActionPhase, task: int, kind: int, action: int | None = None, priority: int = -1) -> int:
        number = self.actions.get(task, 0) if action is None else action
        if action is None:
            self.actions[task] = number + 1
        if self.facts.level >= Level.FULL:
            self.facts.add("actions", task=task, phase=phase, kind=kind, action=number, priority=priority,
                           suspended=int(task in self.suspended))  # fmt: skip
        return number

    def put_mail(self, task: int, priority: int, urgent: int) -> None:
        number = self.mail_numbers.get(task, 0)
        self.mail_numbers[task] = number + 1
        self.mailboxes.setdefault(task, []).append((number, priority, urgent))
        if self.facts.level >= Level.FULL:
            self.facts.add("mails", task=task, action=MailAction.PUT, mail=number, priority=priority, urgent=urgent)

    def run_mail(self, task: int, least: int) -> bool:
        """Takes the first mail of at least that priority, urgent ones first, and runs it; False when there is none."""
        fitting = [mail for mail in self.mailboxes.get(task, ()) if mail[1] >= least]
        if not fitting:
            return False
        mail = next((m for m in fitting if m[2]), fitting[0])
        self.mailboxes[task].remove(mail)
        if self.facts.level >= Level.FULL:
            self.facts.add("mails", task=task, action=MailAction.RUN, mail=mail[0], priority=mail[1], urgent=mail[2])
        action = self.act(ActionPhase.BEGIN, task, ActionKind.MAIL)
        cost = self.act(ActionPhase.WAIT, task, WaitKind.COST)
        self.act(ActionPhase.RESUME, task, WaitKind.COST, cost)
        self.act(ActionPhase.END, task, ActionKind.MAIL, action)
        return True

    def mail_round(self, task: int) -> None:
        """Between two elements: mails come and run as one batch; while the default action is suspended, one by one."""
        self.mails_come(task)
        if self.random.random() < 0.3:
            self.suspended.add(task)
        batch = len(self.mailboxes.get(task, ()))
        for number in range(batch):
            self.run_mail(task, -1)
            if number < batch - 1:
                self.mails_come(task, at_once=0)
        if task in self.suspended:
            self.facts.now_ns = 1 + len(self.facts.facts)
            wait = self.act(ActionPhase.WAIT, task, WaitKind.MAIL)
            self.mails_come(task)
            self.act(ActionPhase.RESUME, task, WaitKind.MAIL, wait)
            self.facts.now_ns = None
            while self.random.random() < 0.6 and self.run_mail(task, -1):
                pass
            self.suspended.discard(task)

    def mails_come(self, task: int, at_once: float = 0.2) -> None:
        """``at_once``: how probable an urgent one is."""
        while self.random.random() < 0.3:
            self.put_mail(task, self.random.choice((-1, 0, 1)), int(self.random.random() < at_once))

    def drain(self, task: int) -> None:
        """The end of the loop, whose default action never runs again."""
        self.suspended.add(task)
        while self.run_mail(task, -1):
            pass

    def nest(self, task: int) -> None:
        """An operator waits inside its element and runs one mail meanwhile."""
        self.put_mail(task, self.random.choice((1, 2)), 0)
        wait = self.act(ActionPhase.WAIT, task, WaitKind.YIELD, priority=1)
        self.run_mail(task, 1)
        self.act(ActionPhase.RESUME, task, WaitKind.YIELD, wait)
