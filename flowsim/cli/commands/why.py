"""``flowsim why``: the causes of what happened, or did not happen, in a recorded run."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any

import typer
from rich.console import Console

from flowsim.cli.command import Answer, command
from flowsim.cli.options import Json, Limit
from flowsim.errors import BadInput
from flowsim.limits import limits_of
from flowsim.recording.reader import Recording
from flowsim.trace.time import moment_ns
from flowsim.why.answer import Cause, WhyAnswer, cause_data, cause_lines, command_text
from flowsim.why.questions import QUESTIONS, Asked, answer
from flowsim.why.run_facts import RunFacts

RecordingPath = Annotated[
    Path, typer.Argument(metavar="RECORDING", help="The output directory of 'flowsim run --out'.", show_default=False)
]


def _completed(incomplete: str) -> list[tuple[str, str]]:
    """Returns the questions that begin with ``incomplete``."""
    return [
        (question.name, question.summary) for question in QUESTIONS.values() if question.name.startswith(incomplete)
    ]


QuestionName = Annotated[
    str | None,
    typer.Argument(
        metavar="QUESTION",
        help="; ".join(f"{one.name} {one.words}: {one.summary}" for one in QUESTIONS.values()) + ".",
        autocompletion=_completed,
        show_default=False,
    ),
]
About = Annotated[
    list[str] | None,
    typer.Argument(metavar="ABOUT", help="What the question is about; see QUESTION.", show_default=False),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="TIME", help="Ask about this time after the start of the run, e.g. 1.5s.", show_default=False
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="NAME|ID",
        help="Only this task, by number, name or a unique part of its name.",
        show_default=False,
    ),
]
ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="A report of this recording, for the links; by default report.html in RECORDING, if there is one.",
        show_default=False,
    ),
]

_INDENT = "    "


@command
def why(
    recording: RecordingPath,
    question: QuestionName = None,
    about: About = None,
    at: At = None,
    task: Task = None,
    report: ReportFile = None,
    limit: Limit = None,
    json_output: Json = False,
) -> Answer:
    """Explain what happened in a recorded run, or why it did not happen, as a chain of causes.

    Each cause names the rules of Flink that explain it and, if the recording has a report, links to its fact there. Without
    QUESTION: list the questions, each with an example for this recording.

    For example: flowsim why out/run late

    flowsim why out/run no-output '[0, 500)' --at 5s
    """
    opened = Recording.open(recording, limits=limits_of(limit or ()))
    at_ns = moment_ns("--at", at)
    if report is not None and not report.is_file():
        raise BadInput(f"--report: there is no file {report}; {command_text('report', str(recording))} writes one")
    facts = RunFacts(opened)
    if at_ns is not None:
        facts = facts.until(facts.start_ns + at_ns)
    if question is None:
        return _questions(recording, facts)
    tasks = None if task is None else frozenset(facts.names.find_tasks(task))
    answered = answer(facts, question, Asked(about or [], tasks))
    return _shown(recording, facts, question, about or [], answered, report or _own_report(recording))


def _own_report(recording: Path) -> Path | None:
    """The report beside a recording, if it was written."""
    report = recording / "report.html"
    return report if report.is_file() else None


def _questions(path: Path, facts: RunFacts) -> Answer:
    rows = []
    for question in QUESTIONS.values():
        example = question.example(facts)
        given = [command_text("why", str(path), question.name, *example)] if example else []
        rows.append((command_text("why", str(path), question.name), question.words, question.summary, given))
    document = [
        {"command": text, "about": words, "summary": summary, "examples": given} for text, words, summary, given in rows
    ]

    def show(console: Console) -> None:
        for text, words, summary, given in rows:
            console.print(f"{text} {words}", soft_wrap=True)
            console.print(f"{_INDENT}{summary}", soft_wrap=True)
            for line in given:
                console.print(f"{_INDENT}for example: {line}", soft_wrap=True)

    return Answer(document, show)


def _notes(facts: RunFacts) -> list[str]:
    recording = facts.recording
    if recording.how_it_broke_off:
        epochs = len(recording.epochs)
        return [f"{recording.how_it_broke_off}: the recording ends with its last complete epoch, {epochs:,} in all"]
    if not recording.is_complete:
        return [f"the run did not finish: its status is {recording.status.value}"]
    return []


def _shown(path: Path, facts: RunFacts, question: str, about: list[str], found: WhyAnswer, file: Path | None) -> Answer:
    report = None if file is None else str(file)
    notes = [*found.notes, *_notes(facts)]
    document: dict[str, Any] = {
        "recording": str(path),
        "status": facts.recording.status.value,
        "level": facts.recording.level.name.lower(),
        "question": question,
        "about": about,
        "statement": cause_data(found.statement, facts.start_ns, report),
        "causes": [cause_data(cause, facts.start_ns, report) for cause in found.causes],
        "notes": notes,
        "exit_code": 0,
    }

    def show(console: Console) -> None:
        _print(console, "", found.statement, facts.start_ns, report)
        for number, cause in enumerate(found.causes, start=1):
            _print(console, f"{number:>2}. ", cause, facts.start_ns, report)
        for note in notes:
            console.print(f"note: {note}")
        if report is None:
            text = f"note: {command_text('report', str(path))} writes a report; the answer then links to it"
            console.print(text, soft_wrap=True)

    return Answer(document, show)


def _print(console: Console, head: str, cause: Cause, start_ns: int, report: str | None) -> None:
    for line in cause_lines(cause, start_ns, report):
        parts = (
            [line]
            if report is not None and report in line
            else wrap(line, console.width - len(_INDENT) - 2, break_on_hyphens=False)
        )
        for number, part in enumerate(parts):
            indent = _INDENT if head else ""
            console.print(f"{head or indent}{'  ' if number and line.startswith('- ') else ''}{part}", soft_wrap=True)
            head = head and _INDENT
