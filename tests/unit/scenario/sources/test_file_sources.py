"""Files that a scenario reads and writes: several at once, in three formats."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowsim.cluster.mini_cluster import execute
from flowsim.errors import JobFailed
from flowsim.facts.kinds import Level
from flowsim.scenario.runner import run_compiled
from tests.support.jobs.scenarios import compiled, refused

CSV = "csv: {path: PATH, columns: {n: long}}"
PARQUET = "parquet: {path: PATH, columns: {n: long}}"
JSONL = "jsonl: {path: PATH, fields: {n: long}}"
FORMATS = pytest.mark.parametrize(("form", "suffix"), [(CSV, "csv"), (PARQUET, "parquet"), (JSONL, "jsonl")])


def scenario(source: str, path: str, more: str = "", sink: str = "collect: {}") -> str:
    read = source.replace("PATH", path)
    return f"flowsim: 1\nname: files\nsources:\n  rows:\n    {read}\n{more}sinks:\n  out: {{input: rows, {sink}}}\n"


def write(folder: Path, suffix: str, name: str, *numbers: int) -> None:
    path = folder / f"{name}.{suffix}"
    if suffix == "csv":
        path.write_text("\n".join(["n", *map(str, numbers)]) + "\n")
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps({"n": n}) + "\n" for n in numbers))
    else:
        pq.write_table(pa.table({"n": pa.array(numbers, pa.int64())}), path)


def read(text: str, tmp_path: Path, **permissions: bool) -> list[object]:
    job = compiled(text, tmp_path, tmp_path, **permissions)
    assert execute(job.stream_graph(), job.run_options()).error is None
    (sink,) = job.sinks
    assert sink.collected is not None
    return [value[0] for value in sink.collected.values()]  # type: ignore[index]


@FORMATS
def test_pattern_reads_files_in_sorted_order(tmp_path: Path, form: str, suffix: str) -> None:
    for name, number in (("part-2", 3), ("part-1", 1), ("other", 9), ("part-10", 2)):
        write(tmp_path, suffix, name, number)
    text = scenario(form, f"'part-*.{suffix}'")
    assert read(text, tmp_path) == [1, 2, 3]
    inputs = compiled(text, tmp_path, tmp_path).inputs
    assert [file.name for file in inputs] == [f"part-{i}.{suffix}" for i in (1, 10, 2)]


@FORMATS
def test_list_reads_files_in_its_order_split_over_subtasks(tmp_path: Path, form: str, suffix: str) -> None:
    for name, numbers in (("a", (1, 2)), ("b", (3,)), ("c", (4,))):
        write(tmp_path, suffix, name, *numbers)
    text = scenario(form, f"[c.{suffix}, a.{suffix}, b.{suffix}]", "    parallelism: 2\n")
    assert read(text.replace("collect: {}", "parallelism: 2, collect: {}"), tmp_path) == [4, 3, 1, 2]


@FORMATS
def test_each_file_has_its_own_event_time(tmp_path: Path, form: str, suffix: str) -> None:
    """File b begins earlier than a ends: read one after the other, its rows are behind the watermark (rule 8.6)."""
    write(tmp_path, suffix, "a", 1000, 25_000)
    write(tmp_path, suffix, "b", 2000)
    text = f"""\
flowsim: 1
name: files
sources:
  rows:
    {form.replace("PATH", f"[a.{suffix}, b.{suffix}]")}
    watermarks: {{timestamp: n, emit: every_record}}
    PARALLELISM
operators:
  w: {{input: rows, key_by: "'k'", window: {{tumbling: 10 s, late_output: late}}, aggregate: {{c: count()}}}}
sinks:
  late: {{input: w.late, collect: {{}}}}
"""
    assert read(text.replace("PARALLELISM", "parallelism: 1"), tmp_path) == [2000]
    assert read(text.replace("PARALLELISM", "parallelism: 2"), tmp_path) == []


def test_parquet_source_infers_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"word": ["a", "b"], "n": pa.array([1, 2], pa.int64())}), tmp_path / "x.parquet")
    job = compiled(scenario("parquet: {path: PATH}", "x.parquet"), tmp_path, tmp_path)
    assert job.sinks[0].schema.names == ("word", "n")
    assert [kind.value for kind in job.sinks[0].schema.types] == ["string", "long"]


def test_jsonl_sink_writes_parts_that_jsonl_source_reads(tmp_path: Path) -> None:
    write(tmp_path, "csv", "a", 1, 2)
    job = compiled(scenario(CSV, "a.csv", sink="jsonl: {}"), tmp_path, tmp_path)
    run_compiled(job, out=tmp_path / "out", record=Level.OFF)
    part = tmp_path / "out" / "sinks" / "out" / "part-0.jsonl"
    assert part.read_text() == '{"n":1}\n{"n":2}\n'
    assert read(scenario(JSONL, "out/sinks/out/part-0.jsonl"), tmp_path) == [1, 2]
    run_compiled(compiled(scenario(CSV, "a.csv", sink="jsonl: {}"), tmp_path, tmp_path), out=tmp_path / "out")
    assert part.read_text() == '{"n":1}\n{"n":2}\n'


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("'none-*.csv'", "matches 'none-*.csv'"),
        ("[a.csv, a.csv]", "'a.csv' is listed twice"),
        ("[a.csv, none.csv]", "there is no file 'none.csv'"),
        ("'../*.csv'", "is outside of"),
        ("[]", "path"),
    ],
)
def test_unreadable_files_are_refused_with_position(tmp_path: Path, path: str, message: str) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    write(folder, "csv", "a", 1)
    write(tmp_path, "csv", "outside", 1)
    (error,) = refused(scenario(CSV, path), tmp_path, folder)
    assert error.startswith("s.yaml:5:")
    assert message in error


def test_bad_row_fails_job_with_file_position(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"n": 1}\n{"n": "two"}\n')
    job = compiled(scenario(JSONL, "a.jsonl"), tmp_path, tmp_path)
    with pytest.raises(JobFailed, match=r"operator Source: rows: .*a\.jsonl:2:7 key 'n': expected a long"):
        execute(job.stream_graph(), job.run_options())
