"""The three forms of the window laws over the same facts in memory: in this process, the fold of the fast form, the slow form."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from flowsim.facts.kinds import ElementKind
from flowsim.facts.schema import TABLES
from flowsim.laws.catalogue import LAWS
from flowsim.laws.job_graph import JobGraph, job_graph
from flowsim.laws.judge import check
from flowsim.laws.window_plan import window_plan
from flowsim.recording.memory import MemoryRecorder
from flowsim.validation.audit import any_window_machine
from flowsim.validation.audit.any_window_machine import AnyDropMachine, AnyFireMachine
from flowsim.validation.checks import window_fold

Row = dict[str, int | str]
Tables = dict[str, list[Row]]
WINDOW_LAWS = ("window-fire", "late-rows")
_READ = {"task_watermark": 0, "window_intake": 1, "window_merge": 2, "window_fire": 3, "late_drop": 4}


class Damaged:
    """Recorded facts, some of which a test has changed. Implements ``laws.facts.Facts``."""

    def __init__(self, recorder: MemoryRecorder) -> None:
        self.recorder = recorder
        self.level = recorder.level
        self.tables: Tables = {
            name: [dict(zip(TABLES[name].names, row, strict=True)) for row in recorder.rows(name)] for name in _READ
        }

    def rows(self, table: str) -> list[tuple[int, ...]]:
        if table not in self.tables:
            return list(self.recorder.rows(table))
        return [tuple(int(value) for value in row.values()) for row in self.tables[table]]

    def static_rows(self, table: str) -> list[tuple[int | str, ...]]:
        return list(self.recorder.static_rows(table))


def in_process(facts: Damaged, whole: bool) -> dict[str, int]:
    """Violations by law."""
    graph = job_graph(facts)
    return {law.id: check(law, facts, graph, whole).violations for law in LAWS if law.id in WINDOW_LAWS}


def folded(facts: Damaged, whole: bool) -> dict[str, int]:
    """The same as the fold says it that Spark runs in its workers."""
    found: Counter[str] = Counter(dict.fromkeys(WINDOW_LAWS, 0))
    for group, params, rows in _operators(facts):
        columns: dict[str, pa.Array] = {
            name: pa.array([value] * len(rows)) for name, value in zip(window_fold.GROUP, group, strict=True)
        }
        columns |= {"params": pa.array([params] * len(rows)), "whole": pa.array([whole] * len(rows))}
        columns |= {name: pa.array([row.get(name, 0) for row in rows]) for name in window_fold.NUMBERS}
        batch = pa.RecordBatch.from_arrays(list(columns.values()), list(columns))
        for answer in window_fold.fold_windows(iter((batch.slice(0, 3), batch.slice(3)))):
            for line in answer.to_pylist():
                if line["what"] != window_fold.LATE:
                    found[line["law"]] += line["n"]
    return dict(found)


def audited(facts: Damaged, whole: bool) -> dict[str, bool]:
    """Whether the slow form finds something wrong."""
    found = dict.fromkeys(WINDOW_LAWS, False)
    for _, params, rows in _operators(facts):
        for law, machine in (("window-fire", AnyFireMachine()), ("late-rows", AnyDropMachine())):
            for row in rows:
                values = [row.get(name, 0) for name in any_window_machine.COLUMNS[:-1]]
                found[law] |= bool(machine.take((*values, params)))
            found[law] |= bool(machine.end(whole))
    return found


def _operators(facts: Damaged) -> list[tuple[tuple[int, int, int], str, list[Row]]]:
    """Run, task and operator, the operator's params, and its rows in the order in which a fold gets them."""
    graph: JobGraph = job_graph(facts)
    params = {(int(row[0]), int(row[1])): str(row[4]) for row in facts.static_rows("operators")}
    found = []
    for operator in graph.operators:
        for task in graph.tasks_of(operator.vertex) if window_plan(operator) is not None else ():
            rows = []
            for table, what in _READ.items():
                for row in facts.tables[table]:
                    if row["task"] != task.task or row.get("operator", operator.operator) != operator.operator:
                        continue
                    if what or (row["kind"] == ElementKind.WATERMARK and row["input"] == 0):
                        rows.append({**row, "what": what})
            if rows:
                rows.sort(key=lambda row: (row["seq"], row["what"]))
                found.append(((0, task.task, operator.operator), params[operator.vertex, operator.operator], rows))
    return found
