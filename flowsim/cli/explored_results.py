"""The table of ``flowsim explore``: the results that a job can have, how far each space was explored, and the findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from rich.console import Console

from flowsim.cli.exit_code import ExitCode
from flowsim.cli.explore_plan import ExplorePlan
from flowsim.cli.explored_findings import Finding, code_of
from flowsim.cli.explored_subjects import Subject
from flowsim.cli.smaller_scenario import NoSmallerScenario, SmallerScenario
from flowsim.cli.tables import Column, show_table
from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.job_exploration import ExploredSpace, Found, JobExploration
from flowsim.explore.outcome import VIEWS, Outcome, View
from flowsim.laws.law import Verdict
from flowsim.laws.verdict_line import line_of
from flowsim.quantities import count_text
from flowsim.sim.exploring_loop import Space
from flowsim.values.keys import json_text

_RESULTS_SHOWN: Final = 20
_CHARACTERS: Final = 60
_IN_VIEW: Final[Mapping[View, str]] = {"keys": "order within each key", "bag": "without order"}
_WORST_FIRST: Final = (Verdict.VIOLATED, Verdict.HOLDS, Verdict.VACUOUS, Verdict.NOT_APPLICABLE)

MEANINGS: Final[Mapping[Space, str]] = {
    "order": "arrivals, timers and answers in any order",
    "runtime": "any turns, flushes, credits and delays, with the network of the job",
}
"""What differs between the runs of a space."""


@dataclass(frozen=True, slots=True)
class ExploredResults:
    """An exploration, as a table and as JSON."""

    exploration: JobExploration
    findings: list[Finding]
    subjects: Mapping[Space, Subject]
    plan: ExplorePlan
    is_out_of_time: bool
    smaller: SmallerScenario | NoSmallerScenario | None = None
    """A smaller scenario with the first finding, if one was asked for."""

    @property
    def code(self) -> ExitCode:
        if self.exploration.is_interrupted:
            return ExitCode.INTERRUPTED
        code = code_of(self.findings, any(subject.has_faults for subject in self.subjects.values()))
        several = self.plan.requires_one and len(self.exploration.results) > 1
        is_broken = several or self.never_examined
        return ExitCode.BROKEN if code is ExitCode.FINE and is_broken else code

    @property
    def never_examined(self) -> list[str]:
        """Laws that applied but examined no row in any checked run, unless the scenario expects that."""
        expected = next(iter(self.subjects.values())).expected_verdicts
        vacuous = Verdict.VACUOUS.value
        counts = self.exploration.laws.items()
        return [law for law, one in counts if vacuous in one.verdicts and not one.rows and expected.get(law) != vacuous]

    @property
    def laws_line(self) -> str:
        """The verdicts as one line: a law is violated if a run violated it, and vacuous if no run examined a row."""
        counts = self.exploration.laws.items()
        worst = {law: next(each for each in _WORST_FIRST if each.value in one.verdicts) for law, one in counts}
        return f"{line_of(worst)} ({count_text(self.exploration.checked, 'checked run')})"

    def line(self, space: Space) -> str:
        """What the exploration of a space shows, in one sentence."""
        found, left_out = self.exploration.spaces[space], self.subjects[space].left_out
        number = self.exploration.results_in(space)
        results, proven = count_text(number, "result"), f"proven in {count_text(found.searched, 'run')}"
        if found.is_complete and not left_out:
            which = "the only result" if number == 1 else f"all {results}"
            of_parts = f"; {_product(found.of_parts)}" if found.of_parts else ""
            return f"{which} that the order of events can give, {proven}{of_parts}"
        if found.is_complete:
            return f"{results}; every order was tried, in {count_text(found.searched, 'run')}, but see below"
        unseen = f"about {self.exploration.unseen(space):.0%} of further random runs would have a new result"
        in_runs = f"{results} in {count_text(found.runs, 'run')}"
        if space == "order":
            if found.of_parts:
                return f"{in_runs}; {_product(found.of_parts)} in all, of which the others were not run"
            return f"{in_runs}; not all orders were tried: {found.share:.2%} of the tree, and {unseen}"
        if found.is_strategy_finished:
            return f"{in_runs}: all that strategy {found.strategy} has"
        return f"{in_runs}; {unseen}"

    def data(self) -> dict[str, Any]:
        """Returns the JSON document."""
        found = self.exploration
        return {
            "outcome": self.plan.view,
            "sinks_in_order": self._sinks_in_order,
            "results_by": {view: found.results_by(view) for view in self._views},
            "verdict": self.laws_line,
            "runs": found.runs,
            "interrupted": found.is_interrupted,
            "out_of_time": self.is_out_of_time,
            "last_new": found.last_new,
            "checked": found.checked,
            "spaces": {name: self._space(name, space) for name, space in found.spaces.items()},
            "laws": {law: {"rows_examined": one.rows, **one.verdicts} for law, one in found.laws.items()},
            "never_examined": self.never_examined,
            "results": [self._result(digest, one) for digest, one in found.results.items()],
            "findings": [each.data(self.subjects[each.token.space]) for each in self.findings],
            "smaller": None if self.smaller is None else self.smaller.data(),
            "exit_code": int(self.code),
        }

    @property
    def _job(self) -> ExploredJob:
        return next(iter(self.subjects.values())).job

    @property
    def _sinks_in_order(self) -> list[str]:
        """The sinks whose rows are compared in order although the view is by key."""
        return self._job.sinks_without_keys if self.plan.view == "keys" else []

    @property
    def _views(self) -> list[View]:
        """The view, and those that ignore more."""
        views = VIEWS[VIEWS.index(self.plan.view) :]
        return [view for view in views if view != "keys" or self._job.has_keys]

    def _space(self, name: Space, space: ExploredSpace) -> dict[str, Any]:
        return {
            "strategy": space.strategy,
            "verdict": self.line(name),
            "results": self.exploration.results_in(name),
            "complete": space.is_complete,
            "proven": space.is_complete and not self.subjects[name].left_out,
            "left_out": list(self.subjects[name].left_out),
            "runs": space.runs,
            "searched": space.searched,
            "blocked": space.blocked,
            "sampled": space.sampled,
            "share": space.share,
            "results_of_parts": list(space.of_parts),
            "unseen": self.exploration.unseen(name),
        }

    def _result(self, digest: str, one: Found) -> dict[str, Any]:
        return {
            "digest": digest,
            "runs": one.runs,
            "runs_by_space": dict(one.by_space),
            "token": str(one.token),
            "status": one.outcome.status.value,
            "cause": one.outcome.cause,
            "sinks": one.outcome.shown_rows,
            "keys": one.outcome.shown_keys,
            "replay": self._repeat(one),
        }

    def _repeat(self, one: Found) -> str:
        return self.subjects[one.token.space].repeat(one.token, is_bounded=one.outcome.is_bounded)

    def show(self, console: Console, verbose: bool) -> None:
        """Prints the results as a table, and each finding with the command that repeats it."""
        found = self.exploration
        for space in found.spaces:
            console.print(f"{space} space ({MEANINGS[space]}): {self.line(space)}", style="bold", soft_wrap=True)
            for sentence in self.subjects[space].left_out:
                console.print(f"  left out: {sentence}", soft_wrap=True)
        if found.is_interrupted:
            console.print("interrupted", soft_wrap=True)
        if self.is_out_of_time:
            console.print(f"stopped after {self.plan.seconds:g} s (--seconds)", soft_wrap=True)
        for sink in self._sinks_in_order:
            console.print(
                f"sink {sink} has no keys: its rows are compared in order",
                soft_wrap=True,
                markup=False,
                highlight=False,
            )
        self._show_results(console, verbose)
        self._show_views(console)
        self._show_laws(console, verbose)
        for each in self.findings:
            each.show(console, self.subjects[each.token.space], found.runs, found.checked)
        if self.smaller is not None:
            self.smaller.show(console)
        if not self.findings and found.results:
            first = next(iter(found.results.values()))
            console.print(f"repeat one: {self._repeat(first)}", soft_wrap=True, markup=False)

    def _show_results(self, console: Console, verbose: bool) -> None:
        found = self.exploration
        kinds, spaces = list(found.results.values()), list(found.spaces)
        shown = kinds if verbose else kinds[:_RESULTS_SHOWN]
        columns = [Column(f"runs ({space})" if len(spaces) > 1 else "runs") for space in spaces]
        columns += [Column("share"), Column("token", left=True)]
        rows = [
            (
                _text(one.outcome),
                *(f"{one.by_space[space]:,}" for space in spaces),
                f"{one.runs / found.runs:.1%}",
                str(one.token),
            )
            for one in shown
        ]
        show_table(console, ["result"], columns, rows)
        if len(shown) < len(kinds):
            console.print(f"and {count_text(len(kinds) - len(shown), 'result')} more: -v shows all", soft_wrap=True)

    def _show_views(self, console: Console) -> None:
        """Prints how many of several results there are if less is compared."""
        if len(self.exploration.results) > 1:
            for view in self._views[1:]:
                results = count_text(self.exploration.results_by(view), "result")
                console.print(f"{_IN_VIEW[view]} (--outcome {view}): {results}", soft_wrap=True)

    def _show_laws(self, console: Console, verbose: bool) -> None:
        laws = self.exploration.laws
        console.print(f"{self.laws_line}{'' if verbose else '; -v lists all laws'}", soft_wrap=True)
        if verbose:
            columns = [Column("rows examined"), *(Column(verdict.value) for verdict in Verdict)]
            rows = [
                (law, f"{one.rows:,}", *(str(one.verdicts.get(verdict.value, 0)) for verdict in Verdict))
                for law, one in laws.items()
            ]
            show_table(console, ["law"], columns, rows)
        for law in self.never_examined:
            console.print(f"{law}: it examined no row in any run", style="yellow")


def _text(outcome: Outcome) -> str:
    """Returns an outcome in short: its end if the job did not finish, and what the sinks hold."""
    parts = [] if outcome.status.value == "finished" else [outcome.status.value]
    for name, subtasks in outcome.shown_rows.items():
        texts = [" ".join(map(_short, rows)) or "-" for rows in subtasks]
        if name in outcome.shown_keys:
            texts = [f"{_short(key)}: {rows}" for key, rows in zip(outcome.shown_keys[name], texts, strict=True)]
        parts.append(f"{name}: " + (" | ".join(texts) or "-"))
    text = "; ".join(parts)
    return text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 3]}..."


def _short(value: object) -> str:
    if isinstance(value, dict):
        return json_text(value)
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _product(results: Sequence[int]) -> str:
    factors = " x ".join(f"{each:,}" for each in results)
    return f"parts that share no later task have {factors} = {count_text(prod(results), 'result')}"
