"""Every pair of commands that write into the directory of a run works twice, one after the other, in one directory."""

from __future__ import annotations

import shutil
from contextlib import chdir
from itertools import permutations
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.errors import BadInput
from flowsim.report.picture import find_browser
from tests.unit.cli.conftest import Flowsim

SCENARIO = """\
flowsim: 1
name: twice
sources: {rows: {collection: {fields: {n: long}, rows: [[1], [2]]}}}
sinks: {kept: {input: rows, csv: {}}}
"""
PNG = "png"
"""Draws a picture with a browser, which takes longer than all other commands and may be missing: it is tried with those
that write what it reads or writes."""
WRITERS = {
    "run": ["run", "job.yaml", "--out", "out", "--record", "full"],
    "report": ["report", "out"],
    "html": ["report", "out", "--html", "out/pages/view.html"],
    "export": ["export", "out", "--perfetto", "out/trace.perfetto", "--speedscope", "out/speed.json.gz"],
    "junit": ["validate", "out", "--engine", "python", "--junit", "out/laws.xml"],
    "replay": ["replay", "out", "--out", "again"],
    "checkpoints": ["checkpoints", "out"],
    "metrics": ["metrics", "out"],
    "trace": ["trace", "out"],
    "why": ["why", "out"],
    PNG: ["report", "out", "--no-laws", "--png", "out/report.png"],
}


def skip_without_browser(*names: str) -> None:
    if PNG in names:
        try:
            find_browser()
        except BadInput as missing:
            pytest.skip(str(missing))


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(SCENARIO)
    return tmp_path


PAIRS = [pair for pair in permutations(WRITERS, 2) if PNG not in pair or {"run", "report"} & {*pair}]


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run of the job."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "job.yaml").write_text(SCENARIO)
    with chdir(folder):
        assert CliRunner().invoke(app, WRITERS["run"]).exit_code == 0
    return folder / "out"


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pair_of_commands_works_twice_in_one_directory(
    pair: tuple[str, str], flowsim: Flowsim, job: Path, first_run: Path
) -> None:
    skip_without_browser(*pair)
    shutil.copytree(first_run, job / "out")
    for name in (*pair, *pair):
        called = flowsim(*WRITERS[name])
        assert called.code == 0, (name, called.err)


def test_run_removes_what_commands_wrote_and_nothing_else(flowsim: Flowsim, job: Path) -> None:
    for name in ("run", "report", "html", "export", "junit", "run"):
        assert flowsim(*WRITERS[name]).code == 0
    assert sorted(path.relative_to(job / "out").as_posix() for path in (job / "out").iterdir()) == [
        "recording",
        "run.json",
        "sinks",
    ]
    assert flowsim(*WRITERS["report"]).code == 0
    (job / "out/notes.txt").write_text("mine")
    called = flowsim(*WRITERS["run"])
    assert (called.code, "holds notes.txt, which no run of flowsim wrote" in called.err) == (2, True)
    assert (job / "out/report.html").exists()
    assert (job / "out/notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "path",
    [
        ".flowsim.lock",
        "run.json",
        "recording/manifest.json",
        "recording/new.html",
        "sinks/kept/part-0.csv",
        "sinks/kept/part-9.csv",
        "ck/chk-1/manifest.json",
        "new/.flowsim.lock",
    ],
)
@pytest.mark.parametrize(
    "option",
    [("report", "--html"), ("export", "--perfetto"), ("export", "--speedscope"), ("validate", "--junit")],
    ids=lambda option: option[1],
)
def test_file_of_the_run_is_not_replaced(flowsim: Flowsim, job: Path, option: tuple[str, str], path: str) -> None:
    checkpointing = "settings={checkpointing: {interval: 10 ms, directory: ck}}"
    assert flowsim(*WRITERS["run"], "--set", checkpointing).code == 0
    before = {file: file.read_bytes() for file in (job / "out").rglob("*") if file.is_file()}
    called = flowsim(option[0], "out", option[1], f"out/{path}")
    refusal = f"{option[1]}: out/{path}: only a run writes this file: give another one"
    assert (called.code, refusal in called.err) == (2, True), called.err
    assert {file: file.read_bytes() for file in (job / "out").rglob("*") if file.is_file()} == before


def test_listed_file_outside_the_directory_stays(flowsim: Flowsim, job: Path) -> None:
    assert flowsim(*WRITERS["run"]).code == 0
    (job / "precious.txt").write_text("mine")
    marker = job / "out/run.json"
    marker.write_text(marker.read_text().replace("{", '{"files": ["../precious.txt", "/etc/passwd"],', 1))
    assert flowsim(*WRITERS["run"]).code == 0
    assert (job / "precious.txt").read_text() == "mine"
