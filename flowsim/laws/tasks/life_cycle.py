"""Law life-cycle: a task opens, ends its input, finishes, closes and ends in Flink's order (section 4)."""

from __future__ import annotations

from collections import Counter
from typing import Final

from flowsim.facts.kinds import ElementKind, Level, LifeEvent
from flowsim.laws.elements import received_ends, sent_ends
from flowsim.laws.findings import FoundByLaw, named
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.laws.law import Law
from flowsim.laws.machine import Machine, on_row, reads
from flowsim.laws.slices import Slice

ID: Final = "life-cycle"
_AT_THE_END: Final = 2**63 - 1
_ENDS: Final = (LifeEvent.FINISHED, LifeEvent.CANCELED, LifeEvent.FAILED)


class LifeCycle(Machine):
    """Collects the steps of one task, as many as its chain is long, and replays them when its stop mode is known."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        operators = graph.operators_of(task.vertex)
        self._graph = graph
        self._task = task
        self._operators = len(operators)
        self._may_emit_restored = not task.inputs and any(operator.kind == "async_wait" for operator in operators)
        self._found = found[ID]
        self._steps: list[tuple[int, int, int]] = []
        self._first_element: int | None = None
        self._data_ended: set[int] = set()
        self._ended: set[int] = set()
        self._undrained = False
        """Stopped without drain, or downstream of a task that was (rule 4.22)."""

    @on_row("lifecycle")
    def _step(self, seq: int, operator: int, event: int) -> None:
        self._steps.append((seq, operator, event))

    @reads(sent_ends, received_ends)
    def _elements(self, facts: Slice) -> None:
        if self._first_element is None and not (self._may_emit_restored and self._is_restored(facts.attempt)):
            rows = facts.of("received" if self._task.inputs else "sent")
            self._first_element = int(rows.column("seq")[0]) if len(rows) else None
        for _, _, _, kind, timestamp in facts.once(sent_ends):
            self._undrained |= kind == ElementKind.END_OF_DATA and timestamp == 0
        for _, channel, _, kind, timestamp in facts.once(received_ends):
            if kind == ElementKind.END_OF_DATA:
                self._undrained |= timestamp == 0
                self._data_ended.add(channel)
            else:
                self._ended.add(channel)

    def _is_restored(self, attempt: int) -> bool:
        return self._graph.history.restored(self._task.task, attempt) != NO_CHECKPOINT

    def end(self, whole: bool) -> None:
        task, found = self._task.task, self._found
        found.examined += len(self._steps)
        self._undrained |= not self._ended <= self._data_ended
        self._undrained |= any(event == LifeEvent.STOP_NO_DRAIN for _, _, event in self._steps)
        is_finished = any(event == LifeEvent.RESTORED_AS_FINISHED for _, _, event in self._steps)
        operators = 0 if is_finished else self._operators
        life = _Life(operators, self._task.inputs, self._undrained)
        for seq, operator, event in self._steps:
            wrong = life.step(seq, operator, event)
            life.is_wrong |= bool(wrong)
            if wrong:
                found.broken(wrong, (task, seq), task=task, seq=seq, operator=operator, event=named(LifeEvent, event))
        first, opened = self._first_element, life.count[LifeEvent.OPEN]
        if first is not None and (opened < operators or first < life.last_open):
            what = "an element before all operators are open"
            found.broken(what, (task, first), task=task, seq=first, expected=operators, found=opened)
        if whole and life.end != LifeEvent.FINISHED:
            found.broken("the task never finished", (task, _AT_THE_END), task=task)


class _Life:
    """The life cycle of a task so far."""

    def __init__(self, operators: int, inputs: int, undrained: bool) -> None:
        self._operators = operators
        self._inputs = inputs
        self._undrained = undrained
        self.count: Counter[int] = Counter()
        """The number of rows per event."""
        self.last_open = -1
        self.end: int | None = None
        self.is_wrong = False
        """Whether one of the rows was a violation."""
        self._last_close = operators
        self._ended_inputs: Counter[int] = Counter()
        self._open_operators: set[int] = set()

    def step(self, seq: int, operator: int, event: int) -> str:
        """One row of table ``lifecycle``; returns its error, or ''."""
        if self.end is not None:
            return "after the task's end"
        before = self.count[event]
        self.count[event] += 1
        if event == LifeEvent.OPEN:
            self.last_open = seq
            self._open_operators.add(operator)
            is_next = operator == self._operators - 1 - before and not self.count[LifeEvent.CLOSE]
            return "" if is_next else "opened out of order"
        if event == LifeEvent.END_INPUT:
            return self._end_input(operator)
        if event == LifeEvent.FINISH:
            return self._finish(operator, before)
        if event == LifeEvent.CLOSE:
            in_order, self._last_close = operator < self._last_close, operator
            self._open_operators.discard(operator)
            return "" if in_order else "closed out of order or again"
        if event in _ENDS:
            return self._end(event)
        return "an event of the life cycle happens again" if event == LifeEvent.RUNNING and before else ""

    def _may_finish(self, operator: int, finished: int) -> bool:
        is_open = self.count[LifeEvent.OPEN] >= self._operators and not self.count[LifeEvent.CLOSE]
        return operator == finished and is_open and not self.count[LifeEvent.CANCELING]

    def _end_input(self, operator: int) -> str:
        times = self._ended_inputs[operator]
        self._ended_inputs[operator] += 1
        if not self._may_finish(operator, self.count[LifeEvent.FINISH]):
            return "ends its input out of order"
        if times >= (max(self._inputs, 1) if operator == 0 else 1):
            return "ends its input again"
        return "ends its input without drain" if self._undrained and (operator or self._inputs <= 1) else ""

    def _finish(self, operator: int, finished: int) -> str:
        if not self._may_finish(operator, finished):
            return "finishes out of order"
        if self._undrained:
            return "finishes without drain"
        needs_end_input = operator > 0 or self._inputs > 0
        return "finishes before its input has ended" if needs_end_input and not self._ended_inputs[operator] else ""

    def _end(self, event: int) -> str:
        self.end = event
        if self._open_operators:
            return "ends with open operators"
        due = 0 if self._undrained else self._operators
        counts = [self.count[event] for event in (LifeEvent.OPEN, LifeEvent.FINISH, LifeEvent.CLOSE)]
        if event != LifeEvent.FINISHED or self.is_wrong or counts == [self._operators, due, self._operators]:
            return ""
        return "finished without having opened, finished and closed its operators"


_COUNTS: Final = """\
- Rows examined: rows of `lifecycle`.
- A task is *undrained* when at least one of these is true:
  - STOP_NO_DRAIN is among its rows of `lifecycle`;
  - END_OF_DATA without drain is among its rows of `sent` or `received`;
  - a channel has END_OF_PARTITION, but not END_OF_DATA, among its rows of `received`. (This happens downstream of a
    task with several inputs that were stopped without drain.)
