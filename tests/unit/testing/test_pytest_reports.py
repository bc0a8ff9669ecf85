"""The pytest option ``--flowsim-report``: from a red test to its cause, with no code written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

import flowsim
from flowsim.testing.pytest_reports import folder_name
from tests.support.user_pytest import run_pytest

HEAD = """
from unittest import TestCase

from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.datastream import StreamExecutionEnvironment
from flowsim.testing import Schedule, assert_laws, run_job, schedules


def job(count):
    env = StreamExecutionEnvironment.get_execution_environment()
    spread = env.from_collection(range(count)).rebalance().map(lambda number: number).set_parallelism(2)
    spread.map(lambda number: number).set_parallelism(1).name("collected")
    return env
"""
ORDER = """
@settings(database=None, deadline=None, max_examples=20, derandomize=True)
@given(count=st.integers(0, 10), schedule=schedules())
def test_order(count, schedule):
    run = assert_laws(job(count), schedule=schedule)
    run.claim("the records keep their order", expected=list(range(count)), found=run.values())
"""
OTHERS = """
def test_plain(flowsim_schedule):
    assert run_job(job(2), schedule=flowsim_schedule).values() == [0, 2]


def test_passes():
    assert sorted(run_job(job(2)).values()) == [0, 1]


def test_without_run():
    assert False


def test_error():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([0]).map(lambda number: 1 // number)
    assert_laws(env)


class TestOfUnittest(TestCase):
    def test_case(self):
        self.assertEqual(run_job(job(1)).values(), [])


@settings(database=None, deadline=None, max_examples=20, derandomize=True)
@given(count=st.integers(0, 10), schedule=schedules())
def test_group(count, schedule):
    run = run_job(job(count), schedule=schedule)
    assert count < 5
    run.claim("the records keep their order", expected=list(range(count)), found=run.values())


def test_two():
    first, other = run_job(job(2), schedule=Schedule(seed=1)), run_job(job(1))
    first.claim("first", False)
"""
COUNTS_REPORTS = """
import sys

written = []
sys.addaudithook(lambda event, args: written.append(args[0]) if event == "os.rename" else None)


def pytest_terminal_summary(terminalreporter):
    reports = [path for path in written if "report.html" in str(path)]
    terminalreporter.write_line(f"reports: {len(reports)}")
"""


def errors(output: str) -> list[str]:
    return [line.removeprefix("E").strip() for line in output.splitlines() if re.match(r"E\s", line)]


@pytest.mark.slow
def test_smallest_run_is_reported_once_and_its_cause_is_printed(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(COUNTS_REPORTS, encoding="utf-8")
    output = run_pytest(tmp_path, HEAD + ORDER, "--flowsim-report", "out").stdout
    lines = errors(output)
    assert lines[:3] == [
        "AssertionError: claim is false: the records keep their order",
        "expected: [0, 1]",
        "found:    [1, 0]",
    ]
    assert lines[3].startswith(
        "why order 0 1: Record 0 comes before record 1 at Source: Collection Source (1/1), and after"
    )
    assert lines[7] == "reproduce: @example(count=2, schedule=Schedule(policy='fifo', seed=1, budget_records=4096))"
    folder = tmp_path / "out" / folder_name("test_user.py::test_order")
    shown = re.fullmatch(r"report: (\S+) \(at the cause: #view=timeline&task=3&fact=3\.\d+&t=3000\)", lines[8])
    assert shown is not None, lines[8]
    assert tmp_path / shown[1] == folder / "report.html"
    assert [path.name for path in (tmp_path / "out").iterdir()] == [folder.name]
    assert "reports: 1" in output.splitlines()

    recording = flowsim.open_recording(folder)
    assert recording.manifest.run.seed == 1
    assert [row[2] for row in recording.static_rows("record_values")] == ["0", "1"]
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert f'"path":"out/{folder.name}","name":"{folder.name}"' in report
    assert f'"digest":"{recording.manifest.digest}"' in report


def folders_of(tests: Iterable[str], out: Path) -> dict[str, Path]:
    return {test: out / folder_name(f"test_user.py::{test}") for test in tests}


@pytest.mark.slow
def test_each_failing_test_has_its_files(tmp_path: Path) -> None:
    output = run_pytest(tmp_path, HEAD + OTHERS, "--flowsim-report", "out/x", "--flowsim-seeds", "1").stdout
    seeds = {
        "test_plain[fifo/0/4096]": 0,
        "test_plain[random/0/1]": 0,
        "test_error": 0,
        "TestOfUnittest::test_case": 0,
        "test_group": 1,
        "test_two": 1,
    }
    folders = folders_of(seeds, tmp_path / "out/x")
    assert sorted((tmp_path / "out/x").iterdir()) == sorted(folders.values()), output
    for folder in folders.values():
        assert re.search(rf"^[E|\s]+report: {(folder / 'report.html').relative_to(tmp_path)}", output, re.M)
    assert {test: flowsim.open_recording(folder).manifest.run.seed for test, folder in folders.items()} == seeds


@pytest.mark.slow
def test_workers_write_to_the_same_folder(tmp_path: Path) -> None:
    options = "--flowsim-report", "out", "--flowsim-seeds", "0", "-k", "plain or two", "-p", "xdist", "-n", "2"
    output = run_pytest(tmp_path, HEAD + OTHERS, *options).stdout
    folders = folders_of(["test_plain[fifo/0/4096]", "test_two"], tmp_path / "out")
    assert sorted((tmp_path / "out").iterdir()) == sorted(folders.values()), output
    for folder in folders.values():
        assert f"report: {(folder / 'report.html').relative_to(tmp_path)}" in "\n".join(errors(output))


def test_folder_that_cannot_be_written_is_no_other_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    refused = run_pytest(tmp_path, HEAD + OTHERS, "--flowsim-report", "file")
    assert "--flowsim-report: expected a folder, got 'file'" in refused.stderr
    blocked = tmp_path / "out" / folder_name("test_user.py::test_error")
    blocked.parent.mkdir()
    blocked.write_text("", encoding="utf-8")
    output = run_pytest(tmp_path, HEAD + OTHERS, "--flowsim-report", "out", "-k", "error").stdout
    assert "no report: " in "\n".join(errors(output))
    assert "JobFailed: job failed in task" in output


def test_names_of_folders_are_safe_and_differ() -> None:
    hostile = ["../x::y", "..", "a/b.py::c[x/../y z]", "a/b.py::c[x-..-y z]", "ü::é", "CON", "a" * 300, "b" + "a" * 300]
    names = [folder_name(one) for one in hostile]
    assert len(set(names)) == len(names)
    for name in names:
        assert re.fullmatch(r"[A-Za-z0-9_=-][A-Za-z0-9._=-]*", name), name
        assert len(name) < 100
        assert Path(name).name == name
