"""``flowsim explore --space order|runtime``: the results that a job can have, and the findings in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import Any, Final

from rich.console import Console

from flowsim.cli.exit_code import ExitCode
from flowsim.cli.explored_subjects import Subject
from flowsim.cli.progress import CountProgress
from flowsim.cli.tables import Column, show_table
from flowsim.errors import BadInput
from flowsim.explore.job_exploration import JobExploration, explore_job
from flowsim.explore.outcome import BOUND_REACHED, Outcome, View
from flowsim.explore.shrink import shrunk
from flowsim.quantities import count_text
from flowsim.sim.choice_token import ChoiceToken
from flowsim.sim.exploring_loop import Space

_RESULTS_SHOWN: Final = 20
_CHARACTERS: Final = 60
_SHRUNK: Final = 5
_REPLAYS: Final = 60
"""The most findings that are shrunk, and runs for each."""


@dataclass(frozen=True, slots=True)
class ExplorePlan:
    """How a space is explored."""

    space: Space
    strategy: str
    runs: int
    seconds: float
    view: View
    first_seed: int
    laws_every: int
    """The laws are checked on each run with a new result, and on each run with this number; 0: on new results only."""
    requires_one: bool
    """True if more than one result is a finding."""


def laws_every(text: str) -> int:
    """Returns the number of ``--laws``: 1, all runs; 0, only those with a new result. Raises BadInput."""
    if text in ("all", "new"):
        return 1 if text == "all" else 0
    if not text.isdecimal() or not 1 <= int(text) <= 10**9:
        raise BadInput(f"--laws: expected all, new or a number from 1, got {text[:40]!r}")
    return int(text)


@dataclass(slots=True)
class Findings:
    """The runs that violated a law or did not meet an expectation, by what they violated."""

    checked: int = 0
    first: dict[str, tuple[ChoiceToken, int]] = field(default_factory=dict)
    """A run of each finding, and the number of runs that have it."""
    passing: dict[str, int] = field(default_factory=dict)
    """The number of the last choice of each finding's run without which a run does not have it."""

    def add(self, token: ChoiceToken, found: Sequence[str]) -> None:
        """Adds a checked run."""
        self.checked += 1
        for what in found:
            first, runs = self.first.get(what, (token, 0))
            self.first[what] = first, runs + 1

    def shrink(self, subject: Subject, progress: CountProgress) -> None:
        """Replaces the run of each finding by one with fewer choices of its own."""
        for number, (what, (token, runs)) in enumerate(list(self.first.items())[:_SHRUNK]):
            progress(number, min(len(self.first), _SHRUNK), f"shrinking: {what}")
            smallest = shrunk(token, partial(_has, subject, what), _REPLAYS)
            self.first[what] = smallest, runs
            self._find_passing(what, smallest, subject)

    def _find_passing(self, what: str, token: ChoiceToken, subject: Subject) -> None:
        """Looks for the nearest run without the finding: the same choices but one, which is as late as possible."""
        for number, _ in reversed(token.deviations):
            fewer = replace(token, deviations=tuple(each for each in token.deviations if each[0] != number))
            try:
                if what not in subject.check(fewer):
                    self.passing[what] = number
                    return
            except BadInput:  # the other choices do not fit without it
                continue


def _has(subject: Subject, what: str, token: ChoiceToken) -> bool:
    try:
        return what in subject.check(token)
    except BadInput:  # the choices do not fit
        return False


