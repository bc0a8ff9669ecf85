"""``missing_timestamp`` of a scenario, and what an error says about a null field: operator, record, file, line and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobStatus, MissingTimestampSummary
from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.judge import check_all
from flowsim.scenario.runner import ScenarioRun, run_compiled
from tests.support.jobs.scenarios import compiled, refused
from tests.support.oracle.judge import check_all as check_by_definition

ROWS = "k,t,v\na,1,1\nb,,2\nc,3,\nd,,4\n"
HEAD = """\
flowsim: 1
name: missing
settings: {parallelism: 1}
"""
CSV = "csv: {path: in.csv, columns: {k: string, t: long, v: long}}"


def run(text: str, folder: Path, rows: str = ROWS) -> ScenarioRun:
    (folder / "in.csv").write_text(rows)
    (folder / "more.csv").write_text("k,t,v\ne,5,5\nf,,6\n")
    return run_compiled(compiled(HEAD + text, folder, folder), record=Level.ELEMENTS)


def source(watermarks: str, more: str = "") -> str:
    return f"sources: {{rows: {{{CSV}, watermarks: {{{watermarks}}}{more}}}}}\n"


def sinks(**inputs: str) -> str:
    return "sinks:\n" + "".join(f"  {name}: {{input: {read}, collect: {{}}}}\n" for name, read in inputs.items())


def kept(done: ScenarioRun) -> dict[str, list[object]]:
    assert done.result.status is JobStatus.FINISHED
    return {sink.name: [value[0] for value, _ in sink.records or ()] for sink in done.sinks}  # type: ignore[index]


def assert_laws_hold(done: ScenarioRun) -> None:
    assert done.facts is not None
    found = [outcome for outcome in check_all(done.facts) if outcome.violations]
    defined = [outcome.law for outcome in check_by_definition(done.facts) if outcome.violations]
    assert (found, defined) == ([], [])


def error_of(text: str, folder: Path) -> str:
    done = run(text, folder)
    assert done.result.status is JobStatus.FAILED
    return str(done.result.error)


@pytest.mark.parametrize("timestamp", ["t", "t * 10", "max(t, 2)", "t if v is not None else t"])
@pytest.mark.parametrize("emit", ["periodic", "every_record", "never"])
def test_records_without_timestamp_are_dropped_and_counted(timestamp: str, emit: str, tmp_path: Path) -> None:
    text = source(f"timestamp: '{timestamp}', missing_timestamp: drop, emit: {emit}, idle_after: 5 ms")
    done = run(text + sinks(out="rows"), tmp_path)
    assert kept(done) == {"out": ["a", "c"]}
    assert done.result.records_read == 4
    assert done.result.missing_timestamps == (MissingTimestampSummary("Source: rows", 2, None),)
    assert_laws_hold(done)


def test_expression_that_handles_null_itself_is_not_missing(tmp_path: Path) -> None:
    text = source('timestamp: "coalesce(t, 9)", missing_timestamp: drop')
    done = run(text + sinks(out="rows"), tmp_path)
    assert kept(done) == {"out": ["a", "b", "c", "d"]}
    assert done.result.missing_timestamps == (MissingTimestampSummary("Source: rows", 0, None),)


def test_records_without_timestamp_go_to_side_output_of_source(tmp_path: Path) -> None:
    text = source("timestamp: t, missing_timestamp: {output: bad}, idle_after: 5 ms")
    done = run(text + sinks(out="rows", bad="rows.bad", again="rows.bad"), tmp_path)
    assert kept(done) == {"out": ["a", "c"], "bad": ["b", "d"], "again": ["b", "d"]}
    assert done.sinks[1].records == ((("b", None, 2), None), (("d", None, 4), None))
    assert done.result.missing_timestamps == (MissingTimestampSummary("Source: rows", 2, "bad"),)
    assert_laws_hold(done)


def test_side_output_without_reader_counts_its_records(tmp_path: Path) -> None:
    done = run(source("timestamp: t, missing_timestamp: {output: bad}") + sinks(out="rows"), tmp_path)
    assert kept(done) == {"out": ["a", "c"]}
    assert done.result.missing_timestamps == (MissingTimestampSummary("Source: rows", 2, "bad"),)
    assert_laws_hold(done)


@pytest.mark.parametrize("chaining", ["always", "never"])
def test_operator_sends_records_without_timestamp_to_its_side_output(chaining: str, tmp_path: Path) -> None:
    text = f"""\
sources: {{rows: {{{CSV}}}}}
operators:
  timed:
    input: rows
    chaining: {chaining}
    parallelism: 2
    watermarks: {{timestamp: t + 1, missing_timestamp: {{output: bad}}, idle_after: 5 ms}}
