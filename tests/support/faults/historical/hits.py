"""How soon the runs of a strategy show a bug, and the smallest token of such a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median
from time import process_time
from typing import Final

from flowsim.errors import BadInput
from flowsim.explore.shrink import shrunk
from flowsim.faults.historical.bug import Bug
from flowsim.sim.choice_token import ChoiceToken, Replayed
from tests.support.faults.historical.runs import ScheduledRun, compiled_job, signs
from tests.support.faults.historical.strategies import STRATEGIES, Strategy, explored, strategies_of

_REPLAYS: Final = 60
"""The most runs of shrinking a token."""


@dataclass(frozen=True)
class Hit:
    """The runs until one showed the bug, their CPU time, and that run."""

    runs: int
    cpu_s: float
    run: ScheduledRun


@dataclass(frozen=True)
class Row:
    """A bug under a strategy: medians over the seeds, None where at least half of them did not show it."""

    ticket: str
    strategy: str
    seeds: int
    shown: int
    """The number of seeds that showed the bug."""
    runs: float | None = None
    cpu_s: float | None = None
    deviations: int | None = None
    """The choices of a shrunk token that differ from the default; None: the strategy has no tokens of choices."""
    token: str = ""


def first_hit(bug: Bug, runs: Iterable[ScheduledRun], cpu_s: float = float("inf")) -> Hit | None:
    """Runs the job until its detector shows the bug; None if no run does, or not within the CPU time."""
    begun = process_time()
    for number, run in enumerate(runs, 1):
        if bug.detector in signs(bug, run):
            return Hit(number, process_time() - begun, run)
        if process_time() - begun > cpu_s:
            break
    return None


def hunt(bug: Bug, strategy: Strategy, seeds: int, runs: int, cpu_s: float) -> Row:
    """Looks for the bug with each seed, in at most so many runs and so much CPU time for each of them."""
    tried = seeds if strategy.is_random else 1
    hits = [first_hit(bug, islice(strategy.runs(seed), runs), cpu_s) for seed in range(1, tried + 1)]
    found = [hit for hit in hits if hit is not None]
    row = Row(bug.ticket, strategy.name, tried, len(found))
    if 2 * len(found) <= tried:
        return row
    token = shrunk_token(bug, found[0].run)
    return Row(
        bug.ticket,
        strategy.name,
        tried,
        len(found),
        median(hit.runs if hit else float("inf") for hit in hits),
        round(median(hit.cpu_s if hit else float("inf") for hit in hits), 3),
        None if token is None else len(token.deviations),
        "" if token is None else str(token),
    )


def shrunk_token(bug: Bug, run: ScheduledRun) -> ChoiceToken | None:
    """Returns the token of a run that shows the bug, with few choices; None if the run has no such token."""
    if run.choices is None:
        return None

    def shows(token: ChoiceToken) -> bool:
        try:
            return bug.detector in signs(bug, explored(Replayed(token)))
        except BadInput:  # the choices do not fit
            return False

    return shrunk(run.choices.token(compiled_job(bug).scenario.digest()), shows, _REPLAYS)


def rows(bugs: Sequence[Bug], names: Sequence[str], seeds: int, runs: int, cpu_s: float) -> Iterator[Row]:
    """Yields the rows of the bugs under those of the strategies that their spaces have."""
    for bug in bugs:
        for strategy in strategies_of(bug):
            if strategy.name in (names or STRATEGIES):
                yield hunt(bug, strategy, seeds, runs, cpu_s)
