"""``flowsim why``: the causes of what happened, or did not happen, in a recorded run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from flowsim.cli.command import Answer, command
from flowsim.cli.options import Json, Limit
from flowsim.errors import BadInput
from flowsim.limits import limits_of
from flowsim.recording.reader import Recording
from flowsim.report.look_at import look_at
from flowsim.trace.time import moment_ns
from flowsim.why.answer import command_text
from flowsim.why.explanation import Explanation, explain, report_beside
from flowsim.why.questions import QUESTIONS, Asked
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
    QUESTION: say where to look first in this run, and list the questions, each with an example for this recording.

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
    file = report or report_beside(recording)
    return _shown(recording, explain(facts, str(recording), question, Asked(about or [], tasks), file))


def _questions(path: Path, facts: RunFacts) -> Answer:
    """Where to look first, with the questions about it, then all questions."""
    moments = look_at(facts)
    first = [command_text("why", str(path), *one.question) if one.question else None for one in moments]
    rows = []
    for question in QUESTIONS.values():
        example = question.example(facts)
        given = [command_text("why", str(path), question.name, *example)] if example else []
        rows.append((command_text("why", str(path), question.name), question.words, question.summary, given))
    document = {
        "look_at": [{**one.as_data(), "command": text} for one, text in zip(moments, first, strict=True)],
        "questions": [
            {"command": text, "about": words, "summary": summary, "examples": given}
            for text, words, summary, given in rows
        ],
    }

    def show(console: Console) -> None:
        for one, question in zip(moments, first, strict=True):
            console.print(f"{one.what}: {one.text}", soft_wrap=True)
            if question:
                console.print(f"{_INDENT}{question}", soft_wrap=True)
        console.print()
        for text, words, summary, given in rows:
            console.print(f"{text} {words}".rstrip(), soft_wrap=True)
            console.print(f"{_INDENT}{summary}", soft_wrap=True)
            for line in given:
                console.print(f"{_INDENT}for example: {line}", soft_wrap=True)

    return Answer(document, show)


def _shown(path: Path, found: Explanation) -> Answer:
    def show(console: Console) -> None:
        for line in found.lines(console.width):
            console.print(line, soft_wrap=True)
        if found.report is None:
            text = f"note: {command_text('report', str(path))} writes a report; the answer then links to it"
            console.print(text, soft_wrap=True)

    return Answer(found.to_json() | {"exit_code": 0}, show)
