"""Laws mails and fairness: each mail runs once, in order, and only where it may (section 3)."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Final

import numpy as np

from flowsim.facts.kinds import ActionKind, ActionPhase, Level, MailAction, WaitKind
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law
from flowsim.laws.numbers import Numbers
from flowsim.laws.slices import Mask, Rows, Slice
from flowsim.laws.tasks import fairness
from flowsim.laws.tasks.fairness import Put, Rounds

ID: Final = "mails"
_MAIL: Final = ("action", "mail", "priority", "urgent")
_STEP: Final = ("phase", "kind", "priority", "suspended")
_PUT: Final = int(MailAction.PUT)
_BEGIN, _WAIT, _RESUME = int(ActionPhase.BEGIN), int(ActionPhase.WAIT), int(ActionPhase.RESUME)
_MAIL_ACTION, _DEFAULT_ACTION = int(ActionKind.MAIL), int(ActionKind.DEFAULT_ACTION)
_YIELD = int(WaitKind.YIELD)


class Mailbox:
    """The waiting mails of one task, those taken but not started, and its open yields."""

    def __init__(self, task: int, found: Findings, rounds: Rounds) -> None:
        self._task = task
        self._found = found
        self._rounds = rounds
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
        self._level = 0
        self._least: dict[int, int] = {}
        """Per level of nested yields, the priority of the last yield that reached it."""

    def feed(self, facts: Slice) -> None:
        self._found.examined += len(facts.of("mails"))
        at_top, others = self._masks(facts.of("actions"))
        parts = (("mails", _MAIL), ("actions", _STEP, at_top), ("actions", _STEP, others))
        for seq, part, row in facts.merged(*parts):
            if part:
                self._step(seq, part == 1, *row)
            elif row[0] == _PUT:
                self._put(seq, *row[1:])
            else:
                self._run(seq, *row[1:])

    def _masks(self, rows: Rows) -> tuple[Mask, Mask]:
        """The mails, default actions and waits that begin at the top level; the other mails that begin, and yields."""
        phase, kind = rows.column("phase"), rows.column("kind")
        opens = (phase == _BEGIN) | (phase == _WAIT)
        depth = self._depth + np.cumsum(np.where(opens, 1, -1))
        self._depth = int(depth[-1]) if len(depth) else self._depth
        mails = (phase == _BEGIN) & (kind == _MAIL_ACTION)
        at_top = opens & (depth == 1) & (mails | (phase == _WAIT) | (kind == _DEFAULT_ACTION))
        return at_top, (mails | ((phase >= _WAIT) & (kind == _YIELD))) & ~at_top

    def _step(self, seq: int, at_top: bool, phase: int, kind: int, priority: int, suspended: int) -> None:
        if phase == _BEGIN and kind == _MAIL_ACTION:
            self._found.examined += 1
            mail, put = self._begin(seq)
            if at_top:
                self._rounds.mail(seq, mail, put, suspended)
        elif phase == _BEGIN:
            self._rounds.default_action(seq, suspended, self._earliest())
        elif phase != _WAIT:
            self._level -= 1
            if phase == _RESUME and kind == _YIELD:
                self._rounds.yielded(seq)
        else:
            if at_top:
                self._rounds.wait(suspended)
            if kind == _YIELD:
                self._level += 1
                self._least[self._level] = priority

    def _earliest(self) -> int | None:
        """The first PUT of the waiting mails that are not urgent."""
        found: int | None = None
        for line in self._lines.values():
            if line:
                put = self._waiting[next(iter(line))][0]
                found = put if found is None or put < found else found
        return found

    def _put(self, seq: int, mail: int, priority: int, urgent: int) -> None:
        if mail in self._ran_unput:
            self._ran_unput.remove(mail)
        elif mail in self._waiting or mail in self._ran:
            self._broken("a mail is put a second time", seq, mail=mail)
        else:
            self._waiting[mail] = (seq, priority, urgent)
            if not urgent:
                self._lines.setdefault(priority, OrderedDict())[mail] = None

    def _run(self, seq: int, mail: int, priority: int, urgent: int) -> None:
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


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> Mailbox:
    rounds = Rounds(task.task, found.get(fairness.ID) or Findings())
    return Mailbox(task.task, found.get(ID) or Findings(), rounds)


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

_READS: Final = {"mails": _MAIL, "actions": _STEP}

LAWS: Final = (
    Law(
        ID,
        "Every mail that was put runs once. Mails of equal priority that are not urgent run in FIFO order. "
        "Inside a yield, only mails of its priority or above run.",
        ("3.4", "3.5", "3.8", "3.16", "3.21"),
        Level.FULL,
        _READS,
        _make,
        counts=_COUNTS,
    ),
    Law(
        fairness.ID,
        "A mail that is put while a batch of mails runs waits until the default action has run, unless that is "
        "suspended or a yield runs the mail. The default action waits for the whole batch.",
        ("3.2", "3.10", "3.12", "3.13", "3.21"),
        Level.FULL,
        _READS,
        _make,
        counts=fairness.COUNTS,
    ),
)
