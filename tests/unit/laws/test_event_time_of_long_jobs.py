"""Laws of event time over recordings with many watermarks, compared with their definitions."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from flowsim.facts.kinds import ElementKind
from flowsim.laws.catalogue import LAWS
from flowsim.laws.job_graph import job_graph
from flowsim.laws.slices import Facts
from flowsim.units import MAX_WATERMARK
from tests.support.facts.event_time_history import History
from tests.support.facts.fact_builder import FactBuilder, Row
from tests.support.facts.slicing import BuiltFacts, judged_in_slices
from tests.support.facts.valid_job import honest_job
from tests.support.oracle.judge import check

IDS = ("watermark-monotone", "valve", "task-watermark", "idle")
TABLES = ("sent", "received", "task_watermark", "generated_watermark")


@cache
def long_job() -> FactBuilder:
    return honest_job(seed=2, records=450, pace_ms=8)


def is_watermark(row: Row) -> bool:
    return row["kind"] == ElementKind.WATERMARK


@pytest.mark.parametrize("number", range(9))
def test_long_jobs_get_verdicts_of_oracle(number: int) -> None:
    random, facts = Random(number), long_job().copy()
    for _ in range(number % 3):
        table = random.choice(TABLES)
        row = random.choice(facts.rows(table, is_watermark))
        match random.randrange(3):
            case 0:
                facts.remove(table, row)
            case 1:
                facts.insert_after(row, table, **{n: v for n, v in row.items() if n not in ("seq", "task", "time_ns")})
            case _:
                row["timestamp"] = int(row["timestamp"]) + random.choice((-1, 1, 100))
    compare(BuiltFacts(facts), bool(number % 4), 1 + number % 2)


@pytest.mark.parametrize("wrong", [None, 0, 150, 299])
@pytest.mark.parametrize("column", [4, 5, 6, 7, 8])
def test_changed_row_of_long_strategy_gets_verdict_of_oracle(wrong: int | None, column: int) -> None:
    """Split, kind, timestamp, number of records or highest timestamp of one row is another."""
    strategy: dict[str, object] = {"watermarks": {"kind": "bounded", "bound_ms": 2}}
    history = History(inputs=0, chain=(("source", strategy), ("map", {})))
    for number in range(300):
        history.sends(ElementKind.RECORD, number, number % 2)
        history.makes(ElementKind.WATERMARK, number - 3, number + 1, number)
        history.sends(ElementKind.WATERMARK, number - 3)
    history.makes(ElementKind.WATERMARK, MAX_WATERMARK, 300, 299).sends(ElementKind.WATERMARK, MAX_WATERMARK)
    rows = history.tables["generated_watermark"]
    if wrong is not None:
        row = list(rows[wrong])
        row[column] = int(row[column]) + 1
        rows[wrong] = tuple(row)
    compare(history, True, 2)


def compare(facts: Facts, whole: bool, epochs: int) -> None:
    """Equal counts for all laws."""
    mine = tuple(law for law in LAWS if law.id in IDS)
    found = judged_in_slices(facts, mine, "complete" if whole else "failed", epochs)
    for law in IDS:
        expected, outcome = check(law, facts, job_graph(facts), whole), found[law]
        assert (outcome.verdict, outcome.rows_examined, outcome.violations) == (
            expected.verdict, expected.rows_examined, expected.violations,
        ), law  # fmt: skip
