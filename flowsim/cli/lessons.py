"""Shows lessons on a terminal: the list, the problem, the questions, the run's answers, and the grade."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from flowsim.learn.answers import form, options, text_of
from flowsim.learn.classroom import LearnerProgress, LessonSummary
from flowsim.learn.exercise import Grade, KeyPlace
from flowsim.learn.lesson import Lesson
from flowsim.learn.lesson_model import QuestionModel
from flowsim.learn.predictions import Predictions
from flowsim.learn.sections import without_links
from flowsim.learn.workplace import Progress, Workplace
from flowsim.quantities import count_text


def show_list(console: Console, found: Sequence[tuple[Lesson, Progress]]) -> None:
    """Prints all lessons with the learner's progress."""
    table = Table()
    table.add_column("lesson", no_wrap=True)
    table.add_column("title", overflow="fold")
    table.add_column("minutes", justify="right")
    table.add_column("progress", overflow="fold")
    for lesson, progress in found:
        table.add_row(lesson.name, lesson.title, str(lesson.model.minutes), progress.text)
    console.print(table)
    console.print("begin    flowsim learn NAME", soft_wrap=True)


def show_class(console: Console, found: Sequence[LearnerProgress], of_lessons: Sequence[LessonSummary]) -> None:
    """Prints a row for each learner with a column for each lesson, and what the class predicted wrong."""
    table = Table()
    table.add_column("learner", overflow="fold")
    for summary in of_lessons:
        table.add_column(summary.lesson.partition("_")[0], no_wrap=True)
    cell_of = {(each.learner, each.lesson): _cell(each.progress) for each in found}
    for learner in dict.fromkeys(each.learner for each in found):
        table.add_row(learner, *(cell_of.get((learner, summary.lesson), "") for summary in of_lessons))
    console.print(table)
    for summary in of_lessons:
        counts = f"{summary.predicted} predicted, {summary.passed} passed the exercise"
        console.print(f"{summary.lesson}: {count_text(summary.learners, 'learner')}, {counts}", soft_wrap=True)
        for name, count in summary.wrong.items():
            console.print(f"  wrong  {name}: {count} of {summary.predicted}", soft_wrap=True)


def _cell(progress: Progress) -> str:
    predicted = f"{progress.right}/{progress.questions}" if progress.questions else ""
    graded = "passed" if progress.passed else count_text(progress.checks, "check") if progress.checks else ""
    return " ".join(part for part in (predicted, graded) if part)


def show_start(console: Console, lesson: Lesson, place: Workplace) -> None:
    """Prints the title, the problem and the scenario."""
    console.print(Markdown(without_links(f"# {lesson.title}\n\n{lesson.problem}")))
    console.print(f"\nscenario {place.scenario}: read it, and answer before you run it", soft_wrap=True)


def show_question(console: Console, number: int, name: str, question: QuestionModel) -> None:
    """Prints one question, what it offers, and the form of the answer."""
    console.print(f"\n{number}. {name}: {question.ask}", soft_wrap=True)
    for letter, text in options(question):
        console.print(f"   {letter}  {text}", soft_wrap=True)
    console.print(f"   {form(question)}", style="dim", soft_wrap=True)


def show_questions(console: Console, lesson: Lesson, place: Workplace) -> None:
    """Prints the lesson up to its questions, for a reader who answers with a file."""
    show_start(console, lesson, place)
    for number, (name, question) in enumerate(lesson.model.questions.items(), start=1):
        show_question(console, number, name, question)
    console.print(
        f"\nnext     write a file with a line 'NAME: ANSWER' for each question, then\n"
        f"         {place.command} --answers FILE\n"
        f"         or answer in the browser: {place.command} --open",
        soft_wrap=True,
    )


def show_opened(console: Console, place: Workplace) -> None:
    """Prints where the page of a lesson is."""
    console.print(f"page     {place.page}: it asks, grades, and shows the report of the run", soft_wrap=True)
    console.print(f"change   {place.scenario}", soft_wrap=True)
    console.print(f"check    {place.command} --check", soft_wrap=True)


