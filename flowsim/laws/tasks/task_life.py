"""What the life of a task may go through, step by step (section 4)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import LifeEvent

_RUNNING, _CANCELING = int(LifeEvent.RUNNING), int(LifeEvent.CANCELING)
_OPEN, _END_INPUT, _FINISH, _CLOSE = (
    int(event) for event in (LifeEvent.OPEN, LifeEvent.END_INPUT, LifeEvent.FINISH, LifeEvent.CLOSE)
)
FINISHED: Final = int(LifeEvent.FINISHED)
_ENDS: Final = (FINISHED, int(LifeEvent.CANCELED), int(LifeEvent.FAILED))


class TaskLife:
    """How many operators a task has opened, finished and closed so far.

    ``undrained``: the task was stopped without drain, or reads from a task that was (rule 4.22).
    """

    __slots__ = (
        "end", "last_open", "opened", "_canceling", "_closed", "_ended_inputs", "_finished", "_inputs", "_last_close",
        "_open_operators", "_operators", "_running", "_undrained",
    )  # fmt: skip

    def __init__(self, operators: int, inputs: int, undrained: bool) -> None:
        self._operators = operators
        self._inputs = inputs
        self._undrained = undrained
        self.opened = self._finished = self._closed = 0
        self.last_open = -1
        self._last_close = operators
        self._ended_inputs: dict[int, int] = {}
        self._open_operators: set[int] = set()
        self._running = self._canceling = False
        self.end: int | None = None

    def step(self, seq: int, operator: int, event: int) -> str:
        """One row of table ``lifecycle``; what is wrong with it, '' when nothing is."""
        if self.end is not None:
            return "after the task's end"
        if event == _OPEN:
            return self._open(operator, seq)
        if event == _END_INPUT:
            return self._end_input(operator)
        if event == _FINISH:
            return self._finish(operator)
        if event == _CLOSE:
            return self._close(operator)
        if event in _ENDS:
            self.end = event
            return self._end(event)
        if event == _RUNNING:
            again, self._running = self._running, True
            return "runs again" if again else ""
        if event == _CANCELING:
            self._canceling = True
        return ""

    def _open(self, operator: int, seq: int) -> str:
        expected = self._operators - 1 - self.opened
        self.opened += 1
        self.last_open = seq
        self._open_operators.add(operator)
        return "" if operator == expected and not self._closed else "opened out of order"

    def _end_input(self, operator: int) -> str:
        times = self._ended_inputs.get(operator, 0)
        self._ended_inputs[operator] = times + 1
        if operator != self._finished or not self._may_finish:
            return "ends its input out of order"
        if times >= (max(self._inputs, 1) if operator == 0 else 1):
            return "ends its input again"
        return "ends its input without drain" if self._undrained and (operator or self._inputs <= 1) else ""

    def _finish(self, operator: int) -> str:
        expected = self._finished
        self._finished += 1
        if operator != expected or not self._may_finish:
            return "finishes out of order"
        if self._undrained:
            return "finishes without drain"
        needs_end_input = operator > 0 or self._inputs > 0
        return "finishes before its input has ended" if needs_end_input and not self._ended_inputs.get(operator) else ""

    def _close(self, operator: int) -> str:
        in_order = operator < self._last_close
        self._last_close = operator
        self._closed += 1
        self._open_operators.discard(operator)
        return "" if in_order else "closed out of order or again"

    @property
    def _may_finish(self) -> bool:
        return self.opened >= self._operators and not self._closed and not self._canceling

    def _end(self, event: int) -> str:
        if self._open_operators:
            return "ends with open operators"
        if event != FINISHED:
            return ""
        due = 0 if self._undrained else self._operators
        complete = self.opened == self._closed == self._operators and self._finished == due
        return "" if complete else "finished without having opened, finished and closed its operators"
