"""Exercises: only allowed keys may change, and expectations and laws grade the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.errors import BadInput
from flowsim.learn.exercise import Finding, Grade, grade, grade_solution
from flowsim.learn.lesson import Lesson, read_lesson
from flowsim.scenario.loader import load_text
from tests.unit.learn.conftest import WriteLesson


def graded(lesson: Lesson, *overrides: str) -> Grade:
    return grade(lesson, load_text(lesson.scenario.text, "mine.yaml", Path(), overrides))


def test_solution_passes_and_unchanged_scenario_fails(write_lesson: WriteLesson) -> None:
    lesson = read_lesson(write_lesson())
    assert grade_solution(lesson).findings == (
        Finding("job", "finished", "finished", True),
        Finding("rows of sink out", "2", "2", True),
        Finding("law channel-fifo", "holds", "holds", True),
    )
    assert not graded(lesson).passed


def test_change_outside_of_the_exercise_fails_without_a_run(write_lesson: WriteLesson) -> None:
    lesson = read_lesson(write_lesson())
    allowed = "unchanged (only sources.numbers.script may change)"
    assert graded(lesson, "settings.seed=5", "sinks.more={input: numbers, collect: {}}").findings == (
        Finding("settings.seed", allowed, "changed", False),
        Finding("sinks.more", allowed, "changed", False),
    )


def test_key_with_a_common_beginning_is_outside_of_the_exercise(write_lesson: WriteLesson) -> None:
    lesson = read_lesson(write_lesson(("[sources.numbers.script]", "[sources.numb]")))
    assert [finding.what for finding in grade_solution(lesson).findings] == ["sources.numbers.script.subtasks[0]"]


def test_name_and_expectations_of_the_copy_do_not_count(write_lesson: WriteLesson) -> None:
    lesson = read_lesson(write_lesson())
    solution = lesson.model.exercise.solution
    assert graded(lesson, *solution, "name=mine", "expect={rows: {out: 7}}").passed


def test_law_that_is_not_named_must_not_be_violated(write_lesson: WriteLesson) -> None:
    lesson = read_lesson(write_lesson(("[sources.numbers.script]", "[sources.numbers.script, faults]")))
    result = graded(lesson, *lesson.model.exercise.solution, "faults=[{fault: lose_credit}]")
    assert Finding("law credits", "holds", "violated", False) in result.findings
    assert not result.passed


def test_job_that_fails_is_reported_with_its_error(write_lesson: WriteLesson) -> None:
    lesson = read_lesson(
        write_lesson(("sinks:\n", "operators:\n  half: {input: numbers, map: {add: {h: 6 / n}}}\nsinks:\n"))
    )
    result = graded(lesson, "sources.numbers.script.subtasks[0]=[{record: [a, 0]}, {record: [b, 1]}]")
    job = result.findings[0]
    assert (job.what, job.expected, job.met) == ("job", "finished", False)
    assert job.found.startswith("failed: ")


def test_invalid_copy_is_refused_with_position(write_lesson: WriteLesson) -> None:
    lesson = read_lesson(write_lesson())
    with pytest.raises(BadInput, match=r"sources\.numbers\.script\.subtasks: expected a list"):
        graded(lesson, "sources.numbers.script.subtasks=1")
