"""Law life-cycle: every task opens, ends its input, finishes, closes and ends in Flink's order (section 4)."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.job_history import NO_CHECKPOINT
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings

_ENDS = (LifeEvent.FINISHED, LifeEvent.CANCELED, LifeEvent.FAILED)


def life_cycle(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Replays the life of every task."""
    rows = sorted(facts.rows("lifecycle"), key=lambda row: (row[1], row[0]))
    findings = Findings(len(rows))
    firsts = _first_elements(facts, graph)
    undrained = _undrained(facts)
    restored = {row[1] for row in facts.rows("lifecycle") if row[4] == LifeEvent.RESTORED_AS_FINISHED}
    operators: dict[int, int] = {}
    for described in graph.operators:
        operators[described.vertex] = operators.get(described.vertex, 0) + 1
    lives: dict[int, _Life] = {}
    for task in graph.tasks.values():
        running = 0 if task.task in restored else operators.get(task.vertex, 0)
        lives[task.task] = _Life(running, task.inputs, task.task in undrained)
    for seq, task_id, operator, _, event in rows:
        life = lives.get(task_id)
        wrong = "a task that nobody described" if life is None else life.step(operator, LifeEvent(event), seq)
        if wrong:
            findings.broken(wrong, task=task_id, seq=seq, operator=operator, event=LifeEvent(event))
    for number, life in sorted(lives.items()):
        first = firsts.get(number)
        if first is not None and (life.opened < life.operators or first < life.last_open):
            findings.broken("an element before all operators are open", task=number, seq=first)
        if whole and life.end is not LifeEvent.FINISHED:
            findings.broken("the task never finished", task=number)
    return findings.outcome("life-cycle")


def _first_elements(facts: Facts, graph: JobGraph) -> dict[int, int]:
    """Per task the sequence number of the first element that it took in, or, without inputs, gave out."""
    firsts: dict[int, int] = {}
    with_async = {operator.vertex for operator in graph.operators if operator.kind == "async_wait"}
    for table, has_inputs in (("received", True), ("sent", False)):
        for row in facts.rows(table):
            task = graph.tasks.get(row[1])
            if task is not None and (task.inputs > 0) == has_inputs:
                attempt = facts.attempt(task.task, row[0])
                if (
                    not has_inputs
                    and task.vertex in with_async
                    and graph.history.restored(task.task, attempt) != NO_CHECKPOINT
                ):
                    continue  # It may emit restored elements when it opens (rule 11.22).
                firsts[row[1]] = min(row[0], firsts.get(row[1], row[0]))
    return firsts


def _undrained(facts: Facts) -> set[int]:
    """Tasks stopped without drain: that say so, that EndOfData says so of, or that the end came to without it (rule 4.22)."""
    undrained = {
        row[1]
        for table in ("sent", "received")
        for row in facts.rows(table)
        if row[5] == ElementKind.END_OF_DATA and row[6] == 0
    }
    undrained |= {row[1] for row in facts.rows("lifecycle") if row[4] == LifeEvent.STOP_NO_DRAIN}
    reported = {row[3] for row in facts.rows("received") if row[5] == ElementKind.END_OF_DATA}
    for row in facts.rows("received"):
        if row[5] == ElementKind.END_OF_PARTITION and row[3] not in reported:
            undrained.add(row[1])
    return undrained


class _Life:
    """Where one task stands."""

    __slots__ = (
        "canceling", "closed", "end", "ended_inputs", "finished", "inputs", "last_close", "last_open",
        "open_operators", "opened", "operators", "running", "undrained",
    )  # fmt: skip

    def __init__(self, operators: int, inputs: int, undrained: bool) -> None:
        self.operators = operators
        self.inputs = inputs
        self.undrained = undrained
        self.opened = self.finished = self.closed = self.running = 0
        self.last_open = -1
        self.last_close = operators
        self.ended_inputs: dict[int, int] = {}
        self.open_operators: set[int] = set()
        self.canceling = False
        self.end: LifeEvent | None = None

    def step(self, operator: int, event: LifeEvent, seq: int) -> str:
        """One row; what is wrong with it, '' when nothing is."""
        if self.end is not None:
            return "after the task's end"
        match event:
            case LifeEvent.RUNNING:
                self.running += 1
                return "an event of the life cycle happens again" if self.running > 1 else ""
            case LifeEvent.OPEN:
                return self._open(operator, seq)
            case LifeEvent.END_INPUT:
                return self._end_input(operator)
            case LifeEvent.FINISH:
                return self._finish(operator)
            case LifeEvent.CLOSE:
                in_order = operator < self.last_close
                self.last_close = operator
                self.closed += 1
                self.open_operators.discard(operator)
                return "" if in_order else "closed out of order or again"
            case LifeEvent.FINISHED | LifeEvent.FAILED | LifeEvent.CANCELED:
                self.end = event
                return self._end(event)
            case LifeEvent.CANCELING:
                self.canceling = True
        return ""

    def _open(self, operator: int, seq: int) -> str:
        expected = self.operators - 1 - self.opened
        self.opened += 1
        self.last_open = seq
        self.open_operators.add(operator)
        return "" if operator == expected and not self.closed else "opened out of order"

    def _end_input(self, operator: int) -> str:
        times = self.ended_inputs.get(operator, 0)
        self.ended_inputs[operator] = times + 1
        if operator != self.finished or self.opened < self.operators or self.closed or self.canceling:
            return "ends its input out of order"
        if times >= (max(self.inputs, 1) if operator == 0 else 1):
            return "ends its input again"
        return "ends its input without drain" if self.undrained and (operator or self.inputs <= 1) else ""

    def _finish(self, operator: int) -> str:
        expected = self.finished
        self.finished += 1
        if operator != expected or self.opened < self.operators or self.closed or self.canceling:
            return "finishes out of order"
        if self.undrained:
            return "finishes without drain"
        needs_end_input = operator > 0 or self.inputs > 0
        return "finishes before its input has ended" if needs_end_input and not self.ended_inputs.get(operator) else ""

    def _end(self, event: LifeEvent) -> str:
        if self.open_operators:
            return "ends with open operators"
        if event is not LifeEvent.FINISHED:
            return ""
        due = 0 if self.undrained else self.operators
        complete = self.opened == self.closed == self.operators and self.finished == due
        return "" if complete else "finished without having opened, finished and closed its operators"
