"""A unit of work of an exploration: some runs, which a process makes in a row and which depend on nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from flowsim.explore.claim import Claims, broken_claim
from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.outcome import Outcome, View
from flowsim.explore.product_search import PartsState, ProductSearch
from flowsim.explore.strategies.by_name import strategy_of
from flowsim.explore.strategies.delay import DelayBounded
from flowsim.explore.subtrees import Subtrees
from flowsim.laws.law import Outcome as LawOutcome
from flowsim.sim.choice_token import ChoiceToken, Recorded
from flowsim.sim.exploring_loop import Space

DEFAULT: Final = "default"
"""In place of a strategy: the run that makes the default choices."""

SEARCH: Final = "search"
"""In place of a strategy: the next runs of the exhaustive search."""


Chain = tuple[Space, str, int]
"""Units of a space, a strategy and a group, each of which begins where the one before it ended."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Runs of one strategy; those with random choices have the seeds from ``first_seed`` on."""

    space: Space
    strategy: str
    first_seed: int
    runs: int
    number: int
    """How many runs of the space are planned before these."""
    choices: int = 0
    """How many choices the default run had."""
    decided: int = 0
    """How many steps the default run had; 0: it did not end."""
    group: int = 0
    """Which of the groups of subtrees it searches, from 1; 0: the search is not split."""

    @property
    def chain(self) -> Chain:
        """What has its state, if the unit continues."""
        return self.space, self.strategy, self.group

    @property
    def is_sample(self) -> bool:
        """True if the choices are random."""
        return self.strategy not in (DEFAULT, SEARCH)

    @property
    def continues(self) -> bool:
        """True if the unit begins where the one before it, of the same chain, ended, or with a state that the plan deals."""
        return self.strategy == SEARCH or is_whole(self.strategy)


def is_whole(strategy: str) -> bool:
    """True if the strategy has an end, so that its units are parts of one search."""
    return strategy.startswith("delay")


@dataclass(slots=True)
class UnitFound:
    """A result of a unit, with its first number among the runs, and the run with the fewest choices of its own."""

    outcome: Outcome
    token: str
    first: int
    runs: int = 0


@dataclass(slots=True)
class UnitFinding:
    """What checked runs of a unit violated: the one with the fewest choices of its own, and their number."""

    token: str
    runs: int = 0


@dataclass(slots=True)
class LawCount:
    """How many checked runs have which verdict, and how many rows the law examined."""

    verdicts: dict[str, int] = field(default_factory=dict)
    rows: int = 0

    def add(self, other: LawCount) -> None:
        """Adds the counts of other runs."""
        self.rows += other.rows
        for verdict, runs in other.verdicts.items():
            self.verdicts[verdict] = self.verdicts.get(verdict, 0) + runs


@dataclass(slots=True)
class UnitResult:
    """What the runs of a unit found."""

    unit: Unit
    runs: int = 0
    results: dict[str, UnitFound] = field(default_factory=dict)
    """By the digest of the result."""
    checked: int = 0
    laws: dict[str, LawCount] = field(default_factory=dict)
    findings: dict[str, UnitFinding] = field(default_factory=dict)
    has_ended: bool = False
    """True if the strategy, or the search, or its group of subtrees, has no further run."""
    is_interrupted: bool = False
    follows_gap: bool = False
    """True if a unit before this one is missing, because the exploration ended."""
    state: bytes = b""
    """Where the next unit continues."""
    blocked: int = 0
    """Of the search so far; of the runs of the unit if it is split."""
    share: float = 0.0
    """Of the search so far, if it is not split."""
    of_parts: tuple[int, ...] = ()
    """How many results each part has that the search has tried by itself."""
    choices: int = 0
    decided: int = 0
    """Of the last run."""

    @property
    def is_whole(self) -> bool:
        """False if the unit ended before its time."""
        return self.has_ended or self.runs == self.unit.runs

    def add(self, outcome: Outcome, token: ChoiceToken) -> bool:
        """Adds a run; returns True if no other run of the unit had its result."""
        found = self.results.get(outcome.digest)
        is_new = found is None
        if found is None:
            found = self.results[outcome.digest] = UnitFound(outcome, str(token), self.runs)
        elif token.is_simpler_than(ChoiceToken.parse(found.token)):
            found.token = str(token)
        found.runs += 1
        self.runs += 1
        return is_new

    def add_checked(self, token: ChoiceToken, checked: Checked) -> None:
        """Adds what the check of a run showed."""
        self.checked += 1
        for outcome in checked.outcomes:
            count = LawCount({outcome.verdict.value: 1}, outcome.rows_examined)
            self.laws.setdefault(outcome.law, LawCount()).add(count)
        self.add_findings(token, checked.found)

    def add_findings(self, token: ChoiceToken, found: Iterable[str]) -> None:
        """Adds what a run showed."""
        for what in found:
            finding = self.findings.setdefault(what, UnitFinding(str(token)))
            if token.is_simpler_than(ChoiceToken.parse(finding.token)):
                finding.token = str(token)
            finding.runs += 1


