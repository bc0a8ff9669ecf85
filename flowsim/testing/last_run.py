"""The last run of a test, kept for the pytest option ``--flowsim-report``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flowsim.testing.failures import FailedRun


@dataclass(slots=True)
class LastRun:
    """Refers to the run that ``run_job`` made last, if ``is_kept``: its facts may be large."""

    is_kept: bool = False
    run: FailedRun | None = None

    def see(self, run: FailedRun) -> None:
        """Called for each run."""
        if self.is_kept:
            self.run = run


LAST_RUN: Final = LastRun()
"""Of this process: a process runs one test at a time."""
