"""Predictions: runs a lesson's scenario and compares the learner's answers with the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from flowsim.errors import BadInput, ScenarioError, SourcePosition, did_you_mean
from flowsim.explore.explored_job import EXPLORED_BOUNDS
from flowsim.facts.kinds import Level
from flowsim.facts.schema import TABLES
from flowsim.laws.slices import Facts
from flowsim.learn.answers import AnsweredQuestion, Value, parsed, right_answer
from flowsim.learn.lesson import Lesson
from flowsim.learn.lesson_model import MomentModel
from flowsim.recording.reader import Recording
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.expectations import selected_rows
from flowsim.scenario.loader import read_text
from flowsim.scenario.runner import ScenarioRun, run_compiled
from flowsim.scenario.yaml.positions import PositionedDocument, read_document


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of the run: what to look at, and the part of the report's address that opens it there."""

    look: str
    address: str


@dataclass(frozen=True, slots=True)
class LessonRun:
    """What the run of a lesson's scenario answers and shows."""

    found: Mapping[str, Value]
    """The right answers, by the names of the questions."""
    moments: tuple[Moment, ...]


@dataclass(frozen=True, slots=True)
class Predictions:
    """The learner's answers beside those of the run."""

    answers: tuple[AnsweredQuestion, ...]

    @property
    def all_right(self) -> bool:
        return all(answer.is_right for answer in self.answers)


def read_answers(lesson: Lesson, path: Path) -> dict[str, Value]:
    """Reads a YAML or JSON file that maps each question to an answer. Raises ScenarioError with the position."""
    document = read_document(read_text(path), str(path))
    questions = lesson.model.questions
    if not isinstance(document.value, dict):
        raise ScenarioError(f"expected a mapping with the keys {', '.join(questions)}", document.position(()))
    for name in document.value:
        if name not in questions:
            where = document.key_position((name,))
            raise ScenarioError(f"there is no question {name!r}{did_you_mean(name, questions)}", where)
    missing = [name for name in questions if name not in document.value]
    if missing:
        raise ScenarioError(f"no answer to {', '.join(missing)}", SourcePosition(str(path), 1, 1))
    return {name: _read(lesson, name, document) for name in questions}


def _read(lesson: Lesson, name: str, document: PositionedDocument) -> Value:
    given = document.value
    try:
        return parsed(lesson.model.questions[name], given[name] if isinstance(given, dict) else None)
    except BadInput as error:
        raise ScenarioError(f"{name}: {error}", document.position((name,))) from None


def compared(lesson: Lesson, given: Mapping[str, Value], run: LessonRun) -> Predictions:
    """Compares the learner's answers with those of the run."""
    questions = lesson.model.questions.items()
    return Predictions(tuple(AnsweredQuestion(name, each, given[name], run.found[name]) for name, each in questions))


def run_lesson(lesson: Lesson, out: Path | None) -> LessonRun:
    """Runs the lesson's scenario and records it below ``out``; None: in memory.

    Raises BadInput if a question or a moment has no answer in the run, which is an error of the lesson.
    """
    with TemporaryDirectory(prefix="flowsim-learn-") as folder:
        run, facts = _recorded(lesson, Path(folder) if out is None else out, in_memory=out is None)
    found = {name: right_answer(name, question, run, facts) for name, question in lesson.model.questions.items()}
    return LessonRun(found, tuple(_moment(moment, run, facts) for moment in lesson.model.moments))


def _recorded(lesson: Lesson, out: Path, *, in_memory: bool) -> tuple[ScenarioRun, Facts]:
    compiled = compile_scenario(lesson.scenario, out_dir=out)
    where = None if in_memory else out
    run = run_compiled(
        compiled, out=where, record=Level.FULL, record_state=True, clock="virtual", bounds=EXPLORED_BOUNDS
    )
    if run.facts is not None:
        return run, run.facts
    return run, Recording.open(out)


def _moment(moment: MomentModel, run: ScenarioRun, facts: Facts) -> Moment:
    """Finds the first fact in time that the moment selects; the address names it by its task and seq."""
    names = TABLES[moment.at.table].names
    rows = selected_rows(run.compiled.scenario.model, moment.at, facts)
    if not rows or "seq" not in names:
        raise BadInput(f"the run has no fact for the moment {moment.look!r}")
    time, seq, task = names.index("time_ns"), names.index("seq"), names.index("task")
    first = min(rows, key=lambda row: (row[time], row[task], row[seq]))
    parts = [f"view={moment.view}", f"task={first[task]}"]
    parts += [f"{name}={first[names.index(name)]}" for name in ("channel", "operator") if name in names]
    return Moment(moment.look, "&".join([*parts, f"fact={first[task]}.{first[seq]}"]))
