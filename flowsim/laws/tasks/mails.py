"""Laws mails and fairness: each mail runs once, in order, and only where it may (section 3)."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Final

import numpy as np

from flowsim.facts.kinds import ActionKind, ActionPhase, Level, MailAction, WaitKind
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Law
from flowsim.laws.machine import Machine, on_row, reads
from flowsim.laws.numbers import Numbers
from flowsim.laws.slices import Mask, Slice
from flowsim.laws.tasks import fairness
from flowsim.laws.tasks.fairness import Put, Rounds

ID: Final = "mails"
_BEGIN, _WAIT = int(ActionPhase.BEGIN), int(ActionPhase.WAIT)
_MAIL_ACTION, _DEFAULT_ACTION = int(ActionKind.MAIL), int(ActionKind.DEFAULT_ACTION)
_YIELD = int(WaitKind.YIELD)


class Mailbox(Machine):
    """The waiting mails of one task, those taken but not started, and its open yields."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._task = task.task
        self._found = found[ID]
        self._rounds = Rounds(task.task, found[fairness.ID])
        self._waiting: dict[int, Put] = {}
        """By number of the mail: sequence number of its PUT, its priority and whether it is urgent."""
        self._lines: dict[int, OrderedDict[int, None]] = {}
        """Per priority the waiting mails that are not urgent, in the order of their PUT rows."""
        self._ran = Numbers()
        self._ran_unput: set[int] = set()
        self._taken: deque[tuple[int, int, Put | None]] = deque()
        """Number, priority and PUT of mails that were taken but not started."""
        self._begun_untaken = 0
        self._depth = 0
        """How many actions and waits are open."""
        self._at_top: Mask = np.empty(0, dtype=np.bool_)
        self._others = self._at_top
        self._level = 0
        self._least: dict[int, int] = {}
        """Per level of nested yields, the priority of the last yield that reached it."""

    @on_row("mails", action=MailAction.PUT)
    def _put(self, seq: int, mail: int, priority: int, urgent: int) -> None:
        self._found.examined += 1
        if mail in self._ran_unput:
            self._ran_unput.remove(mail)
        elif mail in self._waiting or mail in self._ran:
            self._broken("a mail is put a second time", seq, mail=mail)
        else:
            self._waiting[mail] = (seq, priority, urgent)
            if not urgent:
                self._lines.setdefault(priority, OrderedDict())[mail] = None

    @on_row("mails", action=MailAction.RUN)
    def _run(self, seq: int, mail: int, priority: int, urgent: int) -> None:
        self._found.examined += 1
        put = self._waiting.pop(mail, None)
        if self._begun_untaken:
            self._begun_untaken -= 1
        else:
            self._taken.append((mail, priority, put))
        if put is not None:
            self._ran.add(mail)
            self._run_in_turn(seq, mail, (priority, urgent), put)
        elif mail in self._ran:
            self._broken("a mail runs a second time", seq, mail=mail)
        else:
            self._ran.add(mail)
            self._ran_unput.add(mail)
            self._broken("a mail runs that was not put before", seq, mail=mail)

    @reads(actions=("phase", "kind"))
    def _select_actions(self, facts: Slice) -> None:
        """The mails, default actions and waits that begin at the top level; the other mails that begin, and yields."""
        rows = facts.of("actions")
        phase, kind = rows.column("phase"), rows.column("kind")
        opens = (phase == _BEGIN) | (phase == _WAIT)
        depth = self._depth + np.cumsum(np.where(opens, 1, -1))
        self._depth = int(depth[-1]) if len(depth) else self._depth
        mails = (phase == _BEGIN) & (kind == _MAIL_ACTION)
        self._at_top = opens & (depth == 1) & (mails | (phase == _WAIT) | (kind == _DEFAULT_ACTION))
        self._others = (mails | ((phase >= _WAIT) & (kind == _YIELD))) & ~self._at_top

    @on_row("actions", lambda self, facts: self._at_top)
    def _at_top_level(self, seq: int, phase: int, kind: int, priority: int, suspended: int) -> None:
        if phase == _BEGIN and kind == _MAIL_ACTION:
            self._found.examined += 1
            self._rounds.mail(seq, *self._begin(seq), suspended)
        elif phase == _BEGIN:
            self._rounds.default_action(seq, suspended, self._earliest())
        else:
            self._rounds.wait(suspended)
            if kind == _YIELD:
                self._begin_yield(priority)

    @on_row("actions", lambda self, facts: self._others)
    def _inside(self, seq: int, phase: int, kind: int, priority: int) -> None:
        if phase == _BEGIN:
            self._found.examined += 1
            self._begin(seq)
        elif phase == _WAIT:
            self._begin_yield(priority)
        else:
            self._level -= 1
            self._rounds.yielded(seq)

    def _begin_yield(self, priority: int) -> None:
        self._level += 1
        self._least[self._level] = priority

    def _earliest(self) -> int | None:
        """The first PUT of the waiting mails that are not urgent."""
        return min((self._waiting[next(iter(line))][0] for line in self._lines.values() if line), default=None)

    def _run_in_turn(self, seq: int, mail: int, run_as: tuple[int, int], put: Put) -> None:
        """First in, first out among mails of one priority that are not urgent (rules 3.4, 3.5)."""
        put_seq, priority, urgent = put
        first = mail
        if not urgent:
            line = self._lines[priority]
            first = next(iter(line))
            del line[mail]
        if run_as != (priority, urgent):
            expected = {"priority": priority, "urgent": urgent}
            ran = {"priority": run_as[0], "urgent": run_as[1]}
            self._broken("a mail runs with another priority or urgency than it was put with", seq, mail=mail,
                         expected=expected, found=ran)  # fmt: skip
        elif first != mail:
            self._broken("a mail runs before a mail of equal priority that was put earlier", seq, priority=priority, put=put_seq,
                         expected=first, found=mail)  # fmt: skip

    def _begin(self, seq: int) -> tuple[int, Put | None]:
        """The n-th mail that a task begins is the n-th that it took; returns its number and its PUT."""
        if not self._taken:
            self._begun_untaken += 1
            self._broken("an action of kind MAIL begins, but no mail was taken", seq)
            return -1, None
        mail, priority, put = self._taken.popleft()
        if self._level > 0 and priority < self._least[self._level]:
            self._broken("a mail runs inside a yield that admits only higher priorities", seq, mail=mail,
                         priority=priority, least=self._least[self._level])  # fmt: skip
        return mail, put

    def _broken(self, what: str, seq: int, **where: object) -> None:
        self._found.broken(what, (self._task, seq), task=self._task, seq=seq, **where)

    def end(self, whole: bool) -> None:
        for mail, (seq, priority, urgent) in self._waiting.items() if whole else ():
            self._broken("a mail was put, but never ran", seq, mail=mail, priority=priority, urgent=urgent)


