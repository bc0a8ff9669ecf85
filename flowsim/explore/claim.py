"""Claims of a user about the results of a job: functions that get the rows of its sinks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from flowsim.cluster.job_status import JobStatus
from flowsim.errors import BadInput
from flowsim.explore.outcome import Outcome

Rows = dict[str, list[list[object]]]
"""The values of each sink and subtask, in the order in which they were written."""

_CLAIM: Final = "claim "

Broken = tuple[tuple[str, str], ...]
"""The names of the claims that do not hold, each with what its function says."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A function that gets the rows, and returns False or fails an assertion if they are wrong."""

    name: str
    holds: Callable[[Rows], object]

    @property
    def digest(self) -> str:
        """Of the file with the function: a claim that was changed is another one."""
        return sha256(Path(inspect.getfile(self.holds)).read_bytes()).hexdigest()[:16]

    def broken(self, rows: Rows) -> str | None:
        """Returns what the function says of wrong rows; None: the claim holds. Raises BadInput if it fails otherwise."""
        try:
            answer = self.holds(rows)
        except AssertionError as error:
            return str(error)
        except Exception as error:
            raise BadInput(f"--claim {self.name}: the function failed: {type(error).__name__}: {error}") from error
        return None if answer is None or answer else ""


class Claims:
    """Says which claims a result breaks; the functions are called once for each result. A job that failed has none."""

    def __init__(self, claims: Sequence[Claim] = ()) -> None:
        self._claims = claims
        self._known: dict[str, Broken] = {}

    def __len__(self) -> int:
        return len(self._claims)

    def broken(self, outcome: Outcome) -> Broken:
        """Returns the claims that do not hold. Raises BadInput if a function fails."""
        if not self._claims or outcome.status is not JobStatus.FINISHED:
            return ()
        found = self._known.get(outcome.digest)
        if found is None:
            texts = ((claim.name, claim.broken(outcome.rows)) for claim in self._claims)
            found = self._known[outcome.digest] = tuple((name, text) for name, text in texts if text is not None)
        return found


def broken_claim(name: str) -> str:
    """Returns the words for a claim that does not hold."""
    return f"{_CLAIM}{name} does not hold"


def is_broken_claim(what: str) -> bool:
    """Returns True if a finding is a claim that does not hold."""
    return what.startswith(_CLAIM)