- For the rows of a task with n operators in its vertex (n = 0 for a task with a RESTORED_AS_FINISHED row, whose operators
  do not run), a row is a violation when
  - FINISHED, FAILED or CANCELED is before it. Such a row is ignored by the other conditions;
  - RUNNING: another RUNNING row is before it;
  - OPEN: its operator is not n - 1 minus the number of OPEN rows before it, or a CLOSE row is before it;
  - END_INPUT, FINISH: its operator is not the number of FINISH rows before it, or fewer than n OPEN rows are before it,
    or a CLOSE or CANCELING row is before it;
  - END_INPUT: the operator has an END_INPUT row before it (operator 0: as many as the task has inputs, at least one);
  - END_INPUT: the task is undrained. Exception: operator 0 of a task with several inputs may end inputs that were
    drained;
  - FINISH: the task is undrained, or the operator has no END_INPUT row before it (operator 0 of a task without inputs
    needs none);
  - CLOSE: its operator is not below that of the CLOSE row before it (first CLOSE row: not below n);
  - FINISHED, FAILED, CANCELED: an operator was opened and not closed since;
  - FINISHED, if no row before it is a violation: the number of OPEN rows or of CLOSE rows before it is not n, or the
    number of FINISH rows before it is not n (undrained task: not 0). A task that fails or is canceled closes its
    operators without finish.
- 1 for each task with a row in `received` (task without inputs: in `sent`), if the first such row is before the last
  OPEN row of the task, or the task has fewer than n OPEN rows. Not counted: a restored attempt of a
  task without inputs and with an operator of kind `async_wait`, which emits restored elements when it opens (rule 11.22).
- In a whole run, 1 for each task without a FINISHED row, or with a FAILED or CANCELED row before it.
"""

LAWS: Final = (
    Law(
        ID,
        "A task opens its operators from tail to head before its first element. Only with drain, it ends their "
        "input and finishes them, from head to tail. It closes them once, from tail to head, and ends once.",
        ("4.2", "4.11", "4.12", "4.13", "4.17", "4.24"),
        Level.ELEMENTS,
        LifeCycle,
        counts=_COUNTS,
    ),
)  # fmt: skip
