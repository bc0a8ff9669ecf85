"""What a run of a program gave, as an answer; the child processes; the errors of PyFlink."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from flowsim.conform.comparison import Agreement, compared
from flowsim.conform.programs.child import ran
from flowsim.conform.programs.compared_program import answer_of
from flowsim.conform.programs.on_pyflink import below
from flowsim.conform.programs.outcome import MARK, Outcome, cause_of, python_error, value_text, without_module
from flowsim.conform.seen import Answer
from flowsim.connectors.file_system.folders import output_folder, output_path
from flowsim.errors import BadInput
from tests.support.signals import is_running


def outcome(*prints: str) -> Outcome:
    made = Outcome()
    made.prints = list(prints)
    return made


def values(answer: Answer) -> dict[str, list[str]]:
    return {place: [element.value for element in elements] for place, elements in answer.seen.items()}


def test_printed_lines_are_those_of_the_program_and_of_each_sink_by_subtask(tmp_path: Path) -> None:
    printed = f"starts\n{MARK}1:2> a\n{MARK}2> 3> x\n{MARK}1:1> b\n2> of the program\n{MARK}1:2> c\n"
    assert values(answer_of(outcome("", "late"), printed, tmp_path)) == {
        "lines of the program/0": ["starts", "2> of the program"],
        "print 1/2": ["a", "c"],
        "print 1/1": ["b"],
        "print 2 late/0": ["3> x"],
    }


def test_lines_of_finished_files_are_sorted_and_dates_are_no_folders(tmp_path: Path) -> None:
    for name, text in (
        ("out/1970-01-01--00/part-0-0", "b\na\n"),
        ("out/1970-01-01--01/part-0-1", "c\n"),
        ("out/.part-0-2.inprogress", "d\n"),
        ("other/part-0-0", "e\n"),
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert values(answer_of(outcome(), "", tmp_path)) == {"files other/0": ["e"], "files out/0": ["a", "b", "c"]}


def test_order_between_subtasks_does_not_count_and_lost_line_differs(tmp_path: Path) -> None:
    def answer(*lines: str) -> Answer:
        return answer_of(outcome(""), "".join(f"{MARK}1:{line}\n" for line in lines), tmp_path)

    one, other = answer("1> a", "2> b"), answer("2> b", "1> a")
    assert compared([one], [other]).worst is Agreement.EXACT
    assert not compared([one], [answer("1> a")]).agrees
    assert not compared([one], [answer("1> a", "1> b")]).agrees


def test_statuses_of_exits_and_errors(tmp_path: Path) -> None:
    ends = []
    for code in (None, 0, 3, "a message"):
        ended = outcome()
        ended.exits(code)
        ends.append(answer_of(ended, "", tmp_path).status)
    failed = outcome()
    failed.fails("ValueError: no")
    assert ends == ["finished", "finished", "exit status 3", "exit status 1"]
    assert (answer_of(failed, "", tmp_path).status, answer_of(failed, "", tmp_path).cause) == (
        "failed",
        "ValueError: no",
    )


def test_error_of_a_python_function_is_found_in_the_text_of_java() -> None:
    text = """java.lang.RuntimeException: Error received from SDK harness for instruction 1: Traceback (most recent call last):
  File "sdk_worker.py", line 311, in _execute
    response = task()
               ^^^^^^
  File "job.py", line 15, in function
    raise own.errors.Problem("first\\n  second")
own.errors.Problem: first
  second
"""
    assert python_error(text) == "Problem: first\n  second"
    assert python_error("java.lang.RuntimeException: no") is None
    assert without_module("java.lang.IllegalStateException: a.b: c") == "IllegalStateException: a.b: c"
    assert without_module("KeyError") == "KeyError"


class Throwable:
    def __init__(self, text: str, cause: Throwable | None = None) -> None:
        self.toString = lambda: text
        self.getCause = lambda: cause


def test_cause_of_a_failed_job_is_the_innermost_one_of_java() -> None:
    error = RuntimeError("An error occurred while calling o0.execute")
    assert cause_of(error) == "RuntimeError: An error occurred while calling o0.execute"
    error.java_exception = Throwable("a.JobFailed: x", Throwable("java.lang.RuntimeException: y"))  # type: ignore[attr-defined]
    assert cause_of(error) == "RuntimeException: y"
    of_function = 'RuntimeException: Traceback:\n  File "job.py", line 1, in f\n    f()\nValueError: z'
    error.java_exception = Throwable("a.JobFailed: x", Throwable(of_function))  # type: ignore[attr-defined]
    assert cause_of(error) == "ValueError: z"


def test_value_has_no_address() -> None:
    assert value_text([object(), 1]) == "[<object object>, 1]"


@pytest.mark.parametrize("path", ["out", "/tmp/out", "file:///tmp/out", "s3://bucket/out", "../out", "S3://b/o"])
def test_sink_writes_to_the_same_folder_on_both_sides(path: str, tmp_path: Path) -> None:
    with output_folder(tmp_path):
        assert below(tmp_path, path) == str(output_path(path, "FileSink"))


def test_late_child_is_ended_with_its_children(tmp_path: Path) -> None:
    code = "import subprocess, time; print(subprocess.Popen(['sleep', '60']).pid, flush=True); time.sleep(60)"
    with pytest.raises(BadInput, match=r"^it: has not ended after 2 s: only programs that end"):
        ran([sys.executable, "-c", code], os.environ, tmp_path, 2, "it")
    child = int((tmp_path / "out").read_text())
    assert not is_running(child)


def test_failed_child_shows_its_last_lines(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"(?s)^it: ended with exit status 1\n.*ValueError: no$"):
        ran([sys.executable, "-c", "raise ValueError('no')"], os.environ, tmp_path, 60, "it")