class Checked(Protocol):
    """A checked run."""

    @property
    def found(self) -> list[str]:
        """What the run violated or did not meet."""

    @property
    def outcomes(self) -> tuple[LawOutcome, ...]:
        """The outcome of each law."""


class UnitRuns:
    """What decides each run of a unit. ``state``: where it, or the ``search``, continues.

    Raises BadInput for an unknown strategy.
    """

    def __init__(self, unit: Unit, search: ExhaustiveSearch | ProductSearch, state: bytes = b"") -> None:
        self._unit = unit
        self._left = unit.runs
        is_split = unit.group and not PartsState.is_in(state)
        self.search = (Subtrees(state) if is_split else search) if unit.strategy == SEARCH else None
        """The exhaustive search."""
        if state and self.search is search:
            search.restore(state)
        self._strategy = strategy_of(unit.strategy, unit.space, unit.first_seed) if unit.is_sample else None
        if isinstance(self._strategy, DelayBounded) and state:
            self._strategy.restore(state)

    @property
    def made(self) -> int:
        """How many runs were begun."""
        return self._unit.runs - self._left

    @property
    def has_ended(self) -> bool:
        """True if there is no further run, in this unit or in a later one of its chain."""
        which = self.search or self._strategy
        return which is not None and which.is_finished

    def next_run(self) -> Recorded | None:
        """Returns the source of choices of the next run; None: there is none. Call ``ended`` before the next call."""
        if not self._left or self.has_ended:
            return None
        self._left -= 1
        if self.search is not None:
            return self.search.begin()
        return Recorded(self._unit.space) if self._strategy is None else self._strategy.next_run(self._unit.choices)

    def ended(self, run: Recorded, is_new: bool, outcome: Outcome | None = None) -> None:
        """Called after each run; ``is_new``: it has another result than those before; a search by parts needs the outcome."""
        if self.search is not None:
            self.search.end(outcome)
        elif self._strategy is not None:
            self._strategy.ended(run, is_new)

    def state(self) -> bytes:
        """Returns where the next unit continues."""
        if self.search is not None:
            return self.search.state()
        return self._strategy.state() if isinstance(self._strategy, DelayBounded) else b""


NO_CLAIMS: Final = Claims()

OnRun = Callable[[UnitResult, ChoiceToken, bool], object]
"""Called after each run with the unit so far, the token, and whether the result is new in the unit."""


def explore_unit(
    job: ExploredJob,
    unit: Unit,
    state: bytes,
    view: View,
    *,
    laws_every: int = 0,
    check: Callable[[ChoiceToken], Checked] | None = None,
    claims: Claims = NO_CLAIMS,
    until_finding: bool = False,
    is_over: Callable[[], bool] = lambda: False,
    on_run: OnRun = lambda *_: None,
) -> UnitResult:
    """Makes the runs of a unit, until ``is_over``; Ctrl-C ends it as well, and it keeps what it found.

    ``claims`` get each result. ``check`` gets each run with a result that is new in the unit, and each ``laws_every``-th run
    of the space; ``until_finding``: its first finding ends the unit.
    """
    if unit.decided:
        job.bound_by(unit.decided)
    runs, found = UnitRuns(unit, job.search(), state), UnitResult(unit)
    try:
        while not (is_over() or (until_finding and found.findings)) and (source := runs.next_run()) is not None:
            outcome = job.run(source)
            token = source.token(job.digest)
            found.choices, found.decided = source.choices, 0 if outcome.is_bounded else source.decided
            is_new = found.add(outcome.viewed(view), token)
            found.add_findings(token, [broken_claim(name) for name, _ in claims.broken(outcome)])
            runs.ended(source, is_new, outcome)
            number = unit.number + found.runs
            if check is not None and (is_new or (laws_every and number % laws_every == 0)):
                found.add_checked(token, check(token))
            on_run(found, token, is_new)
    except KeyboardInterrupt:
        found.is_interrupted = True
    found.has_ended = runs.has_ended
    if unit.continues:
        found.state = runs.state()
    if runs.search is not None:
        found.blocked = runs.search.blocked
        if not isinstance(runs.search, Subtrees):
            found.share, found.of_parts = runs.search.share, runs.search.results_of_parts
    return found
