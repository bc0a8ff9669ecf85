"""Law actions: a task does one thing at a time, except what runs inside its own yield."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ActionKind, ActionPhase, Level, WaitKind
from flowsim.laws.findings import FoundByLaw, named
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Law
from flowsim.laws.machine import Machine, on_row

ID: Final = "actions"
_BEGIN, _WAIT, _END = int(ActionPhase.BEGIN), int(ActionPhase.WAIT), int(ActionPhase.END)
_NESTING: Final = (int(WaitKind.YIELD), int(WaitKind.LOCK))
"""Waits inside which actions may begin."""

_Entry = tuple[int, int, int, int]
"""Phase (BEGIN or WAIT), kind, number and sequence number of an open entry."""


class OpenActions(Machine):
    """The open actions and waits of one task, the innermost last."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._task = task.task
        self._found = found[ID]
        self._stack: list[_Entry] = []

    @on_row("actions")
    def _step(self, seq: int, phase: int, kind: int, action: int) -> None:
        self._found.examined += 1
        stack, row = self._stack, (phase, kind, action, seq)
        top = stack[-1] if stack else None
        if phase == _BEGIN:
            stack.append(row)
            if top is not None and (top[0] == _BEGIN or top[1] not in _NESTING):
                self._broken("begins inside an action or wait that admits none", row, top)
        elif phase == _WAIT:
            stack.append(row)
            if top is not None and top[0] == _WAIT and top[1] not in _NESTING:
                self._broken("waits inside a wait that admits none", row, top)
        else:
            opened = (_BEGIN if phase == _END else _WAIT, kind, action)
            if top is not None and top[:3] == opened:
                stack.pop()
                return
            self._broken("an action or wait ends that is not the innermost open one", row, top)
            place = next((place for place in reversed(range(len(stack))) if stack[place][:3] == opened), None)
            if place is not None:
                del stack[place]

    def _broken(self, what: str, row: _Entry, top: _Entry | None) -> None:
        phase, kind, action, seq = row
        self._found.broken(
            what, (self._task, seq), task=self._task, seq=seq, phase=named(ActionPhase, phase),
            kind=_kind(phase, kind), action=action,
            inside=top and f"{named(ActionPhase, top[0])} {_kind(top[0], top[1])} {top[2]}",
        )  # fmt: skip

    def end(self, whole: bool) -> None:
        for row in self._stack if whole else ():
            self._broken("an action or wait never ends", row, None)


def _kind(phase: int, kind: int) -> str | int:
    return named(ActionKind if phase in (_BEGIN, _END) else WaitKind, kind)


_COUNTS: Final = """\
- Rows examined: rows of `actions`.
- The rows of each task change a stack, which is empty at first. The top of the stack *is open* if it is a WAIT of kind
  YIELD or LOCK: actions may begin inside it.
  - BEGIN: push it. It is a violation if the stack was neither empty nor had an open top.
  - WAIT: push it. It is a violation if the top was a WAIT that is not open.
  - END: if the top is a BEGIN with the same kind and action number, pop it. Otherwise the row is a violation, and the
    topmost BEGIN with the same kind and number, if any, is removed from the stack.
  - RESUME: the same with WAIT instead of BEGIN.
- In a whole run, 1 for each entry that is left on the stack.
"""

LAWS: Final = (
    Law(
        ID,
        "The actions of a task never overlap. Only a yield, or a wait that releases the checkpoint lock, may contain actions.",
        ("3.11", "3.21", "3.25"),
        Level.FULL,
        OpenActions,
        counts=_COUNTS,
    ),
)  # fmt: skip
