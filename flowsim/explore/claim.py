"""Claims of a user about the results of a job: functions that get the rows of its sinks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flowsim.cluster.job_status import JobStatus
from flowsim.errors import BadInput
from flowsim.explore.outcome import Outcome

Rows = dict[str, list[list[object]]]
"""The values of each sink and subtask, in the order in which they were written."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A function that gets the rows, and returns False or fails an assertion if they are wrong."""

    name: str
    holds: Callable[[Rows], object]

    def broken(self, outcome: Outcome) -> str | None:
        """Returns what the function says of a wrong result; None: the claim holds, or the job did not finish.

        Raises BadInput if the function fails in another way.
        """
        if outcome.status is not JobStatus.FINISHED:
            return None
        try:
            answer = self.holds(outcome.rows)
        except AssertionError as error:
            return str(error)
        except Exception as error:
            raise BadInput(f"--claim {self.name}: the function failed: {type(error).__name__}: {error}") from error
        return "" if answer is False else None
