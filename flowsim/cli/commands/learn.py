"""``flowsim learn``: lists lessons, asks for predictions, shows the run, and grades exercises."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from flowsim.cli import lessons as shown
from flowsim.cli.command import Answer, command, console
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.options import Json
from flowsim.cli.report_file import write_report
from flowsim.cli.shipped_scenarios import SCHEMA_FILE, SCHEMA_LINE, schema_text, write_new
from flowsim.errors import BadInput
from flowsim.learn.answers import Value, form, options, parsed, text_of
from flowsim.learn.classroom import read_class, summaries
from flowsim.learn.exercise import grade, grade_solution, keys_to_change
from flowsim.learn.lesson import Lesson, lesson_named, lessons, names
from flowsim.learn.lesson_page import Surroundings, lesson_page
from flowsim.learn.predictions import LessonRun, compared, read_answers, run_lesson
from flowsim.learn.workplace import SCENARIO_FILE, Workplace
from flowsim.scenario.loader import load_scenario
from flowsim.scenario.new_file import new_file

DEFAULT_DIR: Final = Path("learn")


def _completed(incomplete: str) -> list[str]:
    return [name for name in names() if name.startswith(incomplete)]


Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]", help="A lesson, or its number: 06.", autocompletion=_completed, show_default=False
    ),
]
Check = Annotated[bool, typer.Option("--check", help="Grade the exercise: run the changed scenario in DIR/NAME.")]
Answers = Annotated[
    Path | None,
    typer.Option(
        "--answers", metavar="FILE", help="Take the predictions from a YAML or JSON file.", show_default=False
    ),
]
Verify = Annotated[
    bool,
    typer.Option("--verify", help="For teachers: print right answers and reference solution, and check the lesson."),
]
Dir = Annotated[Path, typer.Option("--dir", metavar="DIR", help="The learner's folder, with a folder per lesson.")]
Lessons = Annotated[
    Path | None,
    typer.Option("--lessons", metavar="DIR", help="A folder of other lessons: NN_name.md.", show_default=False),
]
Class = Annotated[
    Path | None,
    typer.Option(
        "--class",
        metavar="DIR",
        help="For teachers: tabulate the progress in DIR/LEARNER/LESSON of all learners.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the learner's scenario by that of the lesson.")]
Open = Annotated[
    bool,
    typer.Option("--open", help="Write the lesson as one page, and open it: it asks, grades and shows the report."),
]


@command
def learn(
    name: Name = None,
    check: Check = False,
    answers: Answers = None,
    verify: Verify = False,
    directory: Dir = DEFAULT_DIR,
    folder: Lessons = None,
    class_: Class = None,
    force: Force = False,
    open_: Open = False,
    json_output: Json = False,
) -> Answer:
    """List the lessons. With NAME: predict what a scenario does, see it, and solve an exercise (--check grades it).

    NAME writes the scenario to DIR/NAME, prints the problem and asks its questions, on a terminal, with --answers, or in
    the browser (--open). Then it runs the scenario, compares the answers with the run, explains it, and writes the report.
    Exit code 1: a prediction is wrong, or the exercise is not solved.
    """
    if class_ is not None:
        if name or check or answers or verify or force or open_:
            raise BadInput("--class tabulates all lessons: leave NAME and the other options out")
        return _class(class_)
    if name is None:
        if check or answers or verify or force or open_:
            raise BadInput("--check, --answers, --verify, --force and --open need the NAME of a lesson")
        return _listed(directory, folder)
    if sum((check, answers is not None, verify)) > 1:
        raise BadInput("use one of --check, --answers and --verify")
    if (check or verify) and (force or open_):
        raise BadInput("--force and --open belong to the start of a lesson: leave --check and --verify out")
    lesson = lesson_named(name, folder)
    place = Workplace(directory / lesson.name, _command(lesson, directory, folder))
    if verify:
        return _verified(lesson)
    if check:
        return _checked(lesson, place)
    given = None if answers is None else read_answers(lesson, answers)
    _begin(lesson, place, force)
    if given is None and open_:
        run = run_lesson(lesson, place.out)
        _open_page(lesson, run, place, None, json_output)
        document = _document(lesson, place) | {"page": str(place.page)}
        return Answer(document, lambda console: shown.show_opened(console, place))
    if given is None:
        if json_output or not _is_terminal():
            return Answer(_document(lesson, place), lambda console: shown.show_questions(console, lesson, place))
        shown.show_start(console(), lesson, place)
        given = _asked(lesson)
    return _predicted(lesson, place, given, open_, json_output)


def _class(folder: Path) -> Answer:
    found = read_class(folder)
    of_lessons = summaries(found)
    document = {
        "learners": [{"learner": each.learner, "lesson": each.lesson, **each.progress.model_dump()} for each in found],
        "lessons": [asdict(each) for each in of_lessons],
        "exit_code": 0,
    }
    return Answer(document, lambda console: shown.show_class(console, found, of_lessons))


def _listed(directory: Path, folder: Path | None) -> Answer:
    progress_of = [(lesson, Workplace(directory / lesson.name).progress()) for lesson in lessons(folder)]
    document = [
        {
            "lesson": lesson.name,
            "title": lesson.title,
            "minutes": lesson.model.minutes,
            **progress.model_dump(),
        }
        for lesson, progress in progress_of
    ]
    return Answer(document, lambda console: shown.show_list(console, progress_of))


def _command(lesson: Lesson, directory: Path, folder: Path | None) -> str:
    """Returns the command that continues the lesson in the same folders."""
    options = [] if directory == DEFAULT_DIR else ["--dir", str(directory)]
    options += [] if folder is None else ["--lessons", str(folder)]
    return shlex.join(["flowsim", "learn", lesson.name, *options])


def _begin(lesson: Lesson, place: Workplace, force: bool) -> None:
    """Writes the scenario for the exercise, unless the learner has a copy already."""
    if place.scenario.is_file() and not force:
        return
    comment = f"# Lesson {lesson.name}: {lesson.title}\n"
    text = SCHEMA_LINE + comment + lesson.scenario.text.lstrip("\n")
    write_new(place.folder, {SCENARIO_FILE: text.encode(), SCHEMA_FILE: schema_text().encode()}, force)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def write_lesson_page(
    lesson: Lesson, run: LessonRun, place: Workplace, given: Mapping[str, Value] | None, quiet: bool, lessons: str = ""
) -> None:
    """Writes the lesson as one page, with the report of its run; ``lessons`` is the address of the list of lessons."""
    write_report(place.out, place.report, quiet=quiet)
    around = Surroundings(str(place.scenario), place.command, lessons)
    with new_file("--open", place.page) as file:
        file.write(lesson_page(lesson, run, place.report.read_text(encoding="utf-8"), around, given).encode())


def _open_page(
    lesson: Lesson, run: LessonRun, place: Workplace, given: Mapping[str, Value] | None, quiet: bool
) -> None:
    write_lesson_page(lesson, run, place, given, quiet)
    webbrowser.open(place.page.resolve().as_uri())


def _document(lesson: Lesson, place: Workplace) -> dict[str, Any]:
    """Returns the lesson up to its questions, as JSON values."""
    return {
        "lesson": lesson.name,
        "title": lesson.title,
        "minutes": lesson.model.minutes,
        "scenario": str(place.scenario),
        "problem": lesson.problem,
        "questions": [
            {"name": name, "ask": each.ask, "options": dict(options(each)), "form": form(each)}
            for name, each in lesson.model.questions.items()
        ],
        "exercise": lesson.exercise,
        "exit_code": 0,
    }


def _asked(lesson: Lesson) -> dict[str, Value]:
    """Asks the questions on the terminal; an answer of another form is asked for again."""
    given: dict[str, Value] = {}
    for number, (name, question) in enumerate(lesson.model.questions.items(), start=1):
        shown.show_question(console(), number, name, question)
        while name not in given:
            try:
                given[name] = parsed(question, input("> "))
            except EOFError:
                raise BadInput(f"the input ended before the answer to question {name}") from None
            except BadInput as error:
                console().print(str(error), soft_wrap=True)
    return given


def _predicted(lesson: Lesson, place: Workplace, given: dict[str, Value], open_: bool, quiet: bool) -> Answer:
    run = run_lesson(lesson, place.out)
    predictions = compared(lesson, given, run)
    right = sum(answer.is_right for answer in predictions.answers)
    place.predicted(len(predictions.answers), [each.name for each in predictions.answers if not each.is_right])
    if open_:
        _open_page(lesson, run, place, given, quiet)
    else:
        write_report(place.out, place.report, quiet=quiet)
    links = _links(run, place)
    code = ExitCode.FINE if predictions.all_right else ExitCode.BROKEN
    document: dict[str, Any] = {
        "lesson": lesson.name,
        "right": right,
        "questions": [
            {
                "name": each.name,
                "given": text_of(each.question, each.given),
                "found": text_of(each.question, each.found),
                "right": each.is_right,
                "because": each.question.because,
            }
            for each in predictions.answers
        ],
        "read": [page for page, _ in lesson.reading()],
        "report": str(place.report),
        "moments": [{"look": look, "link": link} for look, link in links],
        "exercise": lesson.exercise,
        "exit_code": int(code),
    }
    return Answer(document, lambda console: shown.show_predictions(console, lesson, place, predictions, links), code)


def _links(run: LessonRun, place: Workplace) -> list[tuple[str, str]]:
    report = place.report.resolve().as_uri()
    return [(moment.look, f"{report}#{moment.address}") for moment in run.moments]


def _checked(lesson: Lesson, place: Workplace) -> Answer:
    if not place.scenario.is_file():
        raise BadInput(f"{place.scenario}: there is no such file; '{place.command}' writes it")
    changed = load_scenario(place.scenario)
    result = grade(lesson, changed)
    place.graded(result.passed)
    hints = [] if result.passed else lesson.model.exercise.hints[: place.progress().failed]
    keys = keys_to_change(lesson, changed) if len(hints) > 1 else []
    code = ExitCode.FINE if result.passed else ExitCode.BROKEN
    document = {
        "lesson": lesson.name,
        "passed": result.passed,
        "findings": [
            {"what": each.what, "expected": each.expected, "found": each.found, "met": each.met}
            for each in result.findings
        ],
        "hints": hints,
        "keys": [
            {"key": each.key, "line": each.where.line, "column": each.where.column, "section": each.section}
            for each in keys
        ],
        "exit_code": int(code),
    }
    return Answer(document, lambda console: shown.show_check(console, lesson, place, result, hints, keys), code)


def _verified(lesson: Lesson) -> Answer:
    right = run_lesson(lesson, None).found
    questions = lesson.model.questions
    solution, unchanged = grade_solution(lesson), grade(lesson, lesson.scenario)
    is_sound = solution.passed and not unchanged.passed
    code = ExitCode.FINE if is_sound else ExitCode.BROKEN
    document = {
        "lesson": lesson.name,
        "answers": {name: text_of(questions[name], value) for name, value in right.items()},
        "solution": lesson.model.exercise.solution,
        "solution_passes": solution.passed,
        "unchanged_fails": not unchanged.passed,
        "exit_code": int(code),
    }
    return Answer(document, lambda console: shown.show_verified(console, lesson, document, solution), code)
