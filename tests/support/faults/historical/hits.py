"""How soon the runs of a strategy show a bug, and the smallest token of such a run."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import Final

from flowsim.errors import BadInput
from flowsim.explore.shrink import shortest
from flowsim.faults.historical.bug import Bug
from flowsim.sim.choice_token import ChoiceToken, Recounted
from flowsim.sim.sampled.by_strategy import replay
from tests.support.faults.historical.runs import ScheduledRun, compiled_job, run_job
from tests.support.faults.historical.strategies import Strategy

_REPLAYS: Final = 40
"""The most runs of shrinking a token."""

_TRIED: Final = 3
"""The seeds after which a strategy that has not shown a bug is given up."""


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
    """The number of seeds that were tried."""
    shown: int
    """The number of them that showed the bug."""
    runs: float | None = None
    cpu_s: float | None = None
    deviations: int | None = None
    """The choices of a shrunk token that differ from the default; None: the strategy has no tokens of choices."""
    token: str = ""


def first_hit(bug: Bug, strategy: Strategy, seed: int, runs: int, cpu_s: float = float("inf")) -> Hit | None:
    """Runs the job until its detector shows the bug; None if no run does, or not within the CPU time.

    A run whose schedule shows the same without the bug does not count.
    """
    begun, made, results = process_time(), 0, list[object]()
    drawn = strategy.runs(seed)
    run = next(drawn, None)
    while run is not None and made < runs and process_time() - begun <= cpu_s:
        made += 1
        seen = run_job(bug, run)
        if bug.detector in seen.signs and not _shows_without_bug(bug, run):
            return Hit(made, process_time() - begun, run)
        is_new = seen.result not in results
        if is_new:
            results.append(seen.result)
        try:
            run = drawn.send(is_new)
        except StopIteration:
            run = None
    return None


def _shows_without_bug(bug: Bug, run: ScheduledRun) -> bool:
    try:
        return bug.detector in run_job(bug, run.again(), with_bug=False).signs
    except BadInput:  # without the bug, the choices do not fit
        return False


def hunt(bug: Bug, strategy: Strategy, seeds: int, runs: int, cpu_s: float) -> Row:
    """Looks for the bug with each seed, in at most so many runs and so much CPU time for each of them.

    Ends when half of the seeds have not shown it, or none of the first three.
    """
    seeds = seeds if strategy.is_random else 1
    hits: list[Hit | None] = []
    while len(hits) < seeds and 2 * hits.count(None) < seeds and hits != [None] * _TRIED:
        hits.append(first_hit(bug, strategy, len(hits) + 1, runs, cpu_s))
        if strategy.begins_with_default and hits[0] is not None and hits[0].runs == 1:
            hits *= seeds
    found = [hit for hit in hits if hit is not None]
    if 2 * hits.count(None) >= seeds or not found:
        return Row(bug.ticket, strategy.name, len(hits), len(found))
    token = shrunk_token(bug, found[0].run) if strategy.has_short_tokens else None
    return Row(
        bug.ticket,
        strategy.name,
        seeds,
        len(found),
        median(hit.runs if hit else float("inf") for hit in hits),
        round(median(hit.cpu_s if hit else float("inf") for hit in hits), 3),
        None if token is None or token.sampled is not None else len(token.deviations),
        "" if token is None else str(token),
    )


def shrunk_token(bug: Bug, run: ScheduledRun) -> ChoiceToken | None:
    """Returns the token of a run that shows the bug, with few choices; None if the run has no such token."""
    if run.choices is None:
        return None

    def shows(token: ChoiceToken) -> bool:
        try:
            return bug.detector in run_job(bug, ScheduledRun(replay(token))).signs
        except BadInput:  # the choices do not fit
            return False

    def recounted(token: ChoiceToken) -> ChoiceToken:
        source = Recounted(token, "fair")
        run_job(bug, ScheduledRun(source))
        return source.token_of_choices(digest)

    digest = compiled_job(bug).scenario.digest()
    return shortest(run.choices.token_of_choices(digest), recounted, shows, _REPLAYS)
