"""Answers: their forms, the right ones of a run, and the refusal of wrong ones."""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.errors import BadInput
from flowsim.learn.answers import AnsweredQuestion, form, parsed, text_of
from flowsim.learn.lesson import read_lesson
from flowsim.learn.predictions import run_lesson
from tests.unit.learn.conftest import RIGHT, WriteLesson


def test_run_gives_the_right_answers(write_lesson: WriteLesson) -> None:
    lesson = read_lesson(write_lesson())
    right = run_lesson(lesson, None).found
    for name, question in lesson.model.questions.items():
        assert AnsweredQuestion(name, question, parsed(question, RIGHT[name]), right[name]).is_right, name
    texts = {name: text_of(lesson.model.questions[name], value) for name, value in right.items()}
    assert texts == {
        "order": "a, 1; b, 2; a, 3",
        "names": "a, b, a",
        "many": "3",
        "when": "20.005 ms",
        "which": "b (out)",
        "choice": "b (all arrived)",
        "steps": "b, a",
    }


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("order", "a,1; a,3; b,2"),
        ("order", "a,1; b,2"),
        ("order", "none"),
        ("names", "a, b"),
        ("many", "4"),
        ("when", 22),
        ("which", "numbers"),
        ("choice", "a"),
        ("steps", ["a", "b"]),
    ],
)
def test_wrong_prediction_is_refused(write_lesson: WriteLesson, name: str, wrong: Any) -> None:
    lesson = read_lesson(write_lesson())
    question = lesson.model.questions[name]
    assert not AnsweredQuestion(name, question, parsed(question, wrong), run_lesson(lesson, None).found[name]).is_right


@pytest.mark.parametrize(
    ("name", "given", "error"),
    [
        (
            "order",
            7,
            "expected rows in order: cells separated by ',', rows by ';', such as a,1; b,2 (or none), got '7'",
        ),
        ("names", {"a": 1}, "expected values in any order, separated by ',' (or none), got '{\"a\": 1}'"),
        ("many", "three", "expected a whole number, got 'three'"),
        ("many", True, "expected a whole number, got 'true'"),
        ("when", "20 min", "expected a number of ms, within 0.5, got '20 min'"),
        ("which", "c", "expected one letter: a, b, got 'c'"),
        ("choice", "", "expected one letter: a, b, got ''"),
        ("steps", "a a", "expected the letters a, b in order, got 'a a'"),
        ("steps", ["a", 1], "expected the letters a, b in order, got '[\"a\", 1]'"),
    ],
)
def test_answer_of_another_form_is_refused(write_lesson: WriteLesson, name: str, given: Any, error: str) -> None:
    question = read_lesson(write_lesson()).model.questions[name]
    with pytest.raises(BadInput) as refused:
        parsed(question, given)
    assert str(refused.value) == error
    assert form(question) in error


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (("exactly: 0", "exactly: 3"), "question 'choice' has no single answer in the run: 2 statements are right"),
        (("event: FINISHED", "event: FAILED"), "question 'steps' has no single answer in the run: an event is missing"),
        (
            ("kind: RECORD}, take", "kind: STATUS}, take"),
            "question 'when' has no single answer in the run: no row matches",
        ),
        (("table: received, of: out}}", "table: late_drop, of: out}}"), "the run has no fact for the moment"),
    ],
)
def test_question_without_single_answer_is_an_error_of_the_lesson(
    write_lesson: WriteLesson, change: tuple[str, str], error: str
) -> None:
    with pytest.raises(BadInput) as refused:
        run_lesson(read_lesson(write_lesson(change)), None)
    assert str(refused.value).startswith(error)
