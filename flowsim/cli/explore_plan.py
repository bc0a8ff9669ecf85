"""How ``flowsim explore`` explores a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from flowsim.errors import BadInput
from flowsim.explore.outcome import View
from flowsim.explore.plan import SPACES
from flowsim.sim.exploring_loop import Space


@dataclass(frozen=True, slots=True)
class ExplorePlan:
    """How a job is explored."""

    strategies: Mapping[Space, str]
    """The strategy of each space."""
    runs: int
    seconds: float
    view: View
    first_seed: int
    laws_every: int
    """The laws are checked on each run with a new result, and on each run with this number; 0: on new results only."""
    requires_one: bool
    """True if more than one result is a finding."""
    until_finding: bool
    """True if the first finding ends the exploration."""

    def part(self, of: int) -> ExplorePlan:
        """Returns the plan of one of several explorations that share the runs and the time."""
        return replace(self, runs=max(self.runs // of, 1), seconds=self.seconds / of)


def laws_every(text: str) -> int:
    """Returns the number of ``--laws``: 1, all runs; 0, only those with a new result. Raises BadInput."""
    if text in ("all", "new"):
        return 1 if text == "all" else 0
    if not text.isdecimal() or not 1 <= int(text) <= 10**9:
        raise BadInput(f"--laws: expected all, new or a number from 1, got {text[:40]!r}")
    return int(text)


def spaces_of(space: str | None, strategy: str | None) -> tuple[Space, ...]:
    """Returns the spaces to explore: that of ``--space``, or the one that a strategy has. Raises BadInput."""
    if space == "seeds":
        raise BadInput("--space seeds: random costs of work are a strategy now: use --space runtime --strategy costs")
    if space is not None:
        if space not in SPACES:
            raise BadInput(f"--space: expected {' or '.join(SPACES)}, got {space[:40]!r}")
        return tuple(each for each in SPACES if each == space)
    return ("order", "runtime") if strategy is None else ("runtime",)
