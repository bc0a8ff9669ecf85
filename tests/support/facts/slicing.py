"""Hand-made recordings as slices: the facts of each task in order of ``seq``, cut into epochs anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter
from random import Random

import numpy as np

from flowsim.facts.schema import TABLES, TASK_ATTEMPT
from flowsim.laws.job_graph import job_graph
from flowsim.laws.judge import WHOLE, Errand, Judgement, applicable, examine, judge, judging
from flowsim.laws.law import Law, Outcome, reads_of
from flowsim.laws.slices import ColumnRows, Facts, Row, Rows, Slice, TupleRows
from tests.support.facts.fact_builder import FactBuilder


class BuiltFacts:
    """The facts of a builder as ``laws.slices.Facts``."""

    def __init__(self, built: FactBuilder) -> None:
        self.level = built.level
        self._rows: dict[str, list[Row]] = {name: [] for name in TABLES}
        self._attempts: dict[str, list[int]] = {name: [] for name in TABLES}
        self._attempt_of: dict[tuple[int, int], int] = {}
        """By task and number; 0 is not in it."""
        values = {name: itemgetter(*table.names) for name, table in TABLES.items()}
        for table, row in built.in_order():
            self._rows[table].append(values[table](row))
            attempt = int(row.get(TASK_ATTEMPT.name, 0))
            self._attempts[table].append(attempt)
            if attempt:
                self._attempt_of[int(row["task"]), int(row["seq"])] = attempt

    def rows(self, table: str) -> list[Row]:
        return self._rows[table]

    def static_rows(self, table: str) -> list[Row]:
        return self._rows[table]

    def rows_of_attempt(self, table: str, attempt: int) -> list[Row]:
        rows = zip(self._rows[table], self._attempts[table], strict=True)
        return [row for row, of in rows if of == attempt or not TABLES[table].has_attempt]

    def attempt(self, task: int, seq: int) -> int:
        return self._attempt_of.get((task, seq), 0)


def cut_slices(facts: Facts, reads: Mapping[str, set[str]], epochs: int, random: Random) -> Iterator[Slice]:
    """The slices of some tables; tasks in any order, rows as tuples or as columns."""
    by_task: dict[int, list[tuple[int, str, Row]]] = {}
    described: dict[int, list[Row]] = {}
    for table in reads:
        names = TABLES[table].names
        task = names.index("task")
        if "seq" not in names:
            for row in facts.static_rows(table):
                described.setdefault(int(row[task]), []).append(row)
            continue
        seq = names.index("seq")
        for row in facts.rows(table):
            by_task.setdefault(row[task], []).append((row[seq], table, row))
    for rows in by_task.values():
        rows.sort(key=itemgetter(0))
    bounds = {task: sorted(random.randint(0, len(rows)) for _ in range(epochs - 1)) for task, rows in by_task.items()}
    tasks = sorted(by_task.keys() | described.keys())
    for epoch in range(epochs):
        random.shuffle(tasks)
        for task in tasks:
            rows = by_task.get(task, [])
            ends = [0, *bounds.get(task, [0] * (epochs - 1)), len(rows)]
            if epoch == 0 and task in described:
                yield Slice(task, {"keys": _rows("keys", described[task], reads["keys"], random)})
            of_epoch = rows[ends[epoch] : ends[epoch + 1]]
            attempts: dict[int, dict[str, list[Row]]] = {}
            for seq, table, row in of_epoch:
                attempts.setdefault(facts.attempt(task, seq), {}).setdefault(table, []).append(row)
            for attempt, tables in sorted(attempts.items()):
                found = {name: _rows(name, of_table, reads[name], random) for name, of_table in tables.items()}
                yield Slice(task, found, attempt)


def _rows(table: str, rows: list[Row], columns: set[str], random: Random) -> Rows:
    names = TABLES[table].names
    if random.random() < 0.5:
        return TupleRows(names, rows)
    kept = {
        name: np.array(
            [row[place] for row in rows], dtype=object if TABLES[table].columns[place].code == "s" else np.int64
        )
        for place, name in enumerate(names)
        if name in columns
    }
    return ColumnRows(kept, len(rows))


def judged_in_slices(
    facts: Facts, laws: tuple[Law, ...], status: str = WHOLE, epochs: int = 1, seed: int = 0
) -> dict[str, Outcome]:
    """The outcomes of a run that was cut into so many epochs."""
    graph, whole = job_graph(facts), status == WHOLE
    judged, others = applicable(laws, graph, facts.level)
    reads = reads_of(judged, graph)

    def walk(errand: Errand) -> Judgement:
        return examine(cut_slices(facts, reads, epochs, Random(seed)), graph, errand, whole, graph.tasks)

    return {outcome.law: outcome for outcome in judge(walk, judging(graph, judged, whole))} | others
