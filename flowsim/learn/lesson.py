"""Reads lessons: one Markdown file each, with front matter that states questions, moments and the exercise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from flowsim.distribution import shipped
from flowsim.errors import BadInput, ScenarioError, SourcePosition, did_you_mean
from flowsim.learn.lesson_model import LessonModel, QuestionModel
from flowsim.learn.sections import scenarios_run_in, section_of, sections
from flowsim.scenario.features.expect import SelectionModel
from flowsim.scenario.graph_checks import check_expectations
from flowsim.scenario.loader import Scenario, load_text, read_text
from flowsim.scenario.scenario_model import ScenarioModel
from flowsim.scenario.yaml.messages import report
from flowsim.scenario.yaml.positions import Path as ValuePath
from flowsim.scenario.yaml.positions import PositionedDocument, read_document
from flowsim.scenario.yaml.problems import Problems

SHIPPED: Final = "docs/lessons"
"""The folder of the lessons that come with flowsim."""
_PARTS: Final = ("Problem", "Exercise")
_BLOCK: Final = re.compile(r"^```yaml\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True, slots=True)
class Lesson:
    """A valid lesson and the scenario that it runs."""

    path: Path
    title: str
    model: LessonModel
    problem: str
    """The section ``Problem``, as Markdown, without the scenario."""
    exercise: str
    """The section ``Exercise``, as Markdown."""
    scenario: Scenario

    @property
    def name(self) -> str:
        return self.path.stem

    def reading(self) -> list[tuple[str, str]]:
        """Returns the sections that explain the run: their places below docs/, and their Markdown."""
        return [(each, section_of(each)) for each in self.model.read]

    def others_in(self, text: str) -> list[str]:
        """Returns the other scenarios whose runs a section shows: its figures are theirs, not those of the lesson's run."""
        return [name for name in scenarios_run_in(text) if name != self.model.scenario]


def lessons(folder: Path | None = None) -> list[Lesson]:
    """Returns all lessons of a folder, by name; None: those that come with flowsim. Raises BadInput."""
    return [read_lesson(path) for path in _files(folder)]


def lesson_named(name: str, folder: Path | None = None) -> Lesson:
    """Returns a lesson by its name, by the number at the start of its name, or by the rest of it. Raises BadInput."""
    asked = name.removesuffix(".md")
    known = {path.stem: path for path in _files(folder)}
    numbered = {stem.partition("_")[0]: path for stem, path in known.items()}
    unnumbered = {stem.partition("_")[2]: path for stem, path in known.items()}
    lesson = known.get(asked) or numbered.get(asked) or numbered.get(asked.zfill(2)) or unnumbered.get(asked)
    if lesson is None:
        raise BadInput(f"there is no lesson {name!r}{did_you_mean(asked, known)}; flowsim learn lists them")
    return read_lesson(lesson)


def names(folder: Path | None = None) -> list[str]:
    """Returns the names of all lessons of a folder."""
    return [path.stem for path in _files(folder)]


def _files(folder: Path | None) -> list[Path]:
    place = shipped(SHIPPED) if folder is None else folder
    if not place.is_dir():
        raise BadInput(f"{place}: there is no such folder")
    pages = sorted(path for path in place.glob("[0-9]*.md") if path.is_file())
    if not pages:
        raise BadInput(f"{place}: there is no lesson: expected files such as 01_name.md")
    return pages


def read_lesson(path: Path) -> Lesson:
    """Reads and checks a lesson. Raises ScenarioError with all errors of its front matter."""
    text = read_text(path)
    front, body = _parts(text, path)
    document = read_document(front, str(path))
    problems = Problems(document)
    if not isinstance(document.value, dict):
        problems.at((), "expected a mapping with the keys minutes, questions and exercise")
        problems.raise_any()
    try:
        model = LessonModel.model_validate(document.value)
    except ValidationError as error:
        report(error, LessonModel, document.value, problems)
        problems.raise_any()
        raise
    title, problem, exercise = _texts(body, path)
    scenario = _scenario(model, text, path, document)
    _check(model, scenario.model, problems)
    problems.raise_any()
    return Lesson(path, title, model, _BLOCK.sub("", problem).strip(), exercise, scenario)


def _parts(text: str, path: Path) -> tuple[str, str]:
    """Returns the front matter, which begins in line 1, and the text after it."""
    match = re.match(r"(---\n.*?\n)---\n", text, re.S)
    if match is None:
        where = SourcePosition(str(path), 1, 1)
        raise ScenarioError("expected front matter: a line '---', YAML, and a second line '---'", where)
    return match[1], text[match.end() :]


