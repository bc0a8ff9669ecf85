"""The pytest option ``--flowsim-report DIR``: the recording and the report of the failing run of each test."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest

from flowsim.errors import BadInput
from flowsim.report.inline import report_of
from flowsim.testing.failures import Failure
from flowsim.testing.last_run import LAST_RUN

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._=]+")
_MOST_CHARACTERS: Final = 80


class ReportsOfFailures:
    """Writes when a test has failed, so with Hypothesis once, for the smallest failing run, which ran last."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        LAST_RUN.is_kept = True

    def pytest_runtest_logstart(self) -> None:
        LAST_RUN.run = None

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Runs after the plugin for unittest has stored the error in ``call``, and before pytest formats it."""
        if call.excinfo is None or isinstance(call.excinfo.value, pytest.skip.Exception | pytest.xfail.Exception):
            return
        error = call.excinfo.value
        failure = failure_of(error)
        run = LAST_RUN.run if failure is None else failure.run
        if run is None:
            return
        folder = self._directory / folder_name(item.nodeid)
        shown = os.path.relpath(folder, item.config.invocation_params.dir)
        try:
            report_of(run.save(folder), shown).write(folder / "report.html")
        except BadInput as refused:
            error.add_note(f"no report: {refused}")
            return
        report = os.path.join(shown, "report.html")
        if failure is None:
            error.add_note(f"report: {report}")
        else:
            failure.report = report


def failure_of(error: BaseException) -> Failure | None:
    """The failed assertion about a run; in a group of errors the last one, whose example is the smallest."""
    if isinstance(error, BaseExceptionGroup):
        return next((found for one in reversed(error.exceptions) if (found := failure_of(one))), None)
    return next((part for part in error.args if isinstance(part, Failure)), None)


def folder_name(node_id: str) -> str:
    """A name for the files of a test: readable, without separators, and of no other test.

    >>> folder_name("tests/test_a.py::test_b[x/y]")
    'tests-test_a.py-test_b-x-y-f85c6ad3'
    """
    readable = _UNSAFE.sub("-", node_id).strip(".-")[-_MOST_CHARACTERS:].lstrip(".-")
    return f"{readable}-{sha256(node_id.encode()).hexdigest()[:8]}"
