"""The loop of a task: mails, then the default action, again and again. Flink: MailboxProcessor (rules 3.11-3.19)."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.errors import InvariantViolation
from flowsim.facts.kinds import ActionKind, ActionPhase, WaitKind
from flowsim.facts.tracer import TaskTrace
from flowsim.mailbox.mail import MAX_PRIORITY, MIN_PRIORITY, Mail, MailOptions
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.mailbox.task_mailbox import MailboxState, TaskMailbox
from flowsim.tasks.time_buckets import PeriodTimer


class Suspension:
    """A suspended default action. Flink: MailboxDefaultAction.Suspension.

    ``timer`` measures how long it lasts, the time of mails left out (rule 3.19).
    """

    __slots__ = ("_processor", "timer", "_announced")

    def __init__(self, processor: MailboxProcessor, timer: PeriodTimer | None) -> None:
        self._processor = processor
        self.timer = timer
        self._announced = False
        if timer is not None:
            timer.mark_start()

    def resume(self) -> None:
        """From inside the task: the default action may run again; a stale resume is ignored (rule 3.13)."""
        if self._processor.suspension is self:
            self._processor.suspension = None
            if self.timer is not None:
                self.timer.mark_end()

    def resume_by_mail(self) -> None:
        """From outside the task: an urgent control mail resumes (rule 3.13)."""
        if not self._announced and self._processor.suspension is self:
            self._announced = True
            self._processor.send_control_mail(self.resume, "resume default action")


class MailboxProcessor:
    """Runs one action at a time: a mail, or the default action when it is not suspended. Flink: MailboxProcessor.

    ``wait_for_mail(priority)`` blocks the task until such a mail is there; ``after_default_action`` is where the task
    gives way. Invariants: at most one action at a time, except inside a yield (I3.a, I3.e); the default action never
    runs while suspended (I3.d).
    """

    __slots__ = (
        "mailbox", "suspension", "suspended", "loop_running", "mails_processed", "_default_action", "_wait_for_mail",
        "_after_default_action", "_trace", "_actions", "_waits",
    )  # fmt: skip

    def __init__(
        self,
        default_action: Callable[[], None],
        mailbox: TaskMailbox,
        wait_for_mail: Callable[[int], None],
        after_default_action: Callable[[], None] = lambda: None,
        trace: TaskTrace | None = None,
    ) -> None:
        self.mailbox = mailbox
        self.suspension: Suspension | None = None
        self.suspended = False
        self.loop_running = True
        self.mails_processed = 0
        self._default_action = default_action
        self._wait_for_mail = wait_for_mail
        self._after_default_action = after_default_action
        self._trace = trace
        self._actions = 0
        self._waits = 0

    def executor(self, priority: int = MIN_PRIORITY) -> MailboxExecutor:
        """The executor of the task (-1) or of an operator (its chain index) (rule 3.20)."""
        return MailboxExecutor(self.mailbox, priority, self.yield_to, lambda: self.suspension is not None)

    @property
    def is_default_action_available(self) -> bool:
        return self.suspension is None

    def run_mailbox_loop(self) -> None:
        """Rule 3.11: until suspended."""
        self.suspended = not self.loop_running
        while not self.suspended:
            self._process_mail()
            if not self.suspended:
                self._run_default_action()
                self._after_default_action()

    def run_mailbox_step(self) -> bool:
        """One mail if there is one, else one default action; whether anything ran (rule 3.17)."""
        mail = self.mailbox.try_take(MIN_PRIORITY)
        if mail is not None:
            self.run_mail(mail)
            return True
        if self.suspension is None:
            self._run_default_action()
            return True
        return False

    def run_mail(self, mail: Mail) -> None:
        """Runs one mail as an action, possibly inside another action's yield."""
        self.mails_processed += 1
        number = self._begin(ActionKind.MAIL)
        mail.run()
        self._end(ActionKind.MAIL, number)

    def yield_to(self, priority: int, block: bool) -> bool:
        """Runs one mail of at least ``priority`` on top of the current action (rule 3.21); whether one was there."""
        mail = self.mailbox.try_take(priority)
        if mail is None and not block:
            return False
        number = self.begin_wait(WaitKind.YIELD)
        if mail is None:
            self._wait_for_mail(priority)
            mail = self.mailbox.take_nowait(priority)
        self.run_mail(mail)
        self.end_wait(WaitKind.YIELD, number)
        return True

    def begin_wait(self, kind: WaitKind) -> int:
        """The task waits from now on; answers the number to end it with."""
        number = self._waits
        self._waits = number + 1
        if self._trace is not None:
            self._trace.action(ActionPhase.WAIT, kind, number)
        return number

    def end_wait(self, kind: WaitKind, number: int) -> None:
        if self._trace is not None:
            self._trace.action(ActionPhase.RESUME, kind, number)

    def suspend_default_action(self, timer: PeriodTimer | None = None) -> Suspension:
        """Rule 3.13; raises InvariantViolation when it is suspended already."""
        if self.suspension is not None:
            raise InvariantViolation("Default action has already been suspended")
        self.suspension = Suspension(self, timer)
        return self.suspension

    def suspend(self) -> None:
        """Ends the loop after the mails before it; a later loop goes on (rule 3.14)."""
        self._send_poison(self._suspend_loop, "poison mail")

    def all_actions_completed(self) -> None:
        """Ends the loop for good (rule 3.14)."""
        self._send_poison(self._end_loop, "all actions completed")

    def prepare_close(self) -> None:
        """Rule 3.16: no more mails are accepted."""
        self.mailbox.quiesce()

    def drain(self) -> None:
        """Runs all remaining mails in order (rule 3.16)."""
        for mail in self.mailbox.drain():
            self.run_mail(mail)

    def close(self) -> None:
        self.mailbox.close()

    def send_control_mail(self, command: Callable[[], None], description: str) -> None:
        """Control mails are urgent, of the highest priority, and dropped once the mailbox is not open (rule 3.14)."""
        if self.mailbox.state is MailboxState.OPEN:
            self.mailbox.put(Mail(command, MAX_PRIORITY, description, MailOptions.URGENT))

    def action(self, kind: ActionKind, body: Callable[[], None]) -> None:
        """Runs ``body`` as one recorded action."""
        number = self._begin(kind)
        body()
        self._end(kind, number)

    def _process_mail(self) -> None:
        """Rule 3.12: the batch, then, while the default action is suspended, mail by mail."""
        mailbox = self.mailbox
        if mailbox.has_mail:
            mailbox.create_batch()
            while not self.suspended:
                mail = mailbox.try_take_from_batch()
                if mail is None:
                    break
                self._run_mail_while_suspended(mail)
        while self.suspension is not None and not self.suspended:
            waiting = mailbox.try_take(MIN_PRIORITY)
            if waiting is None:
                self._wait_for_mail(MIN_PRIORITY)
                waiting = mailbox.take_nowait(MIN_PRIORITY)
            self._run_mail_while_suspended(waiting)

    def _run_mail_while_suspended(self, mail: Mail) -> None:
        """Rule 3.19: a mail is work, so the timer of the suspension pauses."""
        suspension = self.suspension
        if suspension is not None and suspension.timer is not None:
            suspension.timer.mark_end()
        self.run_mail(mail)
        suspension = self.suspension
        if suspension is not None and suspension.timer is not None:
            suspension.timer.mark_start()

    def _run_default_action(self) -> None:
        number = self._begin(ActionKind.DEFAULT_ACTION)
        self._default_action()
        self._end(ActionKind.DEFAULT_ACTION, number)

    def _begin(self, kind: ActionKind) -> int:
        number = self._actions
        self._actions = number + 1
        if self._trace is not None:
            self._trace.action(ActionPhase.BEGIN, kind, number)
        return number

    def _end(self, kind: ActionKind, number: int) -> None:
        if self._trace is not None:
            self._trace.action(ActionPhase.END, kind, number)

    def _send_poison(self, command: Callable[[], None], description: str) -> None:
        self.send_control_mail(command, description)

    def _suspend_loop(self) -> None:
        self.suspended = True

    def _end_loop(self) -> None:
        self.loop_running = False
        self.suspended = True
