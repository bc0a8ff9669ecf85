"""``flowsim explore --jobs``, ``--resume`` and Ctrl-C: who makes the runs changes nothing in the table."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from flowsim.cli.exit_code import ExitCode
from flowsim.explore import plan
from tests.unit.cli.test_explored_results import PAIRS, UNION

LONG = ("--seconds", "600")


@pytest.fixture
def union(tmp_path: Path) -> str:
    (tmp_path / "union.yaml").write_text(UNION)
    return "union.yaml"


def test_several_processes_have_the_table_of_one(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "pairs.yaml").write_text(PAIRS)
    arguments = ("explore", "pairs.yaml", "--runs", "70", "--json", *LONG)
    one, two = flowsim(*arguments), flowsim(*arguments, "--jobs", "2")
    assert one.document["findings"]
    assert (one.code, one.document) == (two.code, two.document)


def test_search_in_subtrees_is_the_same_in_two_processes_and_continues(
    flowsim: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search is split after 5 runs, and a group of subtrees has 5 in a round; the channels have 3 and 4 elements."""
    monkeypatch.setattr(plan, "_TURNS_OF_ONE_SEARCH", 1)
    monkeypatch.setattr(plan, "_LARGEST", 10)
    (tmp_path / "union.yaml").write_text(UNION.replace("[[3]]", "[[3], [4], [5]]").replace("all: 3", "all: 5"))
    arguments = ("explore", "union.yaml", "--space", "order", "--runs", "200", "--json", *LONG)
    whole = flowsim(*arguments)
    assert (whole.document["spaces"]["order"]["proven"], whole.document["spaces"]["order"]["searched"]) == (True, 35)
    assert flowsim(*arguments, "--jobs", "2").document == whole.document
    part = flowsim("explore", "union.yaml", "--space", "order", "--runs", "45", "--resume", "kept", *LONG)
    assert (part.code, '"group":2' in Path("kept").read_text()) == (0, True)
    assert flowsim(*arguments, "--resume", "kept").document == whole.document
    assert flowsim(*arguments, "--resume", "kept", "--jobs", "2").document == whole.document


def test_exploration_that_continues_has_the_table_of_one_that_was_not_interrupted(flowsim: Any, union: str) -> None:
    arguments = ("explore", union, "--json", *LONG)
    whole = flowsim(*arguments, "--runs", "90").document
    assert flowsim(*arguments, "--runs", "40", "--resume", "kept").document["runs"] < whole["runs"]
    lines = len(Path("kept").read_text().splitlines())
    continued = flowsim(*arguments, "--runs", "90", "--resume", "kept").document
    assert continued == whole
    assert len(Path("kept").read_text().splitlines()) > lines
    again = flowsim(*arguments, "--runs", "90", "--resume", "kept", "--jobs", "2").document
    assert again == whole


def test_line_that_was_not_written_to_its_end_is_made_again(flowsim: Any, union: str) -> None:
    arguments = ("explore", union, "--json", "--runs", "40", *LONG, "--resume", "kept")
    whole = flowsim(*arguments).document
    kept = Path("kept").read_bytes()
    Path("kept").write_bytes(kept[:-40])
    assert flowsim(*arguments).document == whole
    assert Path("kept").read_bytes() == kept


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--first-seed", "7"), "it has another exploration: first_seed was 1, and is now 7"),
        (("--set", "settings.seed=3"), "it has another exploration: job was "),
        (("--space", "order"), "it has another exploration: strategies was "),
    ],
)
def test_file_of_another_exploration_is_refused(
    flowsim: Any, union: str, arguments: tuple[str, ...], message: str
) -> None:
    assert flowsim("explore", union, "--runs", "2", "--resume", "kept").code == 0
    refused = flowsim("explore", union, "--runs", "2", "--resume", "kept", *arguments)
    assert (refused.code, message in refused.err) == (ExitCode.BAD_INPUT, True), refused.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--spark", "--jobs", "2"), "--jobs and --spark cannot be combined"),
        (("--master", "spark://127.0.0.1:1"), "--master: applies to --spark only"),
    ],
)
def test_options_that_exclude_each_other_are_refused(
    flowsim: Any, union: str, arguments: tuple[str, ...], message: str
) -> None:
    called = flowsim("explore", union, *arguments)
    assert (called.code, message in called.err) == (ExitCode.BAD_INPUT, True), called.err


def test_file_without_an_exploration_is_refused_and_kept(flowsim: Any, union: str) -> None:
    text = Path(union).read_text()
    refused = flowsim("explore", union, "--runs", "2", "--resume", union)
    assert (refused.code, "has no exploration, and is not replaced" in refused.err) == (ExitCode.BAD_INPUT, True)
    assert Path(union).read_text() == text


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_leaves_the_table_and_the_exploration_continues(flowsim: Any, union: str, jobs: str) -> None:
    command = [sys.executable, "-m", "flowsim", "explore", union, "--space", "runtime", "--runs", "100000", *LONG]
    command += ["--jobs", jobs, "--resume", "kept", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        while not (Path("kept").exists() and len(Path("kept").read_text().splitlines()) > 3):
            assert run.poll() is None, run.stderr and run.stderr.read()
            time.sleep(0.05)
        os.killpg(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=120)
    assert run.returncode == ExitCode.INTERRUPTED, err
    document = json.loads(out)
    assert (document["interrupted"], document["runs"] > 20, len(document["results"]) > 1) == (True, True, True)
    kept = Path("kept").read_text().splitlines()
    again = flowsim("explore", union, "--space", "runtime", "--runs", "40", "--resume", "kept", "--json", *LONG)
    assert (again.code, again.document["runs"]) == (0, 40)
    assert Path("kept").read_text().splitlines()[:3] == kept[:3]
    assert not [line for line in kept if '"is_interrupted":true' in line]
