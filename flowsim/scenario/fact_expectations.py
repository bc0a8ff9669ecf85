"""Expectations about facts: a number counted in the recording of the run, held against what the scenario says of it."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.facts.schema import TABLES
from flowsim.laws.facts import Facts
from flowsim.scenario.expectations import ExpectationOutcome, tasks_of
from flowsim.scenario.models.expect import FactsModel, number_of
from flowsim.scenario.models.scenario import ScenarioModel


def judge_facts(model: ScenarioModel, facts: Facts | None, cut_short: bool) -> tuple[ExpectationOutcome, ...]:
    """One outcome per entry of ``expect.facts``; ``facts`` None: nothing was recorded."""
    return tuple(_judge(model, expected, facts, cut_short) for expected in model.expect.facts)


def _judge(model: ScenarioModel, expected: FactsModel, facts: Facts | None, cut_short: bool) -> ExpectationOutcome:
    what, wanted = f"{expected.says} ({expected.table})", _bounds(expected)
    level = TABLES[expected.table].level
    if facts is None or facts.level < level:
        return ExpectationOutcome(what, wanted, "-", None, f"needs recording level {level.name.lower()}")
    found = _measured(expected, _rows(model, expected, facts))
    if cut_short:
        return ExpectationOutcome(what, wanted, _shown(found), None, "the run was cut short")
    return ExpectationOutcome(what, wanted, _shown(found), _within(expected, found))


def _rows(model: ScenarioModel, expected: FactsModel, facts: Facts) -> list[Sequence[int]]:
    """The rows that fit ``of`` and ``where``."""
    columns = TABLES[expected.table].columns
    names = TABLES[expected.table].names
    demanded = [(names.index(n), number_of(columns[names.index(n)], value)) for n, value in expected.where.items()]
    tasks = None
    if expected.of is not None:
        named = [(int(row[0]), str(row[TABLES["tasks"].names.index("name")])) for row in facts.static_rows("tasks")]
        tasks = tasks_of(model, expected.of, named)
    position = names.index("task") if "task" in names else -1
    return [
        row
        for row in facts.rows(expected.table)
        if all(row[at] == value for at, value in demanded) and (tasks is None or row[position] in tasks)
    ]


def _measured(expected: FactsModel, rows: Sequence[Sequence[int]]) -> int | None:
    if expected.column is None:
        return len(rows)
    at = TABLES[expected.table].names.index(expected.column)
    values = [row[at] for row in rows]
    if expected.take == "sum":
        return sum(values)
    return (max if expected.take == "max" else min)(values, default=None)


def _within(expected: FactsModel, found: int | None) -> bool:
    if found is None:
        return False
    if expected.exactly is not None:
        return found == expected.exactly
    low, high = expected.at_least, expected.at_most
    return (low is None or found >= low) and (high is None or found <= high)


def _bounds(expected: FactsModel) -> str:
    if expected.exactly is not None:
        return str(expected.exactly)
    bounds = ((">=", expected.at_least), ("<=", expected.at_most))
    return " and ".join(f"{sign} {value}" for sign, value in bounds if value is not None)


def _shown(found: int | None) -> str:
    return "no rows" if found is None else str(found)
