"""The answer to a question about a recording, as text, as JSON and for notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from flowsim.notebook_html import html_lines
from flowsim.values.record_text import value_text
from flowsim.why.answer import Cause, WhyAnswer, cause_data, cause_lines
from flowsim.why.questions import Asked, answer
from flowsim.why.run_facts import RunFacts

_INDENT: Final = "    "


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The answer to a question of ``flowsim why``: a statement and its causes, each the cause of the one before it.

    ``print`` writes it, an interactive shell and a notebook show it.
    """

    recording: str
    """The recording as the user calls it."""
    status: str
    level: str
    question: str
    about: tuple[str, ...]
    answer: WhyAnswer
    start_ns: int
    notes: tuple[str, ...]
    """What the recording lacks, and what else can be asked."""
    report: Path | None
    """The report that links lead to; None: no links."""

    @property
    def statement(self) -> str:
        """What happened, in one sentence or a few."""
        return self.answer.statement.text

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes as text, from the nearest to the first one."""
        return tuple(cause.text for cause in self.answer.causes)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules of ``docs/flink_rules.md`` that explain the statement and its causes, each once."""
        everything = (self.answer.statement, *self.answer.causes)
        return tuple(dict.fromkeys(rule for cause in everything for rule in cause.rules))

    def lines(self, width: int | None = None) -> Iterator[str]:
        """Returns the lines of text: the statement, the numbered causes, the notes. ``width`` None: nothing is wrapped."""
        yield from self._lines_of("", self.answer.statement, width)
        for number, cause in enumerate(self.answer.causes, start=1):
            yield from self._lines_of(f"{number:>2}. ", cause, width)
        for note in self.notes:
            yield from wrap(f"note: {note}", width) if width else [f"note: {note}"]

    def to_json(self) -> dict[str, Any]:
        """Returns the document of ``flowsim why --json``."""
        statement, causes, report = self.answer.statement, self.answer.causes, self._report
        return {
            "recording": self.recording,
            "status": self.status,
            "level": self.level,
            "question": self.question,
            "about": list(self.about),
            "statement": cause_data(statement, self.start_ns, report),
            "causes": [cause_data(cause, self.start_ns, report) for cause in causes],
            "notes": list(self.notes),
        }

    @property
    def _report(self) -> str | None:
        return None if self.report is None else str(self.report)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Shows the answer in a notebook."""
        return html_lines(self.lines())

    def _lines_of(self, head: str, cause: Cause, width: int | None) -> Iterator[str]:
        indent, report = _INDENT if head else "", self._report
        for line in cause_lines(cause, self.start_ns, report):
            is_whole = width is None or (report is not None and report in line)
            parts = (
                [line] if is_whole or width is None else wrap(line, width - len(_INDENT) - 2, break_on_hyphens=False)
            )
            for number, part in enumerate(parts):
                yield f"{head or indent}{'  ' if number and line.startswith('- ') else ''}{part}"
                head = head and _INDENT


def report_beside(recording: Path) -> Path | None:
    """The report in the directory of a recording or of its run, if it was written."""
    folders = (recording, recording.parent) if recording.name == "recording" else (recording,)
    return next((path for folder in folders if (path := folder / "report.html").is_file()), None)


def explain(facts: RunFacts, name: str, question: str, asked: Asked, report: Path | None = None) -> Explanation:
    """Answers a question by its name; raises BadInput. ``name``: of the recording; ``report``: for links."""
    found, recording = answer(facts, question, asked), facts.recording
    notes = (*found.notes, *_notes(facts))
    status, level = recording.status.value, recording.level.name.lower()
    return Explanation(name, status, level, question, tuple(asked.about), found, facts.start_ns, notes, report)


def _notes(facts: RunFacts) -> list[str]:
    recording = facts.recording
    if recording.how_it_broke_off:
        epochs = len(recording.epochs)
        return [f"{recording.how_it_broke_off}: the recording ends with its last complete epoch, {epochs:,} in all"]
    if not recording.is_complete:
        return [f"the run did not finish: its status is {recording.status.value}"]
    return []


def word_of(about: object) -> str:
    """Returns a word of a question: text as it is, another value as a recording has it."""
    return about if isinstance(about, str) else value_text(about)
