"""Grades an exercise: what may change, what the run must show, and which verdicts the laws must give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import Final

from flowsim.distribution import shipped
from flowsim.errors import SourcePosition
from flowsim.explore.checked_run import judged_in_memory
from flowsim.explore.explored_job import EXPLORED_BOUNDS
from flowsim.facts.kinds import Level
from flowsim.learn.lesson import Lesson
from flowsim.learn.sections import anchor, sections
from flowsim.quantities import duration_text
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.expectations import is_within, law_is_as_expected, measured
from flowsim.scenario.features.expect import ExpectModel, FactsModel
from flowsim.scenario.loader import Scenario, load_text
from flowsim.scenario.runner import ScenarioRun, run_compiled
from flowsim.scenario.yaml.positions import Path as ValuePath
from flowsim.scenario.yaml.positions import PositionedDocument, path_text
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.units import NS_PER_MS

SCENARIO_PAGE: Final = "docs/scenario.md"
"""The page that describes the keys of scenarios."""
_NOT_COMPARED = {"name", "expect"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One requirement of the exercise, and what the learner's scenario shows."""

    what: str
    expected: str
    found: str
    met: bool


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """A key that the exercise lets the learner change: where it is, and which section describes it."""

    key: str
    where: SourcePosition
    """Its position in the learner's file, or that of the nearest key around it."""
    section: str
    is_there: bool
    """False if the file does not have the key yet."""


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
    # The facts are measured here, because a learner reads their numbers with units.
    others = expect.model_copy(update={"facts": []})
    graded = replace(changed, model=changed.model.model_copy(update={"expect": others}))
    with TemporaryDirectory(prefix="flowsim-learn-") as out:
        compiled = compile_scenario(graded, out_dir=out)
        run = run_compiled(compiled, record=Level.FULL, clock="virtual", bounds=EXPLORED_BOUNDS)
    return Grade((*_expectations(run), *(_fact(each, run) for each in expect.facts), *_laws(run, expect)))


def keys_to_change(lesson: Lesson, changed: Scenario) -> list[KeyPlace]:
    """Returns the keys of the exercise, with their places in the learner's file and in the page that describes them."""
    return [_key_place(key, changed.document) for key in lesson.model.exercise.may_change]


def _key_place(key: str, document: PositionedDocument) -> KeyPlace:
    parts = tuple(key.split("."))
    described = sections(shipped(SCENARIO_PAGE).read_text("utf-8"), levels=(2, 3))
    anchors = {anchor(heading) for heading in described}
    # The section of the block around the key has its row. The second part is the name of a node, which has no section.
    around = parts[:-1] or parts
    section = [part for at, part in enumerate(around) if part in anchors and (at != 1 or parts[0] == "settings")][-1]
    while parts not in document.keys and len(parts) > 1:
        parts = parts[:-1]
    return KeyPlace(key, document.key_position(parts), f"{SCENARIO_PAGE}#{section}", ".".join(parts) == key)


def _expectations(run: ScenarioRun) -> Iterator[Finding]:
    for outcome in run.expectations:
        result = outcome.found
        if outcome.what == "job" and outcome.met is not True and run.result.error is not None:
            result = f"{result}: {run.result.error}"
        yield Finding(outcome.what, outcome.expected, outcome.reason or result, outcome.met is True)


def _fact(fact: FactsModel, run: ScenarioRun) -> Finding:
    found = None if run.facts is None else measured(run.compiled.scenario.model, fact, run.facts)
    named = (("", fact.exactly), ("at least ", fact.at_least), ("at most ", fact.at_most))
    bounds = [f"{name}{_quantity(fact, bound)}" for name, bound in named if bound is not None]
    is_time = fact.column == "time_ns"
    shown = "nothing" if found is None else _quantity(fact, found) + (" after the start" if is_time else "")
    return Finding(fact.says, " and ".join(bounds), shown, is_within(fact, found))


def _quantity(fact: FactsModel, number: int) -> str:
    """Returns a number with its unit, which the name of its column states; a time counts from the start of the job."""
    column = fact.column or ""
    if column.endswith("_ns"):
        return duration_text(number - START_NS if column == "time_ns" else number)
    return duration_text(number * NS_PER_MS) if column.endswith("_ms") else f"{number:,}"


def _laws(run: ScenarioRun, expect: ExpectModel) -> Iterator[Finding]:
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
