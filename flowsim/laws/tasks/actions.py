"""Law actions: a task does one thing at a time, except what runs inside its own yield."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ActionKind, ActionPhase, Level, WaitKind
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law
from flowsim.laws.slices import Slice

ID: Final = "actions"
_COLUMNS: Final = ("phase", "kind", "action")
_BEGIN, _WAIT = int(ActionPhase.BEGIN), int(ActionPhase.WAIT)
_OPENED_BY: Final = {int(ActionPhase.END): _BEGIN, int(ActionPhase.RESUME): _WAIT}
_NESTING: Final = (int(WaitKind.YIELD), int(WaitKind.LOCK))
"""Waits inside which actions may begin."""

_Entry = tuple[int, int, int, int]
"""Phase (BEGIN or WAIT), kind, number and sequence number of what is open."""


class OpenActions:
    """The actions and waits of one task that are open, the innermost last."""

    def __init__(self, task: int, found: Findings) -> None:
        self._task = task
        self._found = found
        self._stack: list[_Entry] = []

    def feed(self, facts: Slice) -> None:
        rows = facts.of("actions").tuples((*_COLUMNS, "seq"))
        self._found.examined += len(rows)
        stack = self._stack
        for row in rows:
            phase, kind, action, _ = row
            top = stack[-1] if stack else None
            if phase == _BEGIN:
                stack.append(row)
                if top is not None and (top[0] == _BEGIN or top[1] not in _NESTING):
                    self._broken("begins inside an action or wait that admits none", row, top)
            elif phase == _WAIT:
                stack.append(row)
                if top is not None and top[0] == _WAIT and top[1] not in _NESTING:
                    self._broken("waits inside a wait that admits none", row, top)
            elif top is not None and top[2] == action and top[1] == kind and top[0] == _OPENED_BY[phase]:
                stack.pop()
            else:
                self._broken("ends, but is not the innermost that is open", row, top)
                self._take_out((_OPENED_BY[phase], kind, action))

    def _take_out(self, opened: tuple[int, int, int]) -> None:
        for place in range(len(self._stack) - 1, -1, -1):
            if self._stack[place][:3] == opened:
                del self._stack[place]
                return

    def _broken(self, what: str, row: _Entry, top: _Entry | None) -> None:
        self._found.broken(what, (self._task, row[3]), **self._shown(row), inside=top and self._name(top))

    def _shown(self, row: _Entry) -> dict[str, object]:
        phase, kind, action, seq = row
        return {
            "task": self._task,
            "seq": seq,
            "phase": ActionPhase(phase),
            "kind": _kind(phase, kind),
            "action": action,
        }

    def _name(self, entry: _Entry) -> str:
        return f"{ActionPhase(entry[0]).name.lower()} {_kind(entry[0], entry[1])} {entry[2]}"

    def end(self, whole: bool) -> None:
        for row in self._stack if whole else ():
            self._found.broken("never ends", (self._task, row[3]), **self._shown(row))


def _kind(phase: int, kind: int) -> str:
    is_action = phase in (ActionPhase.BEGIN, ActionPhase.END)
    return (ActionKind(kind) if is_action else WaitKind(kind)).name.lower()


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> OpenActions:
    return OpenActions(task.task, found[ID])


_COUNTS: Final = """\
- Not applicable: never (at level full).
- Rows examined: rows of `actions`.
- Per task, by seq, with a stack that starts empty. "Top yields" means: the top of the stack is a WAIT of kind YIELD.
  - BEGIN: a violation unless the stack is empty or its top yields. Push it.
  - WAIT: a violation when the top is a WAIT and does not yield. Push it.
  - END (RESUME): if the top is a BEGIN (WAIT) with the same kind and action number, pop it. Otherwise a violation,
    and the topmost entry that is a BEGIN (WAIT) with the same kind and number is taken out of the stack, if there is
    one.
  - When the run is whole: what is left on the stack counts 1 each.
"""

LAWS: Final = (
    Law(
        ID,
        "The actions of a task never overlap, except properly nested inside its own yield.",
        ("3.11", "3.21", "3.25"),
        Level.FULL,
        {"actions": _COLUMNS},
        _make,
        counts=_COUNTS,
    ),
)  # fmt: skip
