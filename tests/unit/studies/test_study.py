from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flowsim.errors import BadInput, MissingExtra
from flowsim.recording.reader import Recording
from flowsim.studies.directory import StudyDirectory
from flowsim.studies.plot import plot_svg, require_plotting
from flowsim.studies.run import Study, StudyPlan, StudyRow
from flowsim.studies.study import run_study
from flowsim.studies.variation import parse_variations

WritePlan = Callable[..., StudyPlan]
VARY = ("operators.ask.async.mode=ordered,unordered", "operators.ask.async.capacity=1,4")
FILES = ["study.csv", "study.json", "study.md", "study.svg"]


def study(plan: StudyPlan, out: Path, *vary: str, **options: object) -> Study:
    return run_study(plan, parse_variations(vary or VARY), StudyDirectory(out), **options)  # type: ignore[arg-type]


def files(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in FILES}


def test_every_combination_has_a_row_in_every_file(plan: WritePlan, tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []

    def on_row(row: StudyRow, done: int) -> None:
        seen.append((row.combination.text, done))

    found = study(plan(), tmp_path / "out", on_row=on_row)
    assert seen == [
        ("mode=ordered, capacity=1", 1), ("mode=ordered, capacity=4", 2),
        ("mode=unordered, capacity=1", 3), ("mode=unordered, capacity=4", 4),
    ]  # fmt: skip
    message = json.loads((tmp_path / "out" / "study.json").read_text())
    assert {key: message[key] for key in ("flowsim_study", "scenario", "seed", "set", "complete")} == {
        "flowsim_study": 1, "scenario": "asked", "seed": 1, "set": [], "complete": True,
    }  # fmt: skip
    assert message["vary"] == {
        "operators.ask.async.mode": ["ordered", "unordered"],
        "operators.ask.async.capacity": [1, 4],
    }
    assert [row["values"] for row in message["rows"]] == [dict(row.combination.values) for row in found.rows]
    assert [row["async"]["ask"]["latency"]["p50_ns"] for row in message["rows"]] == [10**7] * 4
    lines = list(csv.DictReader(io.StringIO((tmp_path / "out" / "study.csv").read_text())))
    assert [line["ask.latency.p50_ns"] for line in lines] == ["10000000"] * 4
    assert [(line["operators.ask.async.capacity"], line["ask.peak_queued"]) for line in lines] == [
        ("1", "1"), ("4", "4"), ("1", "1"), ("4", "4"),
    ]  # fmt: skip


def test_markdown_table_has_headings_and_formatted_values(plan: WritePlan, tmp_path: Path) -> None:
    study(plan(), tmp_path / "out", "operators.ask.async.capacity=1,4")
    headings, *lines = (tmp_path / "out" / "study.md").read_text().splitlines()
    assert headings.strip("| ").split(" | ") == [
        "capacity", "records/s", "latency p50", "p90", "p99", "max", "held", "full", "in flight", "peak", "late rows",
        "back-pressured", "end",
    ]  # fmt: skip
    assert lines == [
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| 1 | 71.4 | 10.0 ms | 30.0 ms | 30.0 ms | 30.0 ms | 0.0% | 100.0% | 1.00 | 1 | 1 | 0.0% | 70.0 ms |",
        "| 4 | 125 | 10.0 ms | 30.0 ms | 30.0 ms | 30.0 ms | 22.2% | 100.0% | 2.25 | 4 | 1 | 0.0% | 40.0 ms |",
    ]


def test_recordings_are_kept_unless_discarded(plan: WritePlan, tmp_path: Path) -> None:
    study(plan(), tmp_path / "out")
    assert [path.name for path in sorted((tmp_path / "out" / "runs").iterdir())] == ["001", "002", "003", "004"]
    recording = Recording.open(tmp_path / "out" / "runs" / "003")
    assert recording.manifest.run.options["set"] == [
        'operators.ask.async.mode="unordered"', "operators.ask.async.capacity=1",
    ]  # fmt: skip
    study(plan(keep=False), tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES


@pytest.mark.slow
def test_several_processes_write_equal_files(plan: WritePlan, tmp_path: Path) -> None:
    study(plan(), tmp_path / "one")
    study(plan(), tmp_path / "three", jobs=3)
    assert files(tmp_path / "one") == files(tmp_path / "three")


@pytest.mark.slow
def test_error_in_worker_process_is_raised(plan: WritePlan, tmp_path: Path) -> None:
    (tmp_path / "out" / "runs" / "002").mkdir(parents=True)
    (tmp_path / "out" / "runs" / "002" / "mine.txt").write_text("mine")
    (tmp_path / "out" / "study.json").write_text('{"flowsim_study": 1}')
    with pytest.raises(BadInput, match="002: is not empty and not the output of an earlier run"):
        study(plan(), tmp_path / "out", jobs=2)
    assert (tmp_path / "out" / "runs" / "002" / "mine.txt").exists()


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ("operators.ask.async.capcity=1,2", "unknown key 'capcity' (did you mean 'capacity'?)"),
        ("operators.aks.async.capacity=1,2", "operators has no 'aks' (did you mean 'ask'?)"),
        ("operator.ask.async.capacity=1,2", "a scenario has no 'operator' (did you mean 'operators'?)"),
        ("operators.ask.async.capacity=1,0", "the scenario cannot be run with capacity=0:"),
        ("operators.ask.async.mode=ordered,sorted", "the scenario cannot be run with mode=sorted:"),
    ],
)
def test_invalid_variation_is_refused_before_writing(vary: str, message: str, plan: WritePlan, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        study(plan(), tmp_path / "out", vary)
    assert message in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_varying_a_setting_given_by_option_is_refused(plan: WritePlan, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"--vary settings.seed: --seed sets it for every run: remove one of the two"):
        study(plan(seed=4), tmp_path / "out", "settings.seed=1,2")


def test_earlier_study_is_replaced_completely(plan: WritePlan, tmp_path: Path) -> None:
    study(plan(), tmp_path / "out")
    study(plan(), tmp_path / "out", "operators.ask.async.capacity=2", plot=False)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["runs", "study.csv", "study.json", "study.md"]
    assert [path.name for path in (tmp_path / "out" / "runs").iterdir()] == ["001"]


@pytest.mark.parametrize("foreign", ["letter.txt", "runs/001/letter.txt", "runs/letter.txt", "runs/letters/one.txt"])
def test_directory_with_foreign_file_is_refused_and_unchanged(foreign: str, plan: WritePlan, tmp_path: Path) -> None:
    study(plan(), tmp_path / "out", "operators.ask.async.capacity=2")
    (tmp_path / "out" / foreign).parent.mkdir(exist_ok=True)
    (tmp_path / "out" / foreign).write_text("dear reader")
    before = files(tmp_path / "out")
    with pytest.raises(BadInput, match="choose another directory with --out"):
        study(plan(), tmp_path / "out")
    assert (tmp_path / "out" / foreign).read_text() == "dear reader"
    assert files(tmp_path / "out") == before


def test_directory_without_study_is_refused(plan: WritePlan, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "study.json").write_text('{"my": "study"}')
    with pytest.raises(BadInput, match="holds no study of flowsim"):
        study(plan(), tmp_path / "out")
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="is a file"):
        study(plan(), tmp_path / "file")