@dataclass(frozen=True, slots=True)
class ExploredResults:
    """An exploration, as a table and as JSON."""

    exploration: JobExploration
    findings: Findings
    subject: Subject
    plan: ExplorePlan
    is_out_of_time: bool

    @property
    def code(self) -> ExitCode:
        if self.exploration.is_interrupted:
            return ExitCode.INTERRUPTED
        several = self.plan.requires_one and len(self.exploration.results) > 1
        return ExitCode.BROKEN if self.findings.first or several else ExitCode.FINE

    @property
    def line(self) -> str:
        """What the exploration shows, in one sentence."""
        found, results = self.exploration, count_text(len(self.exploration.results), "result")
        if found.is_complete and not self.subject.left_out and len(found.results) == 1:
            return f"the only result that the order of events can give, proven in {count_text(found.searched, 'run')}"
        if found.is_complete and not self.subject.left_out:
            return f"all {results} that the order of events can give, proven in {count_text(found.searched, 'run')}"
        if found.is_complete:
            return f"{results}; every order was tried, in {count_text(found.searched, 'run')}, but see below"
        unseen = f"about {found.unseen:.0%} of further random runs would have a new result"
        in_runs = f"{results} in {count_text(found.runs, 'run')}"
        if self.plan.space == "order":
            return f"{in_runs}; not all orders were tried: {found.share:.2%} of the tree, and {unseen}"
        if found.is_strategy_finished:
            return f"{in_runs}: all that strategy {self.plan.strategy} has"
        return f"{in_runs}; {unseen}"

    def data(self) -> dict[str, Any]:
        """Returns the JSON document."""
        found = self.exploration
        return {
            "space": self.plan.space,
            "strategy": self.plan.strategy,
            "outcome": self.plan.view,
            "verdict": self.line,
            "complete": found.is_complete,
            "proven": found.is_complete and not self.subject.left_out,
            "left_out": list(self.subject.left_out),
            "runs": found.runs,
            "searched": found.searched,
            "blocked": 0 if found.search is None else found.search.blocked,
            "sampled": found.sampled,
            "interrupted": found.is_interrupted,
            "share": found.share,
            "unseen": found.unseen,
            "last_new": found.last_new,
            "checked": self.findings.checked,
            "results": [
                {
                    "digest": digest,
                    "runs": one.runs,
                    "token": str(one.token),
                    "status": one.outcome.status.value,
                    "cause": one.outcome.cause,
                    "sinks": one.outcome.rows,
                    "replay": self.subject.repeat(one.token, is_bounded=one.outcome.is_bounded),
                }
                for digest, one in found.results.items()
            ],
            "findings": [
                {
                    "what": what,
                    "runs": runs,
                    "token": str(token),
                    "replay": self._repeat(what, token),
                    "explain": self.subject.explain(token),
                    "decisive_choice": self.findings.passing.get(what),
                }
                for what, (token, runs) in self.findings.first.items()
            ],
            "exit_code": int(self.code),
        }

    def _repeat(self, what: str, token: ChoiceToken) -> str:
        return self.subject.repeat(token, is_checked=True, is_bounded=what == BOUND_REACHED)

    def show(self, console: Console, verbose: bool) -> None:
        """Prints the results as a table, and each finding with the command that repeats it."""
        found = self.exploration
        console.print(f"{self.plan.space} space: {self.line}", style="bold", soft_wrap=True)
        for sentence in self.subject.left_out:
            console.print(f"  left out: {sentence}", soft_wrap=True)
        if found.is_interrupted:
            console.print("  interrupted", soft_wrap=True)
        if self.is_out_of_time:
            console.print(f"  stopped after {self.plan.seconds:g} s (--seconds)", soft_wrap=True)
        kinds = list(found.results.values())
        shown = kinds if verbose else kinds[:_RESULTS_SHOWN]
        rows = [(_text(one.outcome), f"{one.runs:,}", f"{one.runs / found.runs:.1%}", str(one.token)) for one in shown]
        show_table(console, ["result"], [Column("runs"), Column("share"), Column("token", left=True)], rows)
        if len(shown) < len(kinds):
            console.print(f"and {count_text(len(kinds) - len(shown), 'result')} more: -v shows all", soft_wrap=True)
        for what, (token, runs) in self.findings.first.items():
            counted = f"in {runs:,} of {count_text(self.findings.checked, 'checked run')}"
            console.print(f"{what}: {counted}", style="red", soft_wrap=True)
            console.print(f"  reproduce: {self._repeat(what, token)}", soft_wrap=True)
            if explain := self.subject.explain(token):
                console.print(f"  explain: {explain}", soft_wrap=True)
            if (passing := self.findings.passing.get(what)) is not None:
                console.print(f"  without choice {passing} of the token it does not happen", soft_wrap=True)
        if not self.findings.first and kinds:
            console.print(
                f"repeat one: {self.subject.repeat(kinds[0].token, is_bounded=kinds[0].outcome.is_bounded)}",
                soft_wrap=True,
            )


def _text(outcome: Outcome) -> str:
    """Returns an outcome in short: its end if the job did not finish, and what the sinks hold."""
    parts = [] if outcome.status.value == "finished" else [outcome.status.value]
    for name, subtasks in outcome.rows.items():
        parts.append(f"{name}: " + " | ".join(" ".join(map(_short, rows)) or "-" for rows in subtasks))
    text = "; ".join(parts)
    return text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 3]}..."


def _short(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def explore_results(subject: Subject, plan: ExplorePlan, progress: CountProgress) -> ExploredResults:
    """Explores a job, and checks some of its runs."""
    findings = Findings()
    ends_at = monotonic() + plan.seconds

    def on_run(exploration: JobExploration, token: ChoiceToken, is_new: bool) -> None:
        if is_new or (plan.laws_every and exploration.runs % plan.laws_every == 0):
            findings.add(token, subject.check(token))
        so_far = count_text(len(exploration.results), "result")
        so_far += f", {exploration.share:.1%} of the tree" if plan.space == "order" else ""
        progress(exploration.runs, plan.runs, so_far)

    def is_over() -> bool:
        return monotonic() > ends_at

    exploration = explore_job(
        subject.job,
        plan.runs,
        plan.view,
        strategy=plan.strategy,
        seed=plan.first_seed,
        is_over=is_over,
        on_run=on_run,
    )
    if not exploration.is_interrupted:
        findings.shrink(subject, progress)
    has_ended = exploration.is_complete or exploration.is_strategy_finished or exploration.is_interrupted
    is_out_of_time = exploration.runs < plan.runs and not has_ended
    return ExploredResults(exploration, findings, subject, plan, is_out_of_time)
