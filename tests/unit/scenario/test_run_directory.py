"""The directory of a run: earlier runs are replaced, foreign files are kept."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.writer import RecordingWriter
from flowsim.scenario.run_directory import RunDirectory


def earlier_run(out: Path) -> RunDirectory:
    """What a run leaves: a recording and two sinks, one of them cut short."""
    directory = RunDirectory(out)
    directory.begin("a job", [out.resolve() / "sinks/a", out.resolve() / "deep/er/b"])
    RecordingWriter(directory.recording, Level.FULL, RunDescription()).finish(RunStatus.COMPLETE)
    for part in ("sinks/a/part-0.parquet", "sinks/a/part-1.parquet", "deep/er/b/.part-0.csv.inprogress"):
        path = out / part
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"rows")
    directory.end()
    return directory


def tree(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_earlier_run_is_removed_completely(tmp_path: Path) -> None:
    directory = earlier_run(tmp_path / "o")
    directory.begin("another job", [])
    assert tree(tmp_path / "o") == [".flowsim.lock", "run.json"]
    directory.end()
    assert tree(tmp_path / "o") == ["run.json"]
    assert json.loads((tmp_path / "o/run.json").read_text()) == {
        "flowsim_run": 1,
        "scenario": "another job",
        "sinks": [],
    }


def test_new_and_empty_directories_are_used(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("deep/new", "empty"):
        directory = RunDirectory(tmp_path / name)
        directory.begin("a job", [])
        directory.end()
    assert tree(tmp_path) == ["deep", "deep/new", "deep/new/run.json", "empty", "empty/run.json"]


@pytest.mark.parametrize(
    "foreign",
    ["notes.txt", "sinks/notes.txt", "sinks/a/notes.txt", "sinks/c/part-0.parquet", "recording/notes.txt", "deep/x/y"],
)
def test_foreign_file_is_refused_and_directory_unchanged(tmp_path: Path, foreign: str) -> None:
    directory = earlier_run(tmp_path)
    (tmp_path / foreign).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / foreign).write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(BadInput, match="choose another directory"):
        directory.begin("another job", [])
    assert tree(tmp_path) == before


@pytest.mark.parametrize("link", ["link", "sinks/a/part-7.parquet", "recording"])
def test_symbolic_links_are_foreign(tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    RecordingWriter(elsewhere, Level.FULL, RunDescription()).finish(RunStatus.COMPLETE)
    out = tmp_path / "o"
    directory = RunDirectory(out)
    directory.begin("a job", [out.resolve() / "sinks/a"])
    directory.end()
    (out / link).parent.mkdir(parents=True, exist_ok=True)
    (out / link).symlink_to(elsewhere)
    before = tree(tmp_path)
    with pytest.raises(BadInput, match="which no run of flowsim wrote"):
        directory.begin("another job", [])
    assert tree(tmp_path) == before


@pytest.mark.parametrize("content", ["", "{}", '{"flowsim_run": 2, "sinks": []}', "[1]", '{"flowsim_run": 1}'])
def test_directory_with_invalid_run_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(BadInput, match="is not empty and not the output of an earlier run"):
        RunDirectory(tmp_path).begin("a job", [])
    assert (tmp_path / "run.json").read_text() == content


def test_run_file_cannot_name_folders_outside(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    out = tmp_path / "o"
    out.mkdir()
    (out / "run.json").write_text('{"flowsim_run": 1, "sinks": ["../empty"]}')
    RunDirectory(out).begin("a job", [])
    assert (tmp_path / "empty").is_dir()


def test_interrupted_start_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / ".run.json.tmp").write_text("{")
    directory = RunDirectory(tmp_path)
    directory.begin("a job", [])
    directory.end()
    assert tree(tmp_path) == ["run.json"]


def test_second_run_is_refused_while_first_is_writing(tmp_path: Path) -> None:
    first = RunDirectory(tmp_path / "o")
    first.begin("a job", [])
    writer = RecordingWriter(first.recording, Level.FULL, RunDescription())
    before = tree(tmp_path)
    with pytest.raises(BadInput, match=rf"another run \(process {os.getpid()} on .*\) is writing there"):
        RunDirectory(tmp_path / "o").begin("another job", [])
    with pytest.raises(BadInput, match="is writing there"):
        RecordingWriter(first.recording, Level.FULL, RunDescription())
    assert tree(tmp_path) == before
    writer.finish(RunStatus.COMPLETE)
    first.end()
    RunDirectory(tmp_path / "o").begin("another job", [])


def test_lock_of_ended_process_is_ignored(tmp_path: Path) -> None:
    directory = earlier_run(tmp_path / "o")
    (tmp_path / "o" / ".flowsim.lock").write_text('{"pid": 1, "host": "elsewhere"}')
    (tmp_path / "o" / "recording" / ".flowsim.lock").write_text("")
    directory.begin("another job", [])
    assert tree(tmp_path / "o") == [".flowsim.lock", "run.json"]


def test_file_as_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "o").write_text("mine")
    with pytest.raises(BadInput, match="is a file; give a directory with --out"):
        RunDirectory(tmp_path / "o").begin("a job", [])