_COUNTS: Final = """\
- Rows examined: rows of `mails`, and BEGIN rows of kind MAIL in `actions`.
- Every PUT row of a mail except the first, and every RUN row except the first, is a violation. Below, only the first
  PUT row and the first RUN row of a mail count.
- The RUN row is a violation when the mail has no PUT row, or when its PUT row is after the RUN row or has another
  priority or urgency.
- Otherwise, the RUN row of a mail that is not urgent is a violation when it overtakes another mail: this mail is not
  urgent, has the same priority, was put earlier (lower seq, then lower number) and had not run before. Only such mails
  are compared, because urgent mails overtake others, a yield passes over lower priorities, and urgent mails that end a
  wait run last in, first out (rules 3.4, 3.5).
- In a whole run, a mail without a RUN row is a violation: a finishing task drains its mailbox before it closes it (rule
  3.16), and rejects later mails.
- Yields: the *level* of a task is the number of its WAIT rows of kind YIELD in `actions` minus the number of its RESUME
  rows of kind YIELD, so far. The n-th BEGIN row of kind MAIL corresponds to the n-th RUN row in `mails`. A BEGIN row of
  kind MAIL is a violation when
  - it has no corresponding RUN row, or this RUN row is after it;
  - the level is above 0, and the priority of the mail is below the `priority` of the last WAIT row that raised the
    level to this value.
"""

LAWS: Final = (
    Law(
        ID,
        "Every mail that was put runs once. Mails of equal priority that are not urgent run in FIFO order. "
        "Inside a yield, only mails of its priority or above run.",
        ("3.4", "3.5", "3.8", "3.16", "3.21"),
        Level.FULL,
        Mailbox,
        counts=_COUNTS,
    ),
    Law(
        fairness.ID,
        "A mail that is put while a batch of mails runs waits until the default action has run, unless that is "
        "suspended or a yield runs the mail. The default action waits for the whole batch.",
        ("3.2", "3.10", "3.12", "3.13", "3.21"),
        Level.FULL,
        Mailbox,
        counts=fairness.COUNTS,
    ),
)
