"""Every lesson that ships: the run answers each question, the solution passes, and the unchanged scenario fails."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flowsim.learn.answers import AnsweredQuestion, options, parsed, text_of
from flowsim.learn.exercise import grade, grade_solution
from flowsim.learn.lesson import lesson_named, lessons, names
from flowsim.learn.lesson_model import KINDS, LessonModel, QuestionModel
from flowsim.learn.predictions import right_answers

ROOT = Path(__file__).parents[3]


def wrong_answer(question: QuestionModel, right: object) -> object:
    """An answer of the right form that differs from the right one."""
    letters = [letter for letter, _ in options(question)]
    if question.order is not None:
        assert isinstance(right, tuple)
        return list(reversed(right))
    if letters:
        return next(letter for letter in letters if letter != right)
    if question.results is not None:
        return "none" if right else "1"
    assert isinstance(right, int | float)
    return right + 1 + (0 if question.number is None else question.number.tolerance)


@pytest.mark.parametrize("name", names())
def test_run_answers_every_question_and_refuses_another_answer(name: str) -> None:
    lesson = lesson_named(name)
    for key, right in right_answers(lesson).items():
        question = lesson.model.questions[key]
        typed = parsed(question, text_of(question, right).partition(" (")[0])
        assert AnsweredQuestion(key, question, typed, right).is_right, key
        wrong = parsed(question, wrong_answer(question, right))
        assert not AnsweredQuestion(key, question, wrong, right).is_right, key


@pytest.mark.parametrize("name", names())
def test_solution_passes_and_unchanged_scenario_fails(name: str) -> None:
    lesson = lesson_named(name)
    solution = grade_solution(lesson)
    assert [finding for finding in solution.findings if not finding.met] == []
    unchanged = grade(lesson, lesson.scenario)
    assert not unchanged.passed
    assert all("unchanged" not in finding.expected for finding in unchanged.findings), "it was run"


def test_page_lists_every_lesson_with_its_title_and_minutes() -> None:
    page = (ROOT / "docs" / "lessons" / "README.md").read_text()
    listed = re.findall(r"^\| \[(\w+)\]\((\w+)\.md\) \| (.+) \| (\d+) \|$", page, re.M)
    assert listed == [(each.name, each.name, each.title, str(each.model.minutes)) for each in lessons()]


def test_minutes_of_lessons_are_10_to_20() -> None:
    assert [each.name for each in lessons() if not 10 <= each.model.minutes <= 20] == []


def test_page_for_teachers_describes_every_key_and_kind_of_question() -> None:
    page = (ROOT / "docs" / "teaching.md").read_text()
    described = re.findall(r"^\| `(\w+)", page, re.M)
    assert described == [*LessonModel.model_fields, *KINDS]
