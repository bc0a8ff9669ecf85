"""The definitions for jobs whose tasks restart, all of them together: each attempt is a job of its own."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.facts.kinds import Level
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.laws.law import Attempts
from tests.support.facts.slicing import BuiltFacts
from tests.support.oracle.facts import Facts, Row
from tests.support.oracle.judge import check


class OfAttempt:
    """The facts of one attempt of all tasks, and the descriptions."""

    def __init__(self, facts: BuiltFacts, attempt: int) -> None:
        self.level: Level = facts.level
        self._facts = facts
        self._attempt = attempt

    def rows(self, table: str) -> Sequence[Row]:
        return self._facts.rows_of_attempt(table, self._attempt)

    def attempt(self, task: int, seq: int) -> int:
        return self._attempt

    def static_rows(self, table: str) -> Sequence[tuple[int | str, ...]]:
        return self._facts.static_rows(table)


def check_attempts(law: str, facts: BuiltFacts, graph: JobGraph, whole: bool, attempts: Attempts) -> tuple[int, int]:
    """Returns how many rows the law examines, and its violations, in all attempts together.

    All attempts but the last are prefixes. ``attempts``: which attempts the law examines.
    """
    if attempts is Attempts.ALL:
        return _counts(law, facts, graph, whole)
    last, examined, violations = max(map(graph.last_attempt, graph.tasks)), 0, 0
    for attempt in range(last + 1):
        is_restored = any(graph.history.restored(task, attempt) != NO_CHECKPOINT for task in graph.tasks)
        if attempts is not Attempts.FRESH or not is_restored:
            found = _counts(law, OfAttempt(facts, attempt), graph, whole and attempt == last)
            examined += found[0]
            violations += found[1]
    return examined, violations


def _counts(law: str, facts: Facts, graph: JobGraph, whole: bool) -> tuple[int, int]:
    outcome = check(law, facts, graph, whole)
    return outcome.rows_examined, outcome.violations
