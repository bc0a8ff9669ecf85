"""Law conservation: counts what a task sent, received and took in; ``conservation_equations`` compares it with its counters."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.kinds import AsyncAction, ElementKind, Level, LifeEvent
from flowsim.laws.elements import sent_by_channel
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.laws.law import Findings, FoundByLaw, Law
from flowsim.laws.slices import Slice
from flowsim.laws.tasks.chains import chains
from flowsim.laws.tasks.conservation_equations import Counts, Equations, Tally

ID: Final = "conservation"
_RECORD: Final = int(ElementKind.RECORD)
_OPEN, _FINISHED = int(LifeEvent.OPEN), int(LifeEvent.FINISHED)
_PUT, _EMIT = int(AsyncAction.PUT), int(AsyncAction.EMIT)
_COLUMNS: Final = ("operator", *Counts._fields)
_ASYNC: Final = ("operator", "action", "kind", "rows")


class Counters:
    """Counts the facts of one task that the equations name, and evaluates them at its end."""

    def __init__(self, graph: JobGraph, task: Task, chain: list[Operator], found: Findings) -> None:
        self._graph = graph
        self._task = task
        self._chain = chain
        self._found = found
        self._windows = [operator.operator for operator in chain if operator.kind == "window"]
        self._async = [operator.operator for operator in chain if operator.kind == "async_wait"]
        self._opening: dict[int, int] = {}
        """Sequence number of the first OPEN of each operator; what was put before comes from a snapshot (rule 11.22)."""
        self._tally = Tally()

    def feed(self, facts: Slice) -> None:
        tally = self._tally
        for operator, *counts in facts.of("operator_counts").tuples(_COLUMNS):
            self._found.examined += 1
            tally.rows[operator] = tally.rows.get(operator, 0) + 1
            tally.counts.setdefault(operator, Counts(*counts))
        for operator, event, seq in facts.of("lifecycle").tuples(("operator", "event", "seq")):
            if event == _OPEN:
                self._opening.setdefault(operator, seq)
            elif event == _FINISHED and operator == -1:
                tally.finished = True
        for channel, records in facts.once(sent_by_channel):
            tally.sent[channel] = tally.sent.get(channel, 0) + records
        received = facts.of("received")
        if len(received):
            tally.received += int(np.count_nonzero(received.column("kind") == _RECORD))
        if self._windows:
            self._count_windows(facts)
        if self._async:
            self._count_async(facts)

    def _count_windows(self, facts: Slice) -> None:
        intake, late = facts.of("window_intake"), facts.of("late_drop")
        for operator in self._windows:
            if len(intake):
                taken = int(np.count_nonzero(intake.column("operator") == operator))
                self._tally.intakes[operator] = self._tally.intakes.get(operator, 0) + taken
            if len(late):
                dropped = (late.column("operator") == operator) & (late.column("side_output") == 0)
                before = self._tally.dropped.get(operator, 0)
                self._tally.dropped[operator] = before + int(np.count_nonzero(dropped))

    def _count_async(self, facts: Slice) -> None:
        rows = facts.of("async_elements")
        if not len(rows):
            return
        of, action, kind, results = (rows.column(name) for name in _ASYNC)
        for operator in self._async:
            records = (of == operator) & (kind == _RECORD)
            put, emitted = self._tally.asynchronous.get(operator, (0, 0))
            opening = self._opening.get(operator)
            if opening is not None:
                new = records & (action == _PUT) & (rows.column("seq") > opening)
                put += int(np.count_nonzero(new))
            emitted += int(results[records & (action == _EMIT)].sum(dtype=np.int64))
            self._tally.asynchronous[operator] = put, emitted

    def end(self, whole: bool) -> None:
        equations = Equations(self._graph, self._task, self._chain, self._tally, self._found)
        for operator in self._chain:
            equations.evaluate(operator, whole)


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> Counters:
    return Counters(graph, task, graph.once(chains)[task.vertex], found[ID])


_COUNTS: Final = """\
- Not applicable: never (every job has operators).
- Rows examined: rows of `operator_counts`. Operators write their counters at their end: of a run that was killed
  before, the reason says so.
- A task *finished* when `lifecycle` has its row (operator -1, FINISHED). The equations of a finished task are exact;
  those of any other task may be off by one in either direction, because an element may be under way in it. With n > 0
  operators of its vertex whose `params.design` is `legacy` they may be off by n + 2, because its loop, its timers and n
  emitters may each have an element under way (rule 11.30). An equation is only evaluated when every `operator_counts`
  row it names is there.
- Violations: each broken equation of this list, counted once.
  1. *presence*, in a whole run: exactly one row of `operator_counts` for each subtask and each operator of its
     vertex; in a prefix: at most one. Broken per (task, operator). When there are several rows, the one with the
     lowest seq is used below.
  2. *kind*, per row, by `operators.kind`: `source` and `map`: records_out = records_in; `filter`: records_in =
     records_out + records_dropped; `sink`: records_out = 0; `window`: records_in = the number of its `window_intake`
     rows; and, a second equation, records_dropped = the number of its `late_drop` rows with side_output 0;
     `async_wait`: records_in = the number of its PUT rows of kind RECORD in `async_elements` behind its first OPEN row
     in `lifecycle` (what is put in before comes from a snapshot, rule 11.22); and, a second equation, records_out = the
     sum of `rows` of its EMIT rows of kind RECORD (of a task that is not finished: at least that sum, since the element
     under way may have several results). Other kinds: none.
  3. *head*, per row with `input_operator` -1 whose kind is not `source`: records_in = the number of RECORD rows in
     `received` of the task.
  4. *chained*, per row with `input_operator` >= 0 and `input_tag` '': records_in = records_out of its input operator
     in the same task.
  5. *edge*, per edge with `side_output` '' and per task of its source vertex: the records sent over it = records_out
     of the source operator. The records sent are the RECORD rows in `sent` on the edge's channels of this task,
     summed over the channels; for partitioner BROADCAST there is one equation per channel.
  6. *side output*, per (task, operator) whose side outputs somebody reads. For each tag the readers are: chained
     operators with that `input_tag` (count: records_in) and edges with that `side_output` (count: records sent;
     BROADCAST: each channel counts for itself). Per tag: the smallest and the largest count of its readers are equal.
     Per operator: the sum over its tags of the largest count = records_side. (`records_side` counts a record once,
     and only when its tag is read by somebody.)
"""

LAWS: Final = (
    Law(
        ID,
        "No operator gains or loses records: what goes into each is what the one before emitted, and its kind accounts for "
        "the rest.",
        ("7.20", "13.4"),
        Level.ELEMENTS,
        {
            "operator_counts": _COLUMNS,
            "lifecycle": ("operator", "event"),
            "sent": ("channel", "kind"),
            "received": ("kind",),
            "window_intake": ("operator",),
            "late_drop": ("operator", "side_output"),
            "async_elements": _ASYNC,
        },
        _make,
        counts=_COUNTS,
        nothing_yet="the run did not reach its end: no operator had written its counters",
    ),
)  # fmt: skip
