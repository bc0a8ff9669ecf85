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
_COUNTS: Final = ("operator", *Counts._fields)
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
        for operator, *counts in facts.of("operator_counts").tuples(_COUNTS):
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


LAWS: Final = (
    Law(
        ID,
        "No operator gains or loses records: what goes into each is what the one before emitted, and its kind accounts for "
        "the rest.",
        ("7.20", "13.4"),
        Level.ELEMENTS,
        {
            "operator_counts": _COUNTS,
            "lifecycle": ("operator", "event"),
            "sent": ("channel", "kind"),
            "received": ("kind",),
            "window_intake": ("operator",),
            "late_drop": ("operator", "side_output"),
            "async_elements": _ASYNC,
        },
        _make,
    ),
)  # fmt: skip
