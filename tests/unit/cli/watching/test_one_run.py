"""The outcome of one run: its line, what is not as expected, its report, and the files that it read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flowsim.cli.watching.file_stamps import exactly, stamps_of
from flowsim.cli.watching.one_run import outcome_of
from flowsim.cli.watching.run_process import Outcome, RunRequest
from tests.unit.cli.conftest import TINY


def run(folder: Path, text: str, *overrides: str, allow_python: bool = False) -> Outcome:
    (folder / "s.yaml").write_text(text)
    request = RunRequest(str(folder / "s.yaml"), str(folder / "out"), overrides, (), allow_python, False)
    return outcome_of(request)


def read(folder: Path, outcome: Outcome) -> set[str]:
    """The files that the outcome names, relative to the folder."""
    stamps = [stamp for stamps in outcome.stamps.values() for stamp in stamps]
    return {str(Path(path).relative_to(folder)) for path, *_ in stamps}


def test_run_has_the_line_of_its_verdict_and_a_report(tmp_path: Path) -> None:
    outcome = run(tmp_path, TINY)
    assert outcome.line.startswith("finished: ")
    assert " laws hold, " in outcome.line
    assert (outcome.problems, outcome.report) == ((), str(tmp_path / "out/report.html"))
    assert outcome.line.removeprefix("finished: ") in (tmp_path / "out/report.html").read_text()
    assert outcome.stamps == stamps_of([exactly(tmp_path / "s.yaml")])


def test_next_run_replaces_the_report(tmp_path: Path) -> None:
    run(tmp_path, TINY)
    first = (tmp_path / "out/report.html").read_bytes()
    again = run(tmp_path, TINY)
    assert (tmp_path / "out/report.html").read_bytes() == first
    changed = run(tmp_path, TINY, "settings.seed=4")
    assert again.problems == changed.problems == ()
    assert (tmp_path / "out/report.html").read_bytes() != first


@pytest.mark.parametrize(
    ("text", "overrides", "problem"),
    [
        (TINY.replace("parallelism: 2", "paralelism: 2"), (), "s.yaml:12:39 operators.sums.paralelism: unknown key"),
        ("flowsim: 1\nname: [\n", (), "s.yaml:3:1 invalid YAML"),
        (TINY, ("settings.sed=1",), "--set settings.sed=1:1:1 settings.sed: unknown key"),
        (TINY, ("settings.record=off",), "settings.record is off"),
    ],
)
def test_scenario_without_a_run_has_the_error_and_its_position(
    tmp_path: Path, text: str, overrides: tuple[str, ...], problem: str
) -> None:
    outcome = run(tmp_path, text, *overrides)
    assert (outcome.line, outcome.report) == ("not run", None)
    assert problem in outcome.problems[0]
    assert not (tmp_path / "out").exists()


def test_unmet_expectations_and_laws_are_problems(tmp_path: Path) -> None:
    fault = "faults: [{fault: drop_element, operator: sums, at: 1}]\n"
    outcome = run(tmp_path, TINY + fault)
    assert "channel-fifo is violated" in outcome.line
    assert outcome.problems[0].startswith("expected rows of sink kept: 200, found: 19")
    assert "expected law channel-fifo: holds, found: violated" in outcome.problems
    assert outcome.report is not None


def test_failed_job_has_its_error_and_a_report(tmp_path: Path) -> None:
    text = """\
flowsim: 1
name: failing
sources: {rows: {collection: {fields: {n: long}, rows: [[1], [0]]}}}
operators: {divided: {input: rows, map: {add: {m: 1 % n}}}}
sinks: {kept: {input: divided, collect: {}}}
"""
    outcome = run(tmp_path, text)
    assert outcome.line.startswith("failed: ")
    assert "ZeroDivisionError" in outcome.problems[0]
    assert outcome.report is not None


def test_files_that_the_scenario_reads_are_part_of_the_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/day_1.csv").write_text("n,key\n1,a\n")
    (tmp_path / "helper_of_watch.py").write_text("ONE = 1\n")
    (tmp_path / "function_of_watch.py").write_text(
        "from helper_of_watch import ONE\ndef add(value):\n    return (value[0] + ONE, value[1])\n"
    )
    (tmp_path / "unused.py").write_text("")
    text = """\
flowsim: 1
name: files
sources: {rows: {csv: {path: data/day_*.csv, columns: {n: long, key: string}}}}
operators: {added: {input: rows, map: {python: "function_of_watch:add", fields: {n: long, key: string}}}}
sinks: {kept: {input: added, collect: {}}}
"""
    outcome = run(tmp_path, text, allow_python=True)
    assert outcome.problems == ()
    assert read(tmp_path, outcome) == {"s.yaml", "data/day_1.csv", "function_of_watch.py", "helper_of_watch.py"}
    (tmp_path / "data/day_2.csv").write_text("n,key\n2,b\n")
    assert stamps_of(outcome.stamps) != outcome.stamps
    for name in ("function_of_watch", "helper_of_watch"):
        monkeypatch.delitem(sys.modules, name)


def test_invalid_scenario_names_the_files_that_it_may_read(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("def f(:\n")
    (tmp_path / "notes.txt").write_text("")
    outcome = run(tmp_path, TINY + "x: 1\n")
    assert read(tmp_path, outcome) == {"s.yaml", "job.py"}
