"""How long each law takes on a big recording, with the driver's 2 GiB: fast forms, and with --audit the slow ones.

python tests/benchmarks/bench_judge.py [--facts 20_000_000] [--sliding] [--audit] [--keep DIR] [--master local[2]]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[2]))

import itertools

from flowsim.facts.schema import FORMAT_VERSION, TABLES, Table
from flowsim.validation.judge import validate
from flowsim.validation.spark_session import spark_session
from tests.benchmarks.big_recording import BigJob, Columns, Rounds
from tests.benchmarks.big_recording_ends import Row, begun, described, ended

_ARROW = {"q": pa.int64(), "i": pa.int32(), "b": pa.int8(), "s": pa.string()}
_NUMPY = {"q": np.int64, "i": np.int32, "b": np.int8}
_FACTS_A_PART = 2_000_000


def _schema(table: Table) -> pa.Schema:
    return pa.schema([pa.field(c.name, _ARROW[c.code], nullable=False) for c in table.columns])


def _from_columns(table: Table, columns: Columns) -> pa.Table:
    shape = np.broadcast_shapes(*(np.shape(column) for column in columns.values()))
    seq = columns["seq"]
    arrays = []
    for column in table.columns:
        given = columns.get(column.name, seq if column.name == "time_ns" else 0)
        whole = np.broadcast_to(np.asarray(given), shape).reshape(-1)
        arrays.append(pa.array(whole.astype(_NUMPY[column.code])))
    return pa.Table.from_arrays(arrays, schema=_schema(table))


def _from_rows(table: Table, rows: list[dict[str, int | str]]) -> pa.Table:
    names = {c.name: ("" if c.code == "s" else 0) for c in table.columns}
    full = [{**names, **row, **({"time_ns": row["seq"]} if "seq" in row else {})} for row in rows]
    return pa.Table.from_pylist(full, _schema(table))


def write(job: BigJob, folder: Path) -> int:
    """Writes the recording of ``job`` into ``folder``; answers how many facts it has."""
    (folder / "epochs").mkdir(parents=True)
    each = BigJob(job.parallelism, job.records, 1)
    facts_a_round = job.parallelism * (each.source_facts + each.window_facts + each.sink_facts)
    step = max(1, _FACTS_A_PART // facts_a_round)
    bounds = [*range(0, job.rounds, step), job.rounds]
    totals = dict.fromkeys(TABLES, 0)
    for number, (first, last) in enumerate(itertools.pairwise(bounds)):
        parts: dict[str, list[pa.Table]] = {}
        if number == 0:
            _add_rows(parts, (*described(job), *begun(job)))
        for name, columns in Rounds(job, first, last).tables():
            parts.setdefault(name, []).append(_from_columns(TABLES[name], columns))
        if last == job.rounds:
            _add_rows(parts, ended(job))
        rows = {name: sum(part.num_rows for part in parts.get(name, ())) for name in TABLES}
        for name, tables in parts.items():
            (folder / name).mkdir(exist_ok=True)
            pq.write_table(pa.concat_tables(tables), folder / name / f"part-{number:05d}.parquet", compression="zstd")
        (folder / "epochs" / f"{number:05d}.json").write_text(json.dumps({"epoch": number, "rows": rows}))
        totals = {name: count + rows[name] for name, count in totals.items()}
    manifest = {"format_version": FORMAT_VERSION, "status": "complete", "level": "full", "run": {}, "versions": {},
                "epochs": len(bounds) - 1, "rows": totals}  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return sum(totals[name] for name, table in TABLES.items() if "seq" in table.names)


def _add_rows(parts: dict[str, list[pa.Table]], rows: Iterable[Row]) -> None:
    by_table: dict[str, list[dict[str, int | str]]] = {}
    for name, row in rows:
        by_table.setdefault(name, []).append(row)
    for name, of_table in by_table.items():
        parts.setdefault(name, []).append(_from_rows(TABLES[name], of_table))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--facts", type=int, default=20_000_000)
    options.add_argument("--audit", action="store_true", help="the slow forms, too")
    options.add_argument("--sliding", action="store_true", help="windows that the law window-fire folds row after row")
    options.add_argument("--law", action="append", help="only this law; may be given several times")
    options.add_argument("--keep", type=Path, help="write the recording there (or judge what is there) and keep it")
    options.add_argument("--master", default="local[2]")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.keep or Path(temporary)) / "recording"
        if not folder.exists():
            started = perf_counter()
            facts = write(BigJob.of_facts(given.facts, sliding=given.sliding), folder)
            print(f"{facts:,} facts written in {perf_counter() - started:.0f} s", flush=True)
        started = perf_counter()

        def progress(law: str, done: int, total: int) -> None:
            print(f"[{perf_counter() - started:.0f} s] {law or 'done'}", file=sys.stderr, flush=True)

        with spark_session(given.master) as spark:
            report = validate(spark, [folder], given.law, progress, audit=given.audit)
    print("| law | verdict | rows examined | seconds |" + (" slow form | seconds |" if given.audit else ""))
    print("|---|---|---|---|" + ("---|---|" if given.audit else ""))
    for line in report.lines:
        found, slow = line.outcome, line.audited
        more = "" if slow is None else f" {slow.verdict.value} | {slow.seconds:.0f} |"
        print(f"| {found.law} | {found.verdict.value} | {found.rows_examined:,} | {line.seconds:.0f} |{more}")


if __name__ == "__main__":
    main()