def test_interrupted_study_keeps_finished_rows(plan: WritePlan, tmp_path: Path) -> None:
    def interrupt(row: StudyRow, done: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study(plan(), tmp_path / "out", on_row=interrupt)
    message = json.loads((tmp_path / "out" / "study.json").read_text())
    assert (message["complete"], [row["values"]["operators.ask.async.capacity"] for row in message["rows"]]) == (
        False,
        [1, 4],
    )
    assert len((tmp_path / "out" / "study.csv").read_text().splitlines()) == 3
    assert (tmp_path / "out" / "study.svg").read_bytes().startswith(b"<?xml")


def test_failed_job_has_a_row(plan: WritePlan, tmp_path: Path) -> None:
    fails = "capacity: 4, fails: {when: at_ms == 40}"
    found = study(plan(("capacity: 4", fails)), tmp_path / "out", "operators.ask.async.capacity=1,4")
    assert [(row.status, row.is_unexpected) for row in found.rows] == [("failed", True)] * 2
    assert all("SimulatedCallFailed" in str(row.error) for row in found.rows)
    assert "| failed |" in (tmp_path / "out" / "study.md").read_text()


# The plot.


def test_plot_is_deterministic_and_has_a_line_per_mode(plan: WritePlan, tmp_path: Path) -> None:
    found = study(plan(), tmp_path / "out")
    drawn = (tmp_path / "out" / "study.svg").read_bytes()
    assert plot_svg(found) == drawn
    text = drawn.decode()
    for shown in (
        "mode ordered",
        "mode unordered",
        "throughput",
        "latency: median, dashed 99 %",
        "late rows",
        "capacity",
    ):
        assert f">{shown}</text>" in text, shown
    assert "<dc:date>" not in text
    assert plot_svg(replace(found, rows=found.rows[:3])) != drawn


def test_non_numeric_values_give_a_categorical_axis(plan: WritePlan, tmp_path: Path) -> None:
    study(plan(), tmp_path / "out", "operators.ask.async.mode=ordered,unordered")
    text = (tmp_path / "out" / "study.svg").read_text()
    assert ">ordered</text>" in text
    assert ">mode</text>" in text


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    require_plotting()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"--no-plot skips it\) needs the extra 'study': .*\[study\]'?$"):
        require_plotting()
