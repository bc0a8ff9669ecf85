"""Recorded facts of window jobs, changed by tests, and checked by the laws and by the oracle."""

from __future__ import annotations

from typing import Final

from flowsim.facts.schema import TABLES
from flowsim.laws.catalogue import LAWS
from flowsim.laws.job_graph import job_graph as oracle_graph
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome
from flowsim.recording.memory import MemoryRecorder
from tests.support.facts.slicing import judged_in_slices
from tests.support.oracle.judge import check as oracle_check

Row = dict[str, int | str]
WINDOW_LAWS: Final = ("window-fire", "late-rows", "lateness")
CHANGED: Final = ("task_watermark", "window_intake", "window_merge", "window_fire", "late_drop")
_MACHINES: Final = tuple(law for law in LAWS if law.id in WINDOW_LAWS)


class Damaged:
    """Recorded facts, some of which a test has changed. Implements ``laws.slices.Facts``."""

    def __init__(self, recorder: MemoryRecorder) -> None:
        self.recorder = recorder
        self.level = recorder.level
        self.tables: dict[str, list[Row]] = {
            name: [dict(zip(TABLES[name].names, row, strict=True)) for row in recorder.rows(name)] for name in CHANGED
        }

    def attempt(self, task: int, seq: int) -> int:
        return self.recorder.attempt(task, seq)

    def rows(self, table: str) -> list[tuple[int, ...]]:
        """Rows as they are recorded: those of a task in the order of ``seq``."""
        if table not in self.tables:
            return list(self.recorder.rows(table))
        rows = sorted(self.tables[table], key=lambda row: int(row["seq"]))
        return [tuple(int(value) for value in row.values()) for row in rows]

    def static_rows(self, table: str) -> list[tuple[int | str, ...]]:
        return list(self.recorder.static_rows(table))


Counts = dict[str, tuple[int, int]]
"""Rows examined and violations of each law of windows."""


def by_definition(facts: Damaged, whole: bool) -> Counts:
    """What the plain definitions count over the whole recording."""
    graph = oracle_graph(facts)
    found = [oracle_check(law, facts, graph, whole) for law in WINDOW_LAWS]
    return {outcome.law: (outcome.rows_examined, outcome.violations) for outcome in found}


def by_machines(facts: Damaged, whole: bool) -> Counts:
    """What the machines count, fed everything at once."""
    return _counts(check_all(facts, "complete" if whole else "stopped", _MACHINES))


def by_machines_in_epochs(facts: Damaged, whole: bool, epochs: int, seed: int) -> Counts:
    """What the machines count, fed so many epochs that end anywhere."""
    found = judged_in_slices(facts, _MACHINES, "complete" if whole else "stopped", epochs, seed)
    return _counts([found[law] for law in WINDOW_LAWS])


def _counts(outcomes: list[Outcome]) -> Counts:
    return {outcome.law: (outcome.rows_examined, outcome.violations) for outcome in outcomes}