"""
    done = run(text + sinks(out="timed", bad="timed.bad"), tmp_path)
    assert {name: sorted(map(str, values)) for name, values in kept(done).items()} == {
        "out": ["a", "c"],
        "bad": ["b", "d"],
    }
    assert done.result.missing_timestamps == (MissingTimestampSummary("timed", 2, "bad"),)
    assert_laws_hold(done)


def test_every_file_of_source_is_counted(tmp_path: Path) -> None:
    text = source("timestamp: t, missing_timestamp: drop", ", parallelism: 2").replace("in.csv", "[in.csv, more.csv]")
    done = run(text + sinks(out="rows"), tmp_path)
    assert sorted(map(str, kept(done)["out"])) == ["a", "c", "e"]
    assert done.result.missing_timestamps == (MissingTimestampSummary("Source: rows", 3, None),)
    assert_laws_hold(done)


def test_watermarks_of_legacy_source_drop_records(tmp_path: Path) -> None:
    done = run(source("timestamp: t, missing_timestamp: drop", ", legacy: true") + sinks(out="rows"), tmp_path)
    assert kept(done) == {"out": ["a", "c"]}
    assert done.result.missing_timestamps == (MissingTimestampSummary("rows watermarks", 2, None),)
    assert_laws_hold(done)


def test_records_without_timestamp_do_not_end_idleness(tmp_path: Path) -> None:
    """Rule 8.4: the source is idle while its side output receives records."""
    entries = "[{record: [1]}" + ", {sleep: 2 ms}, {record: [null]}" * 20 + ", {sleep: 2 ms}, {record: [2]}]"
    text = f"""\
sources:
  rows:
    script: {{fields: {{t: long}}, subtasks: [{entries}]}}
    watermarks: {{timestamp: t, missing_timestamp: {{output: bad}}, idle_after: 10 ms}}
settings: {{auto_watermark_interval: 1 ms}}
sinks:
  out: {{input: rows, chaining: never, collect: {{}}}}
  bad: {{input: rows.bad, chaining: never, collect: {{}}}}
"""
    done = run_compiled(
        compiled(HEAD.replace("settings: {parallelism: 1}\n", "") + text, tmp_path), record=Level.ELEMENTS
    )
    assert [sink.rows for sink in done.sinks] == [2, 20]
    assert done.facts is not None
    generated = [row[5] for row in sorted(done.facts.rows("generated_watermark"))]
    assert generated.count(int(ElementKind.STATUS)) == 1
    assert_laws_hold(done)


def test_side_output_of_failed_source_gives_no_further_error(tmp_path: Path) -> None:
    text = source("timestamp: t, missing_timestamp: {output: bad}").replace("in.csv", "none.csv")
    (error,) = refused(HEAD + text + sinks(out="rows", bad="rows.bad"), tmp_path, tmp_path)
    assert "there is no file 'none.csv'" in error


def test_missing_timestamp_names_operator_record_line_and_field(tmp_path: Path) -> None:
    assert error_of(source("timestamp: t + 1") + sinks(out="rows"), tmp_path) == (
        "job failed in task Source: rows -> Sink: out (1/1), operator Source: rows, record ('b', None, 2) from in.csv:3: "
        "MissingTimestamp: Source: rows: timestamp assigner: the record has no timestamp: field 't' is null; correct the "
        "record, or add missing_timestamp: drop, or missing_timestamp: {output: NAME}, to these watermarks"
    )


def test_null_key_names_keyed_operator_record_line_and_field(tmp_path: Path) -> None:
    text = f"sources: {{rows: {{{CSV}}}}}\noperators: {{total: {{input: rows, key_by: v % 2, sum: t}}}}\n"
    assert "operator Source: rows, record ('c', 3, None) from in.csv:4: TypeError" in error_of(
        text + sinks(out="total"), tmp_path
    )
    text = text.replace("v % 2", "v")
    assert error_of(text + sinks(out="total"), tmp_path) == (
        "job failed in task Source: rows (1/1), operator Source: rows, record ('c', 3, None) from in.csv:4: NullKey: a key is "
        "None: Flink does not allow null keys; return another key or drop the record; it is the key of total, whose field "
        "'v' is null"
    )


def test_null_field_of_map_names_line_of_its_source(tmp_path: Path) -> None:
    text = f"sources: {{rows: {{{CSV}}}}}\noperators: {{more: {{input: rows, map: {{add: {{x: v + 1}}}}}}}}\n"
    assert "operator more, record ('c', 3, None) from in.csv:4: TypeError: " in error_of(
        text + sinks(out="more"), tmp_path
    )
    assert error_of(text + sinks(out="more"), tmp_path).endswith("; field 'v' is null")


def test_line_is_that_of_row_in_own_groups_and_files(tmp_path: Path) -> None:
    split = CSV.replace("}}", "}, split_by: k, groups: [[a, c], [b, d]]}")
    text = f"sources: {{rows: {{{split}, parallelism: 2, watermarks: {{timestamp: t}}}}}}\n" + sinks(out="rows")
    assert "record ('b', None, 2) from in.csv:3: " in error_of(text, tmp_path)
    text = source("timestamp: t").replace("in.csv", "[more.csv]") + sinks(out="rows")
    assert "record ('f', None, 6) from more.csv:3: " in error_of(text, tmp_path)
