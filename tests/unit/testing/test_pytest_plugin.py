"""The pytest plugin, loaded by a user's pytest in a process and folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.user_pytest import run_pytest

TEST = """
def test_it(flowsim_schedule):
    assert flowsim_schedule.seed < 2, flowsim_schedule.token


def test_other():
    pass
"""


NONE: tuple[str, ...] = ()
TWO = ("--flowsim-schedule", "random/1/8", "--flowsim-schedule", "fifo/9/1")


@pytest.mark.parametrize(
    ("arguments", "passed", "failed"),
    [(NONE, 4, 2), (("--flowsim-seeds", "1"), 3, 0), (TWO, 2, 1)],
    ids=["default", "seeds", "schedules"],
)
def test_with_fixture_runs_once_per_schedule(
    tmp_path: Path, arguments: tuple[str, ...], passed: int, failed: int
) -> None:
    run = run_pytest(tmp_path, TEST, *arguments)
    summary = run.stdout.splitlines()[-1]
    assert f"{passed} passed" in summary, run.stdout + run.stderr
    assert (f"{failed} failed" in summary) == (failed > 0), run.stdout


def test_failing_schedule_is_in_test_id(tmp_path: Path) -> None:
    assert "FAILED test_user.py::test_it[random/2/1]" in run_pytest(tmp_path, TEST).stdout


def test_invalid_schedule_option_is_refused(tmp_path: Path) -> None:
    run = run_pytest(tmp_path, TEST, "--flowsim-schedule", "random/x")
    assert (
        "--flowsim-schedule: expected a schedule such as random/7/1 (policy/seed/budget), got 'random/x'" in run.stdout
    )
    assert run.returncode != 0


def test_steps_option_bounds_the_runs_of_all_tests(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "from flowsim.testing.bounds import default_bounds\n\n"
        "def pytest_report_header():\n    return f'bounds: {default_bounds()}'\n"
    )
    for option, steps in (("7", "steps=7,"), ("0", "steps=None,")):
        assert steps in run_pytest(tmp_path, TEST, "-v", "-k", "other", "--flowsim-steps", option).stdout
    assert "--flowsim-steps: bounds of a run" in run_pytest(tmp_path, TEST, "--flowsim-steps", "-1").stderr
