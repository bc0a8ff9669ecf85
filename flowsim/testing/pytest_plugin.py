"""The pytest plugin of flowsim: schedules, bounds and reports of runs inside tests.

A test that takes ``flowsim_schedule`` runs once per schedule.
Every pytest run loads the plugin if flowsim is installed, so it imports other modules only when a test needs them.
"""

from __future__ import annotations

import sys

import pytest

_FIXTURE = "flowsim_schedule"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("flowsim")
    group.addoption(
        "--flowsim-seeds",
        type=int,
        default=4,
        metavar="N",
        help=f"how many random schedules a test with the fixture {_FIXTURE} runs under, in addition to the default schedule (4)",
    )
    group.addoption(
        "--flowsim-schedule",
        action="append",
        metavar="POLICY/SEED/BUDGET",
        help="run such tests only under this schedule, copied from an error message, for example random/7/1; repeatable",
    )
    group.addoption(
        "--flowsim-steps",
        type=int,
        default=None,
        metavar="N",
        help="after how many steps run_job ends a run whose test sets no bounds (200000); 0: no bound",
    )
    group.addoption(
        "--flowsim-report",
        default=None,
        metavar="DIR",
        help="write the recording and the report of the failing run of each test to a folder below DIR; with Hypothesis "
        "of the smallest one",
    )


def pytest_configure(config: pytest.Config) -> None:
    _set_bounds(config.getoption("--flowsim-steps"))
    _write_reports(config, config.getoption("--flowsim-report"))


def _set_bounds(steps: int | None) -> None:
    if steps is None:
        return
    from dataclasses import replace

    from flowsim.errors import BadInput
    from flowsim.testing.bounds import DEFAULT_BOUNDS, set_default_bounds

    try:
        set_default_bounds(replace(DEFAULT_BOUNDS, steps=steps or None))
    except BadInput as error:
        raise pytest.UsageError(f"--flowsim-steps: {error}") from None


def _write_reports(config: pytest.Config, directory: str | None) -> None:
    if directory is None:
        return
    from flowsim.testing.pytest_reports import ReportsOfFailures

    folder = config.invocation_params.dir / directory
    if not directory or (folder.exists() and not folder.is_dir()):
        raise pytest.UsageError(f"--flowsim-report: expected a folder, got {directory!r}")
    config.pluginmanager.register(ReportsOfFailures(folder), "flowsim-reports")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    if "hypothesis" in sys.modules:
        from flowsim.testing.explained_lines import leave_flowsim_out

        leave_flowsim_out()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if _FIXTURE not in metafunc.fixturenames:
        return
    from flowsim.errors import BadInput
    from flowsim.testing.schedule import Schedule, some_schedules

    tokens = metafunc.config.getoption("--flowsim-schedule")
    try:
        chosen = [Schedule.of(token) for token in tokens or ()]
    except BadInput as error:
        raise pytest.UsageError(f"--flowsim-schedule: {error}") from None
    schedules = chosen or list(some_schedules(metafunc.config.getoption("--flowsim-seeds")))
    metafunc.parametrize(_FIXTURE, schedules, ids=[schedule.token for schedule in schedules])
