"""The watermark of an operator with keys, from the facts of its task."""

from __future__ import annotations

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.laws.event_time.origins import CombinedInputs
from flowsim.why.run_facts import Ints, Row, Rows, RunFacts


def operator_watermarks(facts: RunFacts, task: int) -> list[tuple[Row, int]]:
    """The watermarks that the head of a chain got in its attempt: rows of ``task_watermark``, and the combined value.

    With several inputs the watermark is the minimum over them (rule 8.16).
    """
    return facts.shared("operator watermarks", task, lambda: _operator_watermarks(facts, task))


def _operator_watermarks(facts: RunFacts, task: int) -> list[tuple[Row, int]]:
    rows, watermarks = watermark_columns(facts, task)
    return list(zip(rows, watermarks.tolist(), strict=True))


def watermark_columns(facts: RunFacts, task: int) -> tuple[Rows, Ints]:
    """As ``operator_watermarks``: the rows, and the combined value of each."""
    rows, inputs = facts.rows("task_watermark", task), facts.graph.tasks[task].inputs
    if inputs == 1:
        marks = rows.where(rows["kind"] == ElementKind.WATERMARK)
        return marks, marks["timestamp"]
    combined, found = CombinedInputs(inputs), list[tuple[int, int]]()
    columns = (rows[name].tolist() for name in ("input", "kind", "timestamp"))
    for number, element in enumerate(zip(*columns, strict=True)):
        emitted = combined.take(*element)
        found += [(number, value) for kind, value in emitted if kind == ElementKind.WATERMARK]
    numbers, values = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return rows.in_order(numbers), values
