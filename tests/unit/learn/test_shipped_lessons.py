"""Every lesson that ships: the run answers each question, the solution passes, and the unchanged scenario fails."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from flowsim.learn.answers import AnsweredQuestion, options, parsed, text_of
from flowsim.learn.exercise import SCENARIO_PAGE, grade, grade_solution, keys_to_change
from flowsim.learn.lesson import lesson_named, lessons, names
from flowsim.learn.lesson_model import KINDS, LessonModel, QuestionModel
from flowsim.learn.predictions import run_lesson
from flowsim.learn.sections import anchor, sections
from flowsim.scenario.loader import load_text

NANOSECONDS = re.compile(r"\d{6,}|\d,\d{3},\d{3}")
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
    for key, right in run_lesson(lesson, None).found.items():
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
    for finding in (*solution.findings, *unchanged.findings):
        assert NANOSECONDS.search(f"{finding.found} {finding.expected}") is None, "times have units"


@pytest.mark.parametrize("name", names())
def test_lesson_has_two_hints_and_its_keys_are_described_where_it_says(name: str) -> None:
    lesson = lesson_named(name)
    assert len(lesson.model.exercise.hints) == 2
    described = sections((ROOT / SCENARIO_PAGE).read_text(), levels=(2, 3))
    by_anchor = {f"{SCENARIO_PAGE}#{anchor(heading)}": text for heading, text in described.items()}
    for place in keys_to_change(lesson, lesson.scenario):
        first, _, key = place.key.rpartition(".")
        is_node = key in lesson.scenario.model.operators
        assert is_node or not first or re.search(rf"^\| `{key}` ", by_anchor[place.section], re.M), place


def _drift(drift: str) -> list[str]:
    return [f"sources.{name}.watermarks.alignment.max_drift={drift}" for name in ("live", "archive")]


def _timeout(timeout: str, answer: str = "{select: {key: key, number: number}}") -> list[str]:
    return [f"operators.ordered.async.timeout={timeout}", f"operators.ordered.async.on_timeout={answer}"]


def _capacities(words: int, alarms: int) -> list[str]:
    return [f"operators.words_asked.async.capacity={words}", f"operators.alarms_asked.async.capacity={alarms}"]


def _stop(at: str, drain: str = "true") -> list[str]:
    return [f"actions=[{{stop: {{at: {at}, drain: {drain}}}}}]"]


RETRY = "operators.impatient.async.retry"
ANSWERS: dict[str, tuple[list[list[str]], list[list[str]]]] = {
    "01_mailbox": ([["operators.call.chaining=head"]], [["operators.call.cost=1 ms"]]),
    "02_buffer_timeout": (
        [[f"operators.usual.buffer_timeout={ms} ms"] for ms in (24, 25, 28, 30)],
        [[f"operators.usual.buffer_timeout={ms} ms"] for ms in (0, 20, 31, 100)],
    ),
    "03_credits": (
        [["settings.floating_buffers_per_gate=0"], ["settings.exclusive_buffers_per_channel=0"]],
        [["settings.max_buffers_per_channel=3"], ["settings.exclusive_buffers_per_channel=1"]],
    ),
    "04_alignment": ([_drift("500 ms"), _drift("1 s"), _drift("3 s"), _drift("2 s")[1:]], [_drift("10 s")]),
    "05_idleness": (
        [[f"operators.stamped_empty.watermarks.idle_after={ms} ms"] for ms in (1, 200, 600)],
        [[f"operators.stamped_empty.watermarks.idle_after={ms} ms"] for ms in (700, 1000)],
    ),
    "06_lateness": (
        [[f"operators.forgiving.window.allowed_lateness={lateness}"] for lateness in ("7 ms", "1 s", "1 h")],
        [[f"operators.forgiving.window.allowed_lateness={lateness}"] for lateness in ("4 ms", "5 ms")],
    ),
    "07_sessions": (
        [["operators.visits.window.session=11 ms"]],
        [[f"operators.visits.window.session={ms} ms"] for ms in (9, 10, 13, 20)],
    ),
    "08_timers": (
        [["operators.silent.alarm.time=processing", f"operators.silent.alarm.after={ms} ms"] for ms in (60, 61, 62)],
        [
            ["operators.silent.alarm.after=60 ms"],
            ["operators.silent.alarm.time=processing", "operators.silent.alarm.after=50 ms"],
            ["operators.silent.alarm.time=processing", "operators.silent.alarm.after=63 ms"],
        ],
    ),
    "09_async_order": (
        [_timeout(f"{ms} ms") for ms in (51, 60, 65, 70)],
        [_timeout("75 ms"), _timeout("90 ms"), _timeout("70 ms")[:1],
         _timeout("70 ms", "{select: {key: str(number), number: number}}")],
    ),
    "10_async_capacity": ([_capacities(4, 2), _capacities(4, 4), _capacities(5, 3)], [_capacities(3, 2), _capacities(4, 1)]),
    "11_async_retries": (
        [*([f"{RETRY}.fixed.delay={ms} ms"] for ms in (49, 50, 90)),
         [f"{RETRY}={{exponential: {{max_attempts: 2, initial: 60 ms, max: 1 s, multiplier: 2}}}}"]],
        [*([f"{RETRY}.fixed.delay={ms} ms"] for ms in (10, 20, 99, 100)), [f"{RETRY}.fixed.max_attempts=1"]],
    ),
    "12_emitter_thread": (
        [[f"operators.today_asked.async.capacity={places}"] for places in (5, 6, 100)],
        [[f"operators.today_asked.async.capacity={places}"] for places in (1, 3, 4)],
    ),
    "13_end_of_input": (
        [_stop("2991 ms"), _stop("2999 ms"), _stop("3 s")],
        [_stop("2990 ms"), _stop("3005 ms"), _stop("2995 ms", "false"), ["actions=[{cancel: {at: 2995 ms}}]"]],
    ),
    "14_key_groups": (
        [["operators.counts.parallelism=4", f"operators.counts.max_parallelism={groups}"] for groups in (52, 76, 96, 100)],
        [["operators.counts.parallelism=4"], ["operators.counts.max_parallelism=48"],
         ["operators.counts.parallelism=4", "operators.counts.max_parallelism=64"]],
    ),
    "15_restart": (
        [[f"actions=[{{checkpoint: {{at: {ms} ms}}}}]"] for ms in (135, 140)],
        [[f"actions=[{{checkpoint: {{at: {ms} ms}}}}]"] for ms in (105, 130, 141)],
    ),
    "16_checkpoint_alignment": (
        [["settings.floating_buffers_per_gate=1"],
         ["settings.floating_buffers_per_gate=1", "settings.max_buffers_per_channel=3"]],
        [["settings.max_buffers_per_channel=2"], ["settings.exclusive_buffers_per_channel=1"], ["settings.buffer_debloat={}"]],
    ),
    "17_lost_alarms": (
        [["settings.interruptible_timers=false"], ["settings.checkpointing.unaligned=false"], ["settings.segment_size=256 B"]],
        [["settings.segment_size=129 B"], ["settings.interruptible_timers=true", "settings.segment_size=160 B"]],
    ),
}  # fmt: skip
"""By lesson: answers that solve the exercise as its text states it, and answers that do not."""


def test_every_lesson_is_tried_with_further_answers() -> None:
    assert list(ANSWERS) == names()


@pytest.mark.parametrize("name", ANSWERS)
def test_further_answers_pass_or_fail_as_the_exercise_states(name: str) -> None:
    lesson = lesson_named(name)
    original = lesson.scenario
    for expected, answers in zip((True, False), ANSWERS[name], strict=True):
        for answer in answers:
            changed = load_text(original.text, original.document.file, original.folder, answer)
            found = grade(lesson, changed)
            assert found.passed is expected, (answer, [each for each in found.findings if each.met is not expected])
            assert all("unchanged" not in each.expected for each in found.findings), answer


def test_page_lists_every_lesson_with_its_title_and_minutes() -> None:
    page = (ROOT / "docs" / "lessons" / "README.md").read_text()
    listed = re.findall(r"^\| \[(\w+)\]\((\w+)\.md\) \| (.+) \| (\d+) \|$", page, re.M)
    assert listed == [(each.name, each.name, each.title, str(each.model.minutes)) for each in lessons()]


def test_minutes_of_lessons_are_10_to_20() -> None:
    assert [each.name for each in lessons() if not 10 <= each.model.minutes <= 20] == []


def test_plan_for_a_class_takes_90_minutes() -> None:
    page = (ROOT / "docs" / "teaching.md").read_text().partition("### A plan for 90 minutes")[2]
    plan = re.findall(r"^\| (\d+) \| (?:\[(\w+)\]|(\w+))", page, re.M)
    planned = [(int(begin), lesson or what) for begin, lesson, what in plan]
    assert [what for _, what in planned if what in names()] == [
        "05_idleness", "06_lateness", "03_credits", "16_checkpoint_alignment"
    ]  # fmt: skip
    lengths = {what: end - begin for (begin, what), (end, _) in itertools.pairwise([*planned, (90, "")])}
    assert all(lengths[lesson.name] >= lesson.model.minutes - 5 for lesson in lessons() if lesson.name in lengths)
    assert min(lengths.values()) == 5


def test_page_for_teachers_describes_every_key_and_kind_of_question() -> None:
    page = (ROOT / "docs" / "teaching.md").read_text()
    described = re.findall(r"^\| `(\w+)", page, re.M)
    assert described == [*LessonModel.model_fields, *KINDS]
