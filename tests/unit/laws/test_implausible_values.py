"""A recording with values that no run records gets verdicts, or is refused as damaged: no law raises anything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product

import pytest

from flowsim.errors import BadInput
from flowsim.facts.schema import FACT_TABLES, TABLES
from flowsim.laws.judge import check_all
from tests.support.facts.async_jobs import recorded_jobs
from tests.support.facts.cases import SMALL_JOBS
from tests.support.facts.fact_builder import FactBuilder, Row
from tests.support.facts.slicing import BuiltFacts
from tests.support.facts.valid_job import honest_job
from tests.support.facts.window_damage import recorded_window_jobs

VALUES = (-1, 99, 2**31 - 1, -(2**63))
HIGHEST = {"b": 2**7, "i": 2**31, "q": 2**63}
CHECKED_BEFORE = ("seq", "task")
"""Columns whose values are checked before any law examines them."""

Cell = tuple[str, Row, str, int]
"""A table, one of its rows, a column, and the value that it gets."""


def everything() -> FactBuilder:
    seed, records, pace = SMALL_JOBS[-1]
    return honest_job(seed=seed, records=records, pace_ms=pace)


JOBS: dict[str, Callable[[], FactBuilder]] = {
    "everything": everything,
    "windows": lambda: next(recorded_window_jobs())[1],
    "async": lambda: next(recorded_jobs())[1],
}


def rounds(facts: FactBuilder) -> Iterator[list[Cell]]:
    """The first, the middle and the last row of every table get a value in one column; in the end every value in each."""
    by_table = {table.name: facts.rows(table.name) for table in FACT_TABLES}
    for number, turn in product(range(max(len(table.columns) for table in FACT_TABLES)), range(len(VALUES))):
        changed: list[Cell] = []
        for table, rows in by_table.items():
            columns = [column for column in TABLES[table].columns if column.name not in CHECKED_BEFORE]
            if rows and number < len(columns):
                highest = HIGHEST[columns[number].code]
                for place, row in enumerate((rows[0], rows[len(rows) // 2], rows[-1])):
                    value = VALUES[(place + turn) % len(VALUES)]
                    changed.append((table, row, columns[number].name, max(-highest, min(value, highest - 1))))
        if changed:
            yield changed


def failure(facts: FactBuilder, changed: list[Cell], status: str) -> str:
    """What a law raises over the facts with these cells; '' when they are judged or refused."""
    before = [(row, name, row[name]) for _, row, name, _ in changed]
    for _, row, name, value in changed:
        row[name] = value
    try:
        with suppress(BadInput):
            check_all(BuiltFacts(facts), status)
    except Exception as error:
        return repr(error)
    finally:
        for row, name, value_before in reversed(before):
            row[name] = value_before
    return ""


@pytest.mark.parametrize("status", ["complete", "failed"])
@pytest.mark.parametrize("job", JOBS)
def test_implausible_values_get_verdicts_or_are_refused(job: str, status: str) -> None:
    facts = JOBS[job]()
    found: dict[tuple[str, str, int], str] = {}
    for changed in rounds(facts):
        if failure(facts, changed, status):
            for one in changed:
                if what := failure(facts, [one], status):
                    table, _, column, value = one
                    found[table, column, value] = what
    assert found == {}