def _texts(body: str, path: Path) -> tuple[str, str, str]:
    title = re.search(r"^# (.+)$", body, re.M)
    parts = sections(body)
    missing = [f"## {part}" for part in _PARTS if not parts.get(part)]
    if title is None or missing:
        expected = ", ".join([*(["# TITLE"] if title is None else []), *missing])
        raise BadInput(f"{path}: the text after the front matter needs the headings {expected}")
    return title[1], parts["Problem"], parts["Exercise"]


def _scenario(model: LessonModel, text: str, path: Path, document: PositionedDocument) -> Scenario:
    """Returns the lesson's scenario, without expectations, which would give the answers."""
    block = _BLOCK.search(text)
    if (model.scenario is None) is (block is None):
        message = "expected either scenario, or a yaml block with the scenario in section Problem"
        raise ScenarioError(message, document.position(("scenario",)))
    if block is not None:
        # Blank lines in place of the text before it: positions in errors are those in the lesson.
        before = "\n" * text.count("\n", 0, block.start(1))
        return load_text(before + block[1], str(path), path.resolve().parent)
    known = {each.stem: each for each in sorted(shipped("scenarios").glob("*.yaml"))}
    name = str(model.scenario)
    if name not in known:
        message = f"there is no scenario {name!r}{did_you_mean(name, known)}"
        raise ScenarioError(message, document.position(("scenario",)))
    shown = without_expectations(known[name].read_text(encoding="utf-8"))
    return load_text(shown, str(known[name]), known[name].resolve().parent)


def without_expectations(text: str) -> str:
    """Returns a scenario's text without its first comment and its key ``expect``."""
    document = read_document(text, "scenario")
    tops = sorted(where.line for path, where in document.keys.items() if len(path) == 1)
    lines = text.splitlines(keepends=True)
    expect = document.keys.get(("expect",))
    if expect is not None:
        end = next((line for line in tops if line > expect.line), len(lines) + 1)
        del lines[expect.line - 1 : end - 1]
    return "".join(lines[tops[0] - 1 :]).rstrip("\n") + "\n"


def _check(model: LessonModel, scenario: ScenarioModel, problems: Problems) -> None:
    """Reports names that the scenario does not have."""
    nodes = [*scenario.sources, *scenario.operators, *scenario.sinks]
    collecting = [name for name, sink in scenario.sinks.items() if sink.collect is not None]
    for name, question in model.questions.items():
        at: ValuePath = ("questions", name)
        if question.rows is not None and question.rows not in scenario.sinks:
            hint = did_you_mean(question.rows, scenario.sinks)
            problems.at((*at, "rows"), f"there is no sink {question.rows!r}{hint}")
        if question.results is not None and question.results.sink not in collecting:
            hint = did_you_mean(question.results.sink, collecting)
            problems.at((*at, "results", "sink"), f"there is no collect sink {question.results.sink!r}{hint}")
        for path, node in _nodes(question):
            if node not in nodes:
                problems.at((*at, *path), f"there is no node {node!r}{did_you_mean(node, nodes)}")
    for index, moment in enumerate(model.moments):
        if moment.at.of is not None and moment.at.of not in nodes:
            hint = did_you_mean(moment.at.of, nodes)
            problems.at(("moments", index, "at", "of"), f"there is no node {moment.at.of!r}{hint}")
    check_expectations(model.exercise.expect, scenario, problems, ("exercise", "expect"))
    for index, place in enumerate(model.read):
        try:
            section_of(place)
        except BadInput as error:
            problems.bad_input(("read", index), error)


def _nodes(question: QuestionModel) -> Iterator[tuple[ValuePath, str]]:
    """Returns the nodes that a question names, with their paths."""
    measures: list[tuple[ValuePath, SelectionModel]] = []
    if question.number is not None:
        measures.append((("number",), question.number))
    for index, choice in enumerate(question.choice or ()):
        measures += [(("choice", index, "when", at), each) for at, each in enumerate(choice.when)]
    for index, event in enumerate(question.order or ()):
        measures.append((("order", index, "at"), event.at))
    for path, measure in measures:
        if measure.of is not None:
            yield (*path, "of"), measure.of
    nodes: Sequence[str] = () if question.which is None else question.which.nodes
    for index, node in enumerate(nodes):
        yield ("which", "nodes", index), node
