"""Answers to questions: the right ones, computed from a run, and those of learners, which are compared with them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from flowsim.errors import BadInput
from flowsim.laws.slices import Facts
from flowsim.learn.lesson_model import QuestionModel, ResultsModel
from flowsim.scenario.expectations import is_within, measured
from flowsim.scenario.runner import ScenarioRun
from flowsim.scenario.scenario_model import ScenarioModel
from flowsim.sim.virtual_time_loop import START_NS

Rows = tuple[tuple[str, ...], ...]
Value = int | float | Rows | tuple[str, ...] | str
"""A whole number, a number, rows of cells, letters in order, or one letter."""

WHOLE_NUMBER: Final = r"\s*([0-9][0-9,]{0,15})\s*"
NUMBER: Final = r"\s*(-?[0-9][0-9,]{0,18}(?:\.[0-9]{1,9})?)\s*([a-z]{0,2})\s*"
"""How numbers are typed, for Python and for JavaScript: the number, and its unit."""
NO_ROWS: Final = ("-", "none")
"""How the answer "no rows" is typed."""
_NS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question, the learner's answer and that of the run."""

    name: str
    question: QuestionModel
    given: Value
    found: Value

    @property
    def is_right(self) -> bool:
        question, given, found = self.question, self.given, self.found
        if question.number is not None and isinstance(given, int | float) and isinstance(found, int | float):
            return abs(given - found) <= question.number.tolerance + 1e-9
        if question.results is not None and question.results.any_order:
            return isinstance(given, tuple) and isinstance(found, tuple) and sorted(given) == sorted(found)
        return given == found


def options(question: QuestionModel) -> list[tuple[str, str]]:
    """Returns the letters and texts that a question offers."""
    texts: list[str] = []
    if question.choice is not None:
        texts = [each.text for each in question.choice]
    elif question.order is not None:
        texts = [each.text for each in question.order]
    elif question.which is not None:
        texts = list(question.which.nodes)
    return list(zip(_LETTERS, texts, strict=False))


def units(question: QuestionModel) -> dict[str, float]:
    """Returns the units that an answer may have, '' for none, each with its factor to the unit of the question."""
    unit = None if question.number is None else question.number.unit
    return {"": 1} if unit is None else {"": 1} | {each: size / _NS[unit] for each, size in _NS.items()}


def form(question: QuestionModel) -> str:
    """Returns the form of an answer, for people."""
    letters = [letter for letter, _ in options(question)]
    if question.rows is not None:
        return "a whole number"
    if question.number is not None:
        unit, within = question.number.unit, question.number.tolerance
        return f"a number{'' if unit is None else f' of {unit}'}{f', within {within:g}' if within else ''}"
    if question.results is not None:
        order = "in any order" if question.results.any_order else "in order"
        if question.results.has_one_column:
            return f"values {order}, separated by ',' (or none)"
        return f"rows {order}: cells separated by ',', rows by ';', such as a,1; b,2 (or none)"
    if question.order is not None:
        return f"the letters {', '.join(letters)} in order"
    return f"one letter: {', '.join(letters)}"


def parsed(question: QuestionModel, given: object) -> Value:
    """Returns an answer in its comparable form. Raises BadInput, which states the form."""
    value: Value | None
    if question.rows is not None:
        value = _whole(given)
    elif question.number is not None:
        value = _number(given, units(question))
    elif question.results is not None:
        value = _rows(given, question.results.has_one_column)
    else:
        value = _letters(given, question)
    if value is None:
        raise BadInput(f"expected {form(question)}, got {_one_line(given)}")
    return value


def _one_line(given: object) -> str:
    text = given if isinstance(given, str) else json.dumps(given, default=str)
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _whole(given: object) -> int | None:
    if isinstance(given, str):
        match = re.fullmatch(WHOLE_NUMBER, given)
        return None if match is None else int(match[1].replace(",", ""))
    return given if type(given) is int else None


def _number(given: object, factors: Mapping[str, float]) -> int | float | None:
    if isinstance(given, str):
        match = re.fullmatch(NUMBER, given)
        if match is None or match[2] not in factors:
            return None
        return float(match[1].replace(",", "")) * factors[match[2]]
    return given if type(given) in (int, float) and isinstance(given, int | float) else None


def _rows(given: object, has_one_column: bool) -> Rows | None:
    if isinstance(given, str):
        if given.strip().lower() in NO_ROWS:
            return ()
        text = given.replace(",", ";") if has_one_column else given
        rows = [row for row in re.split(r"[;\n]", text) if row.strip()]
        return None if not rows else tuple(tuple(cell.strip().strip("\"'") for cell in row.split(",")) for row in rows)
    if has_one_column and type(given) in (int, float, bool):
        given = [given]
    if isinstance(given, list) and (has_one_column or all(isinstance(row, list) for row in given)):
        return tuple(tuple(map(_cell, row)) if isinstance(row, list) else (_cell(row),) for row in given)
    return None


