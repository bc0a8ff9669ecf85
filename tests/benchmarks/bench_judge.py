"""Measures the check of a big recording, in this process and on Spark with the driver's 2 GiB: CPU seconds and wall time.

python tests/benchmarks/bench_judge.py [--facts 10_000_000] [--runs 1] [--parallelism 8] [--sliding] [--engine both]
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[2]))

from flowsim.facts.schema import FORMAT_VERSION, GRAPH_TABLES, TABLES, Table
from flowsim.recording.canonical import sha256
from flowsim.recording.epoch_marker import EpochMarker, PartDescription
from flowsim.recording.graph_file import graph_bytes
from flowsim.recording.parquet_part import arrow_schema, as_numpy, part_bytes
from flowsim.validation.judge import open_runs, validate
from flowsim.validation.on_spark import OnSpark
from flowsim.validation.spark_session import spark_session
from flowsim.validation.verdict import Report
from tests.benchmarks.big_recording import BigJob, Columns, Rounds
from tests.benchmarks.big_recording_ends import Row, begun, described, ended
from tests.support.facts.signed_manifest import signed

_NUMPY = {"q": np.int64, "i": np.int32, "h": np.int16, "b": np.int8}
_FACTS_A_PART = 2_000_000


def _from_columns(table: Table, columns: Columns) -> pa.Table:
    shape = np.broadcast_shapes(*(np.shape(column) for column in columns.values()))
    seq = columns["seq"]
    arrays = []
    for column in table.stored_columns:
        given = columns.get(column.name, seq if column.name == "time_ns" else 0)
        whole = np.broadcast_to(np.asarray(given), shape).reshape(-1)
        arrays.append(pa.array(np.ascontiguousarray(whole.astype(_NUMPY[column.code]))))
    return pa.Table.from_arrays(arrays, schema=arrow_schema(table))


def _from_rows(table: Table, rows: list[dict[str, int | str]]) -> pa.Table:
    names = {c.name: ("" if c.code == "s" else 0) for c in table.stored_columns}
    full = [{**names, **row, **({"time_ns": row["seq"]} if "seq" in row else {})} for row in rows]
    return pa.Table.from_pylist(full, arrow_schema(table))


def write(job: BigJob, folder: Path) -> int:
    """Writes the recording of ``job`` into ``folder``; answers how many facts it has."""
    (folder / "epochs").mkdir(parents=True)
    each = BigJob(job.parallelism, job.records, 1)
    facts_a_round = job.parallelism * (each.source_facts + each.window_facts + each.sink_facts)
    step = max(1, _FACTS_A_PART // facts_a_round)
    bounds = [*range(0, job.rounds, step), job.rounds]
    totals = dict.fromkeys(TABLES, 0)
    graph_names = [table.name for table in GRAPH_TABLES]
    before = graph = ""
    for number, (first, last) in enumerate(itertools.pairwise(bounds)):
        tables: dict[str, list[pa.Table]] = {}
        if number == 0:
            _add_rows(tables, (*described(job), *begun(job)))
            rows = {name: list(zip(*tables.pop(name)[0].to_pydict().values(), strict=True)) for name in graph_names}
            totals |= {name: len(of_table) for name, of_table in rows.items()}
            (folder / "graph.json").write_bytes(graph_bytes(rows))
            graph = sha256(graph_bytes(rows))
        for name, columns in Rounds(job, first, last).tables():
            tables.setdefault(name, []).append(_from_columns(TABLES[name], columns))
        if last == job.rounds:
            _add_rows(tables, ended(job))
        parts = {
            name: _write_part(folder, number, TABLES[name], pa.concat_tables(kept)) for name, kept in tables.items()
        }
        marker = EpochMarker(number, graph, before, parts)
        before = sha256(marker.content())
        (folder / "epochs" / f"{number:05d}.json").write_bytes(marker.content())
        totals = {name: count + marker.rows.get(name, 0) for name, count in totals.items()}
    manifest = {"format_version": FORMAT_VERSION, "status": "complete", "level": "full", "run": {}, "versions": {},
                "epochs": len(bounds) - 1, "last_marker": before, "rows": totals}  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(signed(manifest)))
    return sum(totals[name] for name, table in TABLES.items() if "seq" in table.names)


def _write_part(folder: Path, epoch: int, table: Table, rows: pa.Table) -> PartDescription:
    task = as_numpy(rows["task"])
    order = np.lexsort((as_numpy(rows["seq"]), task)) if "seq" in table.names else np.argsort(task, kind="stable")
    rows = rows.take(pa.array(order)).combine_chunks()
    found, counts = np.unique(task, return_counts=True)
    tasks = tuple(zip(found.tolist(), counts.tolist(), strict=True))
    content = memoryview(part_bytes(table, rows, tasks))
    (folder / table.name).mkdir(exist_ok=True)
    (folder / table.name / f"part-{epoch:05d}.parquet").write_bytes(content)
    return PartDescription(len(task), hashlib.sha256(content).hexdigest(), tasks)


def _add_rows(parts: dict[str, list[pa.Table]], rows: Iterable[Row]) -> None:
    by_table: dict[str, list[dict[str, int | str]]] = {}
    for name, row in rows:
        by_table.setdefault(name, []).append(row)
    for name, of_table in by_table.items():
        parts.setdefault(name, []).append(_from_rows(TABLES[name], of_table))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--facts", type=int, default=10_000_000)
    options.add_argument("--runs", type=int, default=1, help="so many recordings, which have these facts together")
    options.add_argument("--parallelism", type=int, default=8, help="a third of the tasks")
    options.add_argument("--sliding", action="store_true", help="windows of a sliding assigner")
    options.add_argument("--law", action="append", help="only this law; may be given several times")
    options.add_argument("--keep", type=Path, help="write the recording there (or judge what is there) and keep it")
    options.add_argument("--master", default="local[2]")
    options.add_argument("--engine", choices=("both", "python", "spark"), default="both")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folders = [(given.keep or Path(temporary)) / str(run) for run in range(given.runs)]
        if not folders[0].exists():
            started = perf_counter()
            job = BigJob.of_facts(given.facts // given.runs, given.parallelism, sliding=given.sliding)
            facts = sum(write(job, folder / "recording") for folder in folders)
            print(f"{facts:,} facts written in {perf_counter() - started:.0f} s", flush=True)
        opened = perf_counter()
        runs = open_runs(folders)
        print(
            f"{len(runs)} opened in {perf_counter() - opened:.1f} s, {len(runs[0].graph.tasks)} tasks each", flush=True
        )
        if given.engine != "spark":
            _show("in this process", lambda: validate(runs, given.law))
        if given.engine != "python":

            def on_spark() -> Report:
                return validate(
                    runs, given.law, OnSpark(sessions.enter_context(spark_session(given.master, for_judge=True)))
                )

            with ExitStack() as sessions:
                _show(f"on Spark ({given.master})", on_spark)


def _show(where: str, judge: Callable[[], Report]) -> None:
    cpu_s, started = _cpu_s(), perf_counter()
    report = judge()
    wall_s = perf_counter() - started
    broken = [line.outcome for line in report.lines if line.broken]
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{where}: {_cpu_s() - cpu_s:.1f} CPU s, {wall_s:.1f} s wall, {resident:.0f} MiB, {len(report.lines)} laws")
    for outcome in broken:
        print(f"  {outcome.law}: {outcome.verdict.value}, {outcome.violations:,} violations {outcome.evidence[:2]}")


def _cpu_s() -> float:
    """Of this process, of all below it that run, and of those of them that have ended (Linux)."""
    times: dict[int, tuple[int, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            times[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    family, ticks = {os.getpid()}, 0
    while True:
        grown = family | {pid for pid, (parent, _) in times.items() if parent in family}
        if grown == family:
            break
        family = grown
    ticks = sum(times[pid][1] for pid in family if pid in times)
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
