"""Recordings made by hand: rows in the order in which they happened, written as the recording's Parquet layout.

``FactBuilder`` knows tables only. ``honest_job`` fills one with what a small keyed window job would record, from a model
of the job that shares no code with flowsim.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from flowsim.facts.kinds import Level
from flowsim.facts.schema import (
    FACT_TABLES,
    FORMAT_VERSION,
    GRAPH_TABLES,
    STATIC_TABLES,
    TABLES,
    TEXT_TABLES,
)
from flowsim.recording.canonical import sha256
from flowsim.recording.epoch_marker import EpochMarker, PartDescription
from flowsim.recording.graph_file import graph_bytes
from flowsim.recording.memory import MemoryRecorder
from tests.support.facts.signed_manifest import signed

_ARROW = {"q": pa.int64(), "i": pa.int32(), "h": pa.int16(), "b": pa.int8(), "s": pa.string()}
Row = dict[str, int | str]


@dataclass
class FactBuilder:
    """Facts in the order in which they were recorded; ``seq`` is counted per task."""

    level: Level = Level.FULL
    facts: list[tuple[str, Row]] = field(default_factory=list)
    _seq: dict[int, int] = field(default_factory=dict)
    now_ns: int | None = None
    """The time of what is added; None: each fact has its own."""

    def add(self, table: str, **values: int | str) -> None:
        """Adds one row; columns that are not given are 0 or ''."""
        row: Row = {c.name: "" if c.code == "s" else 0 for c in TABLES[table].columns}
        row.update({k: int(v) if isinstance(v, int) else v for k, v in values.items()})
        assert set(row) == set(TABLES[table].names), (table, values)
        if "seq" in row and "seq" not in values:
            row["seq"] = self._seq.get(int(row["task"]), 0)
            self._seq[int(row["task"])] = int(row["seq"]) + 1
            row["time_ns"] = 1 + len(self.facts) if self.now_ns is None else self.now_ns
        self.facts.append((table, row))

    def rows(self, table: str, where: Callable[[Row], bool] = lambda row: True) -> list[Row]:
        """The rows of a table for which ``where`` holds; they may be changed in place."""
        return [row for name, row in self.facts if name == table and where(row)]

    def remove(self, table: str, row: Row) -> None:
        """Takes one row out."""
        self.facts = [(name, r) for name, r in self.facts if not (name == table and r is row)]

    def insert_after(self, row: Row, table: str, **values: int | str) -> Row:
        """Adds a row of the same task directly after ``row``, in its order and in the recording."""
        for _, later in self.facts:
            if "seq" in later and later["task"] == row["task"] and int(later["seq"]) > int(row["seq"]):
                later["seq"] = int(later["seq"]) + 1
        self.add(table, task=row["task"], seq=int(row["seq"]) + 1, **values)
        added = self.facts.pop()
        index = next(i for i, (_, r) in enumerate(self.facts) if r is row)
        self.facts.insert(index + 1, added)
        self._seq[int(row["task"])] = self._seq.get(int(row["task"]), 0) + 1
        return added[1]

    def copy(self, first: int | None = None) -> FactBuilder:
        """A deep copy of all facts, or of the first so many."""
        return FactBuilder(self.level, [(t, dict(r)) for t, r in self.facts[:first]], dict(self._seq))

    def _with_whole_graph(self) -> FactBuilder:
        """The described graph, with the task managers and head operators that the tasks refer to, if they are missing."""
        described = {table.name for table in GRAPH_TABLES}
        whole = FactBuilder(self.level, [(name, dict(row)) for name, row in self.facts if name in described])
        for task in whole.rows("tasks"):
            if not whole.rows("task_managers", lambda row, task=task: row["task_manager"] == task["task_manager"]):
                whole.add("task_managers", task_manager=task["task_manager"])
            if not whole.rows("operators", lambda row, task=task: row["vertex"] == task["vertex"]):
                whole.add("operators", vertex=task["vertex"], kind="map", input_operator=-1)
        return whole

    def write(
        self, folder: Path, status: str = "complete", epochs: int = 2, open_facts: int = 0, by_seq: bool = True
    ) -> Path:
        """Writes ``folder/recording``; the last ``open_facts`` facts land in a part whose epoch has no marker.

        ``by_seq``: the facts of each task are written in the order of ``seq``, as the format promises.
        """
        root = folder / "recording"
        (root / "epochs").mkdir(parents=True)
        facts, closed = self.in_order() if by_seq else self.facts, len(self.facts) - open_facts
        bounds = [closed * i // epochs for i in range(epochs)] + [closed, len(self.facts)]
        described = self._with_whole_graph()
        graph = {t.name: [tuple(r[c] for c in t.names) for r in described.rows(t.name)] for t in GRAPH_TABLES}
        content = graph_bytes(graph)
        (root / "graph.json").write_bytes(content)
        total = dict.fromkeys(TABLES, 0) | {name: len(rows) for name, rows in graph.items()}
        before, markers = "", 0
        for number in range(epochs + (open_facts > 0)):
            parts = self._write_epoch(root, number, facts[bounds[number] : bounds[number + 1]], by_seq)
            if number < epochs:
                marker = EpochMarker(number, sha256(content), before, parts).content()
                (root / "epochs" / f"{number:05d}.json").write_bytes(marker)
                before, markers = sha256(marker), markers + 1
                total = {name: count + (parts[name].rows if name in parts else 0) for name, count in total.items()}
        manifest = {
            "format_version": FORMAT_VERSION,
            "status": status,
            "level": self.level.name.lower(),
            "run": {},
            "versions": {},
        }
        if status != "running":
            manifest = signed(manifest | {"epochs": epochs, "last_marker": before, "rows": total})
        (root / "manifest.json").write_text(json.dumps(manifest))
        return folder

    def in_order(self) -> list[tuple[str, Row]]:
        """All facts, with those of each task in the order of ``seq``, so that it ascends from epoch to epoch."""
        by_task: dict[int, list[tuple[str, Row]]] = {}
        for fact in self.facts:
            if "seq" in fact[1]:
                by_task.setdefault(int(fact[1]["task"]), []).append(fact)
        ordered = {
            task: iter(sorted(of_task, key=lambda fact: int(fact[1]["seq"]))) for task, of_task in by_task.items()
        }
        return [next(ordered[int(fact[1]["task"])]) if "seq" in fact[1] else fact for fact in self.facts]

    def _write_epoch(
        self, root: Path, number: int, facts: list[tuple[str, Row]], by_seq: bool
    ) -> dict[str, PartDescription]:
        parts = {}
        by_table: dict[str, list[Row]] = {}
        for name, row in facts:
            by_table.setdefault(name, []).append(row)
        for name in [*(t.name for t in (*FACT_TABLES, *TEXT_TABLES))]:
            table, rows = TABLES[name], by_table.get(name)
            if not rows:
                continue
            tasks: tuple[tuple[int, int], ...] = ()
            if "task" in table.names:
                rows.sort(key=itemgetter("task", "seq") if by_seq and "seq" in table.names else itemgetter("task"))
                tasks = tuple(sorted(Counter(int(r["task"]) for r in rows).items()))
            schema = pa.schema([pa.field(c.name, _ARROW[c.code], nullable=False) for c in table.stored_columns])
            columns = [[row.get(each, 0) for row in rows] for each in schema.names]
            (root / name).mkdir(exist_ok=True)
            path = root / name / f"part-{number:05d}.parquet"
            pq.write_table(pa.table(columns, schema=schema), path)
            parts[name] = PartDescription(len(rows), sha256(path.read_bytes()), tasks)
        return parts


def recorded(run: MemoryRecorder) -> FactBuilder:
    """The facts of a run, to be changed."""
    built = FactBuilder(run.level)
    for tables, rows_of in ((STATIC_TABLES, run.static_rows), (FACT_TABLES, run.rows)):
        for table in tables:
            built.facts += [(table.name, dict(zip(table.names, row, strict=True))) for row in rows_of(table.name)]
    return built
