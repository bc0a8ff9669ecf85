"""The watermark of an operator with keys, from the facts of its task."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.laws.event_time.origins import CombinedInputs
from flowsim.why.run_facts import Row, RunFacts


def operator_watermarks(facts: RunFacts, task: int) -> list[tuple[Row, int]]:
    """The watermarks that the head of a chain got in its attempt: rows of ``task_watermark``, and the combined value.

    With several inputs the watermark is the minimum over them (rule 8.16).
    """
    return facts.shared("operator watermarks", task, lambda: _operator_watermarks(facts, task))


def _operator_watermarks(facts: RunFacts, task: int) -> list[tuple[Row, int]]:
    combined, found = CombinedInputs(facts.graph.tasks[task].inputs), list[tuple[Row, int]]()
    for row in facts.rows("task_watermark", task):
        emitted = combined.take(row["input"], row["kind"], row["timestamp"])
        found += [(row, value) for kind, value in emitted if kind == ElementKind.WATERMARK]
    return found
