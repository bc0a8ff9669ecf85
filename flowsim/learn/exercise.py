"""Grades an exercise: what may change, what the run must show, and which verdicts the laws must give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory

from flowsim.explore.explore import EXPLORED_BOUNDS, judged_in_memory
from flowsim.facts.kinds import Level
from flowsim.learn.lesson import Lesson
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.expectations import law_is_as_expected
from flowsim.scenario.loader import Scenario, load_text
from flowsim.scenario.runner import ScenarioRun, run_compiled
from flowsim.scenario.yaml.positions import Path as ValuePath
from flowsim.scenario.yaml.positions import path_text

_NOT_COMPARED = {"name", "expect"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One requirement of the exercise, and what the learner's scenario shows."""

    what: str
    expected: str
    found: str
    met: bool


@dataclass(frozen=True, slots=True)
class Grade:
    """The result of an exercise."""

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        return all(finding.met for finding in self.findings)


def grade_solution(lesson: Lesson) -> Grade:
    """Grades the reference solution. Raises ScenarioError if it is invalid."""
    original = lesson.scenario
    file = original.document.file
    return grade(lesson, load_text(original.text, file, original.folder, lesson.model.exercise.solution))


def grade(lesson: Lesson, changed: Scenario) -> Grade:
    """Grades a changed scenario: runs it in memory, unless it changes what must stay."""
    outside = list(_changed_outside(lesson, changed))
    if outside:
        allowed = ", ".join(lesson.model.exercise.may_change)
        return Grade(
            tuple(Finding(place, f"unchanged (only {allowed} may change)", "changed", False) for place in outside)
        )
    expect = lesson.model.exercise.expect
    graded = replace(changed, model=changed.model.model_copy(update={"expect": expect}))
    with TemporaryDirectory(prefix="flowsim-learn-") as out:
        compiled = compile_scenario(graded, out_dir=out)
        run = run_compiled(compiled, record=Level.FULL, clock="virtual", bounds=EXPLORED_BOUNDS)
    return Grade((*_expectations(run), *_laws(run)))


def _expectations(run: ScenarioRun) -> Iterator[Finding]:
    for outcome in run.expectations:
        result = outcome.found
        if outcome.what == "job" and outcome.met is not True and run.result.error is not None:
            result = f"{result}: {run.result.error}"
        yield Finding(outcome.what, outcome.expected, outcome.reason or result, outcome.met is True)


def _laws(run: ScenarioRun) -> Iterator[Finding]:
    expect = run.compiled.scenario.model.expect
    for outcome in judged_in_memory(run):
        is_met = law_is_as_expected(expect, outcome.law, outcome.verdict)
        if not is_met or outcome.law in expect.laws:
            expected = expect.laws.get(outcome.law, "holds")
            yield Finding(f"law {outcome.law}", expected, outcome.verdict.value, is_met)


def _changed_outside(lesson: Lesson, changed: Scenario) -> Iterator[str]:
    """Returns the keys that differ from the lesson's scenario although the exercise does not allow it."""
    before, after = _compared(lesson.scenario), _compared(changed)
    allowed = lesson.model.exercise.may_change
    for path in _changed(before, after, ()):
        place = path_text(path)
        if not any(place == each or place.startswith((f"{each}.", f"{each}[")) for each in allowed):
            yield place


def _compared(scenario: Scenario) -> dict[str, object]:
    """Returns the values of a scenario that an exercise may or may not change, by the names of their keys."""
    return scenario.model.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=_NOT_COMPARED)


def _changed(before: object, after: object, path: ValuePath) -> Iterator[ValuePath]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            if key in before and key in after:
                yield from _changed(before[key], after[key], (*path, key))
            else:
                yield (*path, key)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _changed(one, other, (*path, index))
    elif before != after:
        yield path