def _cell(cell: object) -> str:
    match cell:
        case None:
            return "null"
        case bool():
            return "true" if cell else "false"
        case float() if cell.is_integer():
            return str(int(cell))
        case tuple() | list():
            return f"[{' '.join(_cell(each) for each in cell)}]"
    return str(cell)


def _letters(given: object, question: QuestionModel) -> Value | None:
    offered = options(question)
    by_text = {text.lower(): letter for letter, text in offered} | {letter: letter for letter, _ in offered}
    parts = given if isinstance(given, list) else [given]
    if question.order is not None and isinstance(given, str):
        parts = [part for part in re.split(r"[\s,;]+", given) if part]
    letters_or_none = [by_text.get(part.strip().lower().rstrip(".")) for part in parts if isinstance(part, str)]
    letters = tuple(letter for letter in letters_or_none if letter is not None)
    if len(letters) != len(parts):
        return None
    if question.order is not None:
        return letters if sorted(letters) == [letter for letter, _ in offered] else None
    return letters[0] if len(letters) == 1 else None


def right_answer(name: str, question: QuestionModel, run: ScenarioRun, facts: Facts) -> Value:
    """Computes the answer from a run. Raises BadInput if the run gives none, which is an error of the lesson."""
    try:
        return _computed(question, run, facts)
    except LookupError as error:
        raise BadInput(f"question {name!r} has no single answer in the run: {error}") from None


def _computed(question: QuestionModel, run: ScenarioRun, facts: Facts) -> Value:
    model = run.compiled.scenario.model
    if question.rows is not None:
        return next(sink.rows for sink in run.sinks if sink.name == question.rows)
    if question.results is not None:
        return _results(question.results, run)
    if question.number is not None:
        measure = measured(model, question.number, facts)
        if measure is None:
            raise LookupError("no row matches")
        measure -= START_NS if question.number.since_start else 0
        return measure if question.number.unit is None else measure / _NS[question.number.unit]
    if question.choice is not None:
        return _chosen(question, model, facts)
    if question.order is not None:
        places = {
            letter: measured(model, each.at, facts) for letter, each in zip(_LETTERS, question.order, strict=False)
        }
        return tuple(_sorted(places))
    return _node(question, model, facts)


def _results(asked: ResultsModel, run: ScenarioRun) -> Rows:
    records = next(sink.records for sink in run.sinks if sink.name == asked.sink) or ()
    rows = [value if isinstance(value, tuple | list) else (value,) for value, _ in records]
    columns = asked.columns
    if columns is None:
        return tuple(tuple(map(_cell, row)) for row in rows)
    return tuple(tuple(_cell(row[at]) for at in columns) for row in rows)


def _chosen(question: QuestionModel, model: ScenarioModel, facts: Facts) -> str:
    met = [
        letter
        for letter, choice in zip(_LETTERS, question.choice or (), strict=False)
        if all(is_within(fact, measured(model, fact, facts)) for fact in choice.when)
    ]
    if len(met) != 1:
        raise LookupError(f"{len(met)} statements are right")
    return met[0]


def _sorted(places: Mapping[str, int | None]) -> list[str]:
    place_of = {letter: place for letter, place in places.items() if place is not None}
    if len(place_of) < len(places) or len(set(place_of.values())) < len(places):
        raise LookupError("an event is missing, or two have the same place")
    return sorted(place_of, key=lambda letter: place_of[letter])


def _node(question: QuestionModel, model: ScenarioModel, facts: Facts) -> str:
    which = question.which
    if which is None:
        raise LookupError("the question has no kind")
    measure_of = {
        letter: measured(model, which.model_copy(update={"of": node}), facts)
        for letter, node in zip(_LETTERS, which.nodes, strict=False)
    }
    letters = _sorted(measure_of)
    return letters[-1] if which.has == "most" else letters[0]


def text_of(question: QuestionModel, value: Value) -> str:
    """Returns an answer for people."""
    if isinstance(value, int | float):
        unit = None if question.number is None else question.number.unit
        number = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
        return number if unit is None else f"{number} {unit}"
    if question.results is not None:
        rows = [[row] if isinstance(row, str) else row for row in value]
        if question.results.has_one_column:
            return ", ".join(cell for row in rows for cell in row) or "none"
        return "; ".join(", ".join(row) for row in rows) or "none"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else _with_text(value, question)


def _with_text(letter: str, question: QuestionModel) -> str:
    offered = dict(options(question))
    return f"{letter} ({offered[letter]})" if letter in offered else letter
