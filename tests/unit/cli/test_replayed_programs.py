"""``flowsim replay`` of a program for PyFlink."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flowsim.cli.exit_code import ExitCode

PROGRAM = """
import sys
from pyflink.datastream import StreamExecutionEnvironment

for name in sys.argv[1:]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1, 2]).union(env.from_collection([3])).map(lambda value: 6 // (value - int(name))).print()
    env.execute(name)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "division.py").write_text(PROGRAM)
    return tmp_path / "division.py"


@pytest.mark.parametrize(
    "options",
    [["--seed", "5", "--policy", "random"], ["--until", "1ns"], ["--record", "elements"], ["--token", "TOKEN"]],
)
def test_each_job_is_replayed(flowsim: Any, program: Path, options: list[str]) -> None:
    if "--token" in options:
        explore = ("explore", "division.py", "--allow-python", "--space", "order", "--json", "--", "0", "4")
        options = ["--token", flowsim(*explore).document["results"][-1]["token"]]
    assert flowsim("pyflink", *options, "division.py", "0", "4").code == 0
    for job in "12":
        again = flowsim("replay", f"out/division/{job}", "--allow-python")
        assert (again.code, again.out.startswith("the same: ")) == (0, True), again.err
        assert len(again.out.splitlines()) == 1
    manifests = [json.loads(Path(f"out/division/{job}/recording/manifest.json").read_text()) for job in "12"]
    assert [one["run"]["options"]["program"]["job"] for one in manifests] == [1, 2]
    assert "TOKEN" not in str(options) or "token" in manifests[0]["run"]["options"]["policy"]


def test_failed_job_is_replayed(flowsim: Any, program: Path) -> None:
    assert flowsim("pyflink", "division.py", "0", "1", "4").code == ExitCode.JOB_FAILED
    again = flowsim("replay", "out/division/2", "--allow-python")
    assert (again.code, again.out.startswith("the same: failed")) == (0, True), again.err


def test_program_is_found_in_its_folder(flowsim: Any, program: Path, tmp_path: Path) -> None:
    assert flowsim("pyflink", "division.py", "0").code == 0
    (tmp_path / "moved").mkdir()
    program.rename(tmp_path / "moved/division.py")
    missing = flowsim("replay", "out/division/1", "--allow-python")
    assert (missing.code, "division.py is not there: give its folder with --folder" in missing.err) == (2, True)
    assert flowsim("replay", "out/division/1", "--allow-python", "--folder", "moved").code == 0


def test_refused(flowsim: Any, program: Path) -> None:
    assert flowsim("pyflink", "division.py", "0").code == 0
    called = flowsim("replay", "out/division/1")
    assert (called.code, "use --allow-python if you trust it" in called.err) == (2, True)
    program.write_text(f"{PROGRAM}\n# changed")
    called = flowsim("replay", "out/division/1", "--allow-python")
    assert (called.code, "the program division.py has changed since" in called.err) == (2, True)


def test_other_runs_differ(flowsim: Any, program: Path) -> None:
    """What the program reads may change."""
    program.write_text(PROGRAM.replace("[1, 2]", "[1, int(open('two').read())]"))
    Path("two").write_text("2")
    assert flowsim("pyflink", "division.py", "0").code == 0
    Path("two").write_text("5")
    called = flowsim("replay", "out/division/1", "--allow-python")
    assert (called.code, "first different row" in called.out) == (ExitCode.BROKEN, True)
