"""The mailbox loop of a task: mails, then the default action, repeatedly. Flink: MailboxProcessor (rules 3.11-3.19)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from flowsim.errors import InvariantViolation
from flowsim.facts.kinds import ActionKind, ActionPhase, WaitKind
from flowsim.facts.tracer import TaskTrace
from flowsim.mailbox.mail import MAX_PRIORITY, MIN_PRIORITY, Mail, MailOptions
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.mailbox.task_mailbox import MailboxClosedException, MailboxState, TaskMailbox
from flowsim.tasks.time_buckets import PeriodTimer


class Suspension:
    """A suspended default action. Flink: MailboxDefaultAction.Suspension.

    ``timer`` measures the duration of the suspension without the time of mails (rule 3.19).
    """

    __slots__ = ("_processor", "timer")

    def __init__(self, processor: MailboxProcessor, timer: PeriodTimer | None) -> None:
        self._processor = processor
        self.timer = timer
        if timer is not None:
            timer.mark_start()

    def resume(self) -> None:
        """Lets the default action run again; does nothing after the suspension has ended (rule 3.13).

        Inside the task the effect is immediate; from outside, a control mail resumes the action, and a closed mailbox
        drops this mail.
        """
        if self._processor.mailbox.is_mailbox_thread():
            self._resume_here()
        else:
            with suppress(MailboxClosedException):
                self._processor.send_control_mail(self._resume_here, "resume default action")

    def _resume_here(self) -> None:
        if self._processor.suspension is self:
            self._processor.suspension = None
            if self.timer is not None:
                self.timer.mark_end()


class MailboxProcessor:
    """Runs one action at a time: a mail, or the default action if it is not suspended. Flink: MailboxProcessor.

    ``wait_for_mail(priority)`` blocks the task until a mail of at least this priority arrives. ``after_default_action``
    lets other tasks run after an action, ``give_others_time`` inside an action. Invariants: at most one action at a
    time, except inside a yield (I3.a, I3.e); the default action never runs while suspended (I3.d).
    """

    __slots__ = (
        "mailbox",
        "mails_processed",
        "suspension",
        "suspended",
        "loop_running",
        "_default_action",
        "_wait_for_mail",
        "_after_default_action",
        "_give_others_time",
        "_trace",
        "_actions",
        "_waits",
    )

    def __init__(
        self,
        default_action: Callable[[], None],
        mailbox: TaskMailbox,
        wait_for_mail: Callable[[int], None],
        after_default_action: Callable[[], None] = lambda: None,
        trace: TaskTrace | None = None,
        give_others_time: Callable[[], None] = lambda: None,
    ) -> None:
        self.mailbox = mailbox
        self.mails_processed = 0
        """Number of mails that the loop ran, without mails inside a yield (rule 3.18). Flink: numMailsProcessed."""
        self.suspension: Suspension | None = None
        self.suspended = False
        self.loop_running = True
        """True until all actions are completed; a suspended loop continues later. Flink: isMailboxLoopRunning."""
        self._default_action = default_action
        self._wait_for_mail = wait_for_mail
        self._after_default_action = after_default_action
        self._give_others_time = give_others_time
        self._trace = trace
        self._actions = 0
        self._waits = 0

    def executor(self, priority: int = MIN_PRIORITY, operator: str | None = None) -> MailboxExecutor:
        """Returns the executor of the task (-1) or of an operator (its chain index and name) (rule 3.20)."""
        return MailboxExecutor(
            self.mailbox,
            priority,
            self.yield_to,
            lambda: self.suspension is not None,
            self._give_others_time,
            operator,
        )

    @property
    def is_default_action_available(self) -> bool:
        return self.suspension is None

    def run_mailbox_loop(self) -> None:
        """Runs actions until suspended; raises InvariantViolation if the mailbox is not open (rule 3.11)."""
        self.suspended = not self.loop_running
        if self.mailbox.state is not MailboxState.OPEN:
            raise InvariantViolation("Mailbox must be opened!")
        while not self.suspended:
            self._process_mail()
            if not self.suspended:
                self._run_default_action()
                self._after_default_action()

    def run_mailbox_step(self) -> bool:
        """Runs one mail, or one default action if there is no mail; returns True if anything ran (rule 3.17)."""
        self.suspended = not self.loop_running
        return self._process_one_mail() or self._run_default_action_if_possible()

    def run_single_mailbox_loop(self) -> bool:
        """Runs at most one mail, and then one default action; returns True if anything ran (rule 3.17)."""
        self.suspended = not self.loop_running
        processed = self._process_one_mail()
        return self._run_default_action_if_possible() or processed

    def run_mail(self, mail: Mail) -> None:
        """Runs one mail as an action and counts it (rule 3.18)."""
        self.mails_processed += 1
        self._run_as_action(mail)

    def yield_to(self, priority: int, block: bool) -> bool:
        """Runs one mail of at least ``priority`` inside the current action (rule 3.21); returns whether there was one.

        The mail is not counted (rule 3.18).
        """
        mail = self.mailbox.try_take(priority)
        if mail is None and not block:
            return False
        number = self.begin_wait(WaitKind.YIELD, priority)
        if mail is None:
            self._wait_for_mail(priority)
            mail = self.mailbox.take_arrived_nowait(priority)
        self._run_as_action(mail)
        self.end_wait(WaitKind.YIELD, number, priority)
        return True

    def begin_wait(self, kind: WaitKind, priority: int = -1) -> int:
        """Records that the task starts to wait; returns a number for the end of the wait.

        ``priority``: that of a yield.
        """
        number = self._waits
        self._waits = number + 1
        if self._trace is not None:
            self._trace.action(ActionPhase.WAIT, kind, number, priority, self.suspension is not None)
        return number

    def end_wait(self, kind: WaitKind, number: int, priority: int = -1) -> None:
        if self._trace is not None:
            self._trace.action(ActionPhase.RESUME, kind, number, priority, self.suspension is not None)

    def suspend_default_action(self, timer: PeriodTimer | None = None) -> Suspension:
        """Suspends the default action; raises InvariantViolation if it is already suspended (rule 3.13)."""
        if self.suspension is not None:
            raise InvariantViolation("Default action has already been suspended")
        self.suspension = Suspension(self, timer)
        return self.suspension

    def suspend(self) -> None:
        """Ends the loop after the earlier mails; a later loop continues (rule 3.14)."""
        self._send_poison(self._suspend_loop)

    def all_actions_completed(self) -> None:
        """Ends the loop permanently (rule 3.14)."""
        self._send_poison(self._end_loop)

    def report_error(self, error: BaseException) -> None:
        """Raises ``error`` in the task by an urgent mail; raises MailboxClosedException if the mailbox is closed (rule
        3.15).
        """

        def report() -> None:
            raise error

        self.send_control_mail(report, f"Report throwable {error}")

    def prepare_close(self) -> None:
        """Rejects new mails from now on (rule 3.16)."""
        self.mailbox.quiesce()

    def drain(self) -> None:
        """Runs all remaining mails in order (rule 3.16); an error drops the mails after it."""
        for mail in self.mailbox.drain():
            self.run_mail(self.mailbox.taken(mail))

    def close(self) -> None:
        """Closes the mailbox; dropped mails that are futures are cancelled (rule 3.9)."""
        for mail in self.mailbox.close():
            mail.try_cancel()

    def send_control_mail(self, command: Callable[[], None], description: str) -> None:
        """Sends an urgent mail of the highest priority (rule 3.14)."""
        self.mailbox.put(Mail(command, MAX_PRIORITY, description, MailOptions.URGENT))

    def action(self, kind: ActionKind, body: Callable[[], None]) -> None:
        """Runs ``body`` as one recorded action."""
        number = self.begin_action(kind)
        body()
        self.end_action(kind, number)

    def _process_mail(self) -> None:
        """Runs the batch, then single mails while the default action is suspended (rule 3.12)."""
        mailbox = self.mailbox
        if mailbox.has_mail and mailbox.create_batch():
            self._process_batch(one_mail=False)
        while self.suspension is not None and not self.suspended:
            mail = mailbox.try_take(MIN_PRIORITY)
            if mail is None:
                self._wait_for_mail(MIN_PRIORITY)
                mail = mailbox.take_arrived_nowait(MIN_PRIORITY)
            self._pause_timer()
            self.run_mail(mail)
            self._restart_timer()

    def _process_one_mail(self) -> bool:
        return self.mailbox.create_batch() and self._process_batch(one_mail=True)

    def _process_batch(self, one_mail: bool) -> bool:
        """Runs mails until the batch is empty or the loop is suspended; returns True if any mail ran."""
        processed = False
        while not self.suspended:
            mail = self.mailbox.try_take_from_batch()
            if mail is None:
                break
            if not processed:
                self._pause_timer()
            self.run_mail(mail)
            processed = True
            if one_mail:
                break
        if processed:
            self._restart_timer()
        return processed

    def _pause_timer(self) -> None:
        """Pauses the timer of the suspension, because a mail is work (rule 3.19)."""
        if self.suspension is not None and self.suspension.timer is not None:
            self.suspension.timer.mark_end()

    def _restart_timer(self) -> None:
        if self.suspension is not None and self.suspension.timer is not None:
            self.suspension.timer.mark_start()

    def _run_as_action(self, mail: Mail) -> None:
        number = self.begin_action(ActionKind.MAIL)
        mail.run()
        self.end_action(ActionKind.MAIL, number)

    def _run_default_action_if_possible(self) -> bool:
        if self.suspension is not None or self.suspended:
            return False
        self._run_default_action()
        return True

    def _run_default_action(self) -> None:
        number = self.begin_action(ActionKind.DEFAULT_ACTION)
        self._default_action()
        self.end_action(ActionKind.DEFAULT_ACTION, number)

    def begin_action(self, kind: ActionKind) -> int:
        """Starts an action; returns a number for its end."""
        number = self._actions
        self._actions = number + 1
        if self._trace is not None:
            self._trace.action(ActionPhase.BEGIN, kind, number, -1, self.suspension is not None)
        return number

    def end_action(self, kind: ActionKind, number: int) -> None:
        if self._trace is not None:
            self._trace.action(ActionPhase.END, kind, number, -1, self.suspension is not None)

    def _send_poison(self, command: Callable[[], None]) -> None:
        """Sends a control mail, unless the mailbox is not open (rule 3.14)."""
        if self.mailbox.state is MailboxState.OPEN:
            self.send_control_mail(command, "poison mail")

    def _suspend_loop(self) -> None:
        self.suspended = True

    def _end_loop(self) -> None:
        self.loop_running = False
        self.suspended = True
