"""A named pipe in place of a file: every command refuses it, and none waits for its writer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flowsim.connectors.files.input_file import InputFile
from flowsim.named_pipe import file_bytes

if not hasattr(os, "mkfifo"):
    pytest.skip("the system has no named pipes", allow_module_level=True)

SCENARIO = """\
flowsim: 1
name: piped
sources:
  numbers: {{{source}}}
sinks:
  out: {{input: numbers, collect: {{}}}}
"""
COLLECTION = "collection: {fields: {n: long}, rows: [[1]]}"


def flowsim(folder: Path, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flowsim", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False, input=stdin)


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "pipe"),
        ("run", "pipe", "--out", "out"),
        ("graph", "pipe"),
        ("explore", "pipe"),
        ("study", "pipe", "--vary", "settings.seed=1,2"),
        ("learn", "1", "--answers", "pipe"),
    ],
)
def test_scenario_or_answers_in_a_named_pipe_are_refused(arguments: tuple[str, ...], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = flowsim(tmp_path, *arguments)
    assert (done.returncode, "pipe: cannot be read: it is a named pipe: expected a file" in done.stderr) == (2, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "source",
    ["csv: {path: pipe, columns: {n: long}}", "jsonl: {path: pipe, fields: {n: long}}", "parquet: {path: pipe}"],
)
def test_data_in_a_named_pipe_is_refused(source: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "piped.yaml").write_text(SCENARIO.format(source=source))
    done = flowsim(tmp_path, "run", "piped.yaml", "--out", "out")
    assert (done.returncode, "'pipe' is not a regular file" in done.stderr) == (2, True)


def test_law_in_a_named_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "law.sql")
    (tmp_path / "fine.yaml").write_text(SCENARIO.format(source=COLLECTION))
    assert flowsim(tmp_path, "run", "fine.yaml", "--out", "out").returncode == 0
    done = flowsim(tmp_path, "validate", "out", "--law", "law.sql", "--allow-sql")
    assert (done.returncode, "it is a named pipe" in done.stderr) == (2, True)


def test_named_pipe_in_a_directory_for_a_run_is_a_foreign_file(tmp_path: Path) -> None:
    (tmp_path / "fine.yaml").write_text(SCENARIO.format(source=COLLECTION))
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out" / "run.json")
    done = flowsim(tmp_path, "run", "fine.yaml", "--out", "out")
    assert (done.returncode, "run.json" in done.stderr) == (2, True)


def test_pipe_of_a_shell_is_read_to_its_end(tmp_path: Path) -> None:
    done = flowsim(tmp_path, "check", "/dev/stdin", stdin=SCENARIO.format(source=COLLECTION))
    assert (done.returncode, "valid" in done.stdout) == (0, True)


def test_file_interfaces_refuse_a_named_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="named pipe"):
        file_bytes(tmp_path / "pipe")
    with pytest.raises(OSError, match="named pipe"):
        InputFile(tmp_path / "pipe").open()
