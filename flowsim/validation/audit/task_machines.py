"""The mailbox and the life of one task. Runs in Python workers."""

from __future__ import annotations

from collections import deque
from itertools import pairwise, takewhile

MAIL_COLUMNS = ("what", "mail", "priority", "urgent")
LIFE_COLUMNS = ("event", "operator", "operators", "inputs", "undrained")

_PUT, _RUN, _BEGIN, _ENTER = range(4)
_DESCRIBED, _ELEMENT, _RUNNING, _OPEN, _END_INPUT, _FINISH, _CLOSE, _FINISHED, _CANCELED, _FAILED = range(-2, 8)
_CANCELING = 10


class MailMachine:
    """Boxes of mails of one priority and urgency, the mails taken and not begun, and the yields that are open."""

    def __init__(self) -> None:
        self.boxes: dict[tuple[int, int], deque[int]] = {}
        self.known: set[int] = set()
        self.taken: deque[int] = deque()
        self.yields: list[int] = []

    def take(self, row: tuple[int, ...]) -> str:
        what, mail, priority, urgent = row
        if what == _PUT:
            if mail in self.known:
                return "put again"
            self.known.add(mail)
            self.boxes.setdefault((priority, urgent), deque()).append(mail)
            return ""
        if what == _RUN:
            self.taken.append(priority)
            box = self.boxes.get((priority, urgent))
            if box is None or mail not in box:
                return "was not there to be run"
            first = box[0] == mail
            box.remove(mail)
            return "" if first or urgent else "out of turn"
        if what == _BEGIN:
            if not self.taken:
                return "begins, but was not taken"
            low = bool(self.yields) and self.taken[0] < self.yields[-1]
            self.taken.popleft()
            return "must wait until the yield is over" if low else ""
        if what == _ENTER:
            self.yields.append(priority)
        elif self.yields:
            self.yields.pop()
        return ""

    def end(self, whole: bool) -> str:
        return "left in the mailbox" if whole and any(self.boxes.values()) else ""


class LifeMachine:
    """Collects the steps of a task; at the end its life is read as a sentence: opened, finished, closed, ended."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int]] = []
        self.about = (-1, -1, -1)

    def take(self, row: tuple[int, ...]) -> str:
        event, operator, *about = row
        self.steps.append((event, operator))
        self.about = (about[0], about[1], about[2])
        return ""

    def end(self, whole: bool) -> str:
        operators, inputs, undrained = self.about
        if operators < 0:
            return "a task that is not in table tasks"
        events = [event for event, _ in self.steps]
        finished = any(event == _FINISHED for event in events)
        if whole and not finished:
            return "never finished"
        if events.count(_RUNNING) > 1 or events.count(_ELEMENT) > 1:
            return "runs again"
        if _ELEMENT in events:
            opened = [event for event in events[: events.index(_ELEMENT)] if event == _OPEN]
            if len(opened) < operators or _OPEN in events[events.index(_ELEMENT) :]:
                return "an element too early"
        if _CANCELING in events and {_END_INPUT, _FINISH} & set(events[events.index(_CANCELING) :]):
            return "finishes while it is canceled"
        return self._sentence(operators, inputs, bool(undrained))

    def _sentence(self, operators: int, inputs: int, undrained: bool) -> str:
        counted = {_OPEN, _END_INPUT, _FINISH, _CLOSE, _FINISHED, _CANCELED, _FAILED}
        after_end = [event for event, _ in self.steps if event not in (_DESCRIBED, _ELEMENT)]
        ends = [i for i, event in enumerate(after_end) if event in (_FINISHED, _CANCELED, _FAILED)]
        if ends and ends[0] != len(after_end) - 1:
            return "goes on after its end"
        words = [step for step in self.steps if step[0] in counted]
        opens = list(takewhile(lambda step: step[0] == _OPEN, words))
        middle = list(takewhile(lambda step: step[0] in (_END_INPUT, _FINISH), words[len(opens) :]))
        closes = list(takewhile(lambda step: step[0] == _CLOSE, words[len(opens) + len(middle) :]))
        rest = words[len(opens) + len(middle) + len(closes) :]
        down = [operator for _, operator in closes]
        if [operator for _, operator in opens] != list(range(operators - 1, -1, -1))[: len(opens)]:
            return "opened out of order"
        if len(rest) > 1 or any(event not in (_FINISHED, _CANCELED, _FAILED) for event, _ in rest):
            return "steps out of order"
        if any(a <= b for a, b in pairwise(down)) or (down and down[0] >= operators):
            return "closed out of order"
        if middle and (len(opens) < operators or not self._finishes(middle, inputs, undrained)):
            return "finished out of order"
        if rest and {operator for _, operator in opens} - set(down):
            return "ends with open operators"
        if rest and rest[0][0] == _FINISHED:
            due = 0 if undrained else operators
            done = sum(event == _FINISH for event, _ in middle)
            return "" if len(opens) == len(closes) == operators and done == due else "not all of it done"
        return ""

    def _finishes(self, middle: list[tuple[int, int]], inputs: int, undrained: bool) -> bool:
        """Whether the ends of inputs and the finishes follow each other from head to tail."""
        of_head = list(takewhile(lambda step: step == (_END_INPUT, 0), middle))
        if len(of_head) > max(inputs, 1) or (undrained and of_head and inputs <= 1):
            return False
        then = middle[len(of_head) :]
        if undrained:
            return not then
        if then and inputs > 0 and not of_head:
            return False
        expected = [(_FINISH, 0)]
        for operator in range(1, len(then)):
            expected += [(_END_INPUT, operator), (_FINISH, operator)]
        return then == expected[: len(then)]