def show_predictions(
    console: Console, lesson: Lesson, place: Workplace, predictions: Predictions, links: Sequence[tuple[str, str]]
) -> None:
    """Prints the answers beside those of the run, the text that explains it, the report, and the exercise."""
    console.print()
    for each in predictions.answers:
        verdict, style = ("right", "green") if each.is_right else ("wrong", "bold red")
        console.print(f"{verdict}    {each.name}: {text_of(each.question, each.given)}", style=style, soft_wrap=True)
        if not each.is_right:
            console.print(f"         the run: {text_of(each.question, each.found)}", soft_wrap=True)
        if each.question.because is not None:
            console.print(f"         {each.question.because}", soft_wrap=True)
    for page, text in lesson.reading():
        console.print()
        if others := lesson.others_in(text):
            note = f"the run below is that of {', '.join(others)}: its times and numbers are not those of your run"
            console.print(f"note     {note}", soft_wrap=True)
        console.print(Markdown(without_links(text)))
        console.print(f"from     docs/{page}", style="dim", soft_wrap=True)
    console.print(f"\nask      flowsim why {shlex.quote(str(place.out))}", soft_wrap=True)
    console.print(f"report   {place.report}", soft_wrap=True)
    for look, link in links:
        console.print(f"look     {look}\n         {link}", soft_wrap=True)
    console.print()
    console.print(Markdown(without_links(f"## Exercise\n\n{lesson.exercise}")))
    console.print(f"\nchange   {place.scenario}", soft_wrap=True)
    console.print(f"check    {place.command} --check", soft_wrap=True)


def show_check(
    console: Console,
    lesson: Lesson,
    place: Workplace,
    grade: Grade,
    hints: Sequence[str],
    keys: Sequence[KeyPlace],
) -> None:
    """Prints the grade, hints, and how to compare the runs of both scenarios if the lesson's own has run."""
    show_grade(console, lesson, grade)
    for number, hint in enumerate(hints, start=1):
        console.print(f"hint {number}   {hint}", soft_wrap=True)
    if 0 < len(hints) < len(lesson.model.exercise.hints):
        console.print("         the next check that fails shows another hint", style="dim", soft_wrap=True)
    for each in keys:
        at = "is in line" if each.is_there else "belongs into the block in line"
        console.print(
            f"key      {each.key} {at} {each.where.line} of {place.scenario}; see {each.section}", soft_wrap=True
        )
    if place.out.is_dir():
        scenario, out, mine = (shlex.quote(str(each)) for each in (place.scenario, place.out, place.folder / "mine"))
        console.print(f"compare  flowsim run {scenario} --record-state --out {mine}", soft_wrap=True)
        console.print(f"         flowsim report {out} --against {mine}", soft_wrap=True)


def show_grade(console: Console, lesson: Lesson, grade: Grade) -> None:
    """Prints every requirement of the exercise, and whether the scenario meets it."""
    for each in grade.findings:
        mark, style = ("met", "green") if each.met else ("not met", "bold red")
        console.print(f"{mark:8} {each.what}: {each.found}, wanted {each.expected}", style=style, soft_wrap=True)
    console.print(f"{lesson.name}: exercise {'passed' if grade.passed else 'not passed'}", soft_wrap=True)


def show_verified(console: Console, lesson: Lesson, document: Mapping[str, Any], solution: Grade) -> None:
    """Prints what a teacher needs: the right answers, the reference solution, and whether the lesson is sound."""
    for name, text in document["answers"].items():
        console.print(f"answer   {name}: {text}", soft_wrap=True)
    for each in document["solution"]:
        console.print(f"solution --set {shlex.quote(each)}", soft_wrap=True)
    if not document["solution_passes"]:
        show_grade(console, lesson, solution)
    if not document["unchanged_fails"]:
        console.print(
            "the unchanged scenario passes, so the exercise asks for nothing", style="bold red", soft_wrap=True
        )
