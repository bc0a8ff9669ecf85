"""The worker of the corpus: limits of memory and time, and what is reported as a mistake."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.hostile.case import FAILED, REFUSED, Case, Make
from tests.hostile.inputs import run, scenario
from tests.hostile.test_corpus import mistakes
from tests.hostile.worker import Ended, fork

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs the limits of Linux")


def forked(make: Make, tmp_path: Path, limit: float = 2.0) -> Ended:
    folder = tmp_path / "folder"
    folder.mkdir()
    return fork(Case("case", make, REFUSED), folder, limit)


def calling(call: object) -> Make:
    return lambda folder: call  # type: ignore[return-value]


def test_case_beyond_memory_limit_ends_with_memory_error(tmp_path: Path) -> None:
    ended = forked(calling(lambda: bytearray(600 << 20)), tmp_path)
    assert ended.code == 70
    assert "MemoryError" in ended.output


def test_case_beyond_time_limit_is_killed_inside_long_call(tmp_path: Path) -> None:
    ended = forked(calling(lambda: time.sleep(60)), tmp_path, limit=0.2)
    assert (ended.code, ended.seconds >= 0.2) == (-9, True)


def test_time_to_make_input_does_not_count(tmp_path: Path) -> None:
    def make(folder: Path) -> tuple[str, ...]:
        time.sleep(0.3)
        return ("check", "missing.yaml")

    begin = time.monotonic()
    ended = forked(make, tmp_path)
    assert (ended.code, ended.seconds + 0.3 <= time.monotonic() - begin) == (2, True)


def test_run_without_error_is_a_mistake(tmp_path: Path) -> None:
    ended = forked(run(scenario()), tmp_path)
    case = Case("case", run(scenario()), REFUSED, "no such word")
    assert mistakes(case, ended, tmp_path / "folder" / "out") == [
        "exit code 0, expected 2",
        "the message does not contain 'no such word'",
        "wrote ['recording', 'run.json']",
    ]


@pytest.mark.parametrize(
    ("output", "mistake"),
    [
        ("Traceback", "the message contains 'Traceback'"),
        ("\x1b[31m", "the message contains the control character '\\x1b'"),
        ("\u202eabc", "the message contains the control character '\\u202e'"),
        ("x" * 20_001, "the message has 20001 characters, expected at most 20000"),
    ],
)
def test_message_with_forbidden_text_or_length_is_a_mistake(output: str, mistake: str, tmp_path: Path) -> None:
    case = Case("case", run(""), REFUSED)
    assert mistakes(case, Ended(REFUSED, output, 0.0, 0), tmp_path / "out") == [mistake]


def test_failed_job_without_recording_is_a_mistake(tmp_path: Path) -> None:
    (mistake,) = mistakes(Case("case", run(""), FAILED), Ended(FAILED, "", 0.0, 0), tmp_path / "out")
    assert mistake.startswith("the recording is damaged: ")
