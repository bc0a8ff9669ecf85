"""Jobs with async operators, honest and damaged: the in-process checks and both forms on Spark say the same."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import pytest

from flowsim.facts.kinds import AsyncAction
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.recording.reader import Recording
from flowsim.validation.judge import validate
from tests.support.facts.async_damage import damage_async
from tests.support.facts.async_jobs import recorded_jobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from flowsim.validation.verdict import Line
    from tests.support.facts.fact_builder import FactBuilder

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

LAWS = ("async-order", "async-once", "async-capacity", "async-retries", "async-end")
"""What the same jobs tell of event time is judged in ``test_event_time_agrees.py``, in one pass with others."""
DAMAGED = 2
"""Per job."""


@dataclass(frozen=True)
class Case:
    """One recording, and what the judges say."""

    name: str
    honest: bool
    whole: bool
    facts: FactBuilder
    in_process: dict[str, Outcome]
    on_spark: dict[str, Line]


def recordings() -> Iterator[tuple[str, bool, FactBuilder, str]]:
    """Name, whether it is honest, facts and status: each job as it ran, and damaged."""
    for number, (name, facts, status) in enumerate(recorded_jobs()):
        yield name, True, facts, status
        for again in range(DAMAGED):
            damaged = facts.copy()
            damage_async(damaged, Random(DAMAGED * number + again))
            yield f"{name}, damaged", False, damaged, status


@pytest.fixture(scope="module")
def cases(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    folder = tmp_path_factory.mktemp("async")
    made = list(recordings())
    paths = [facts.write(folder / str(number), status, epochs=1) for number, (_, _, facts, status) in enumerate(made)]
    lines: list[dict[str, Line]] = [{} for _ in paths]
    for line in validate(spark, paths, LAWS, audit=True).lines:
        lines[line.run][line.outcome.law] = line
    return [
        Case(name, honest, status == "complete", facts,
             {o.law: o for o in check_all(Recording.open(path), status) if o.law in LAWS}, on_spark)
        for (name, honest, facts, status), path, on_spark in zip(made, paths, lines, strict=True)
    ]  # fmt: skip


def told(outcome: Outcome, whole: bool) -> tuple[str, int, int, str]:
    return outcome.verdict.value, outcome.rows_examined, outcome.violations, outcome.reason if whole else ""


def test_every_step_of_an_element_is_among_them(cases: list[Case]) -> None:
    steps = {int(row["action"]) for case in cases if case.honest for row in case.facts.rows("async_elements")}
    assert steps == {int(action) for action in AsyncAction}


def test_what_nobody_touched_breaks_no_law(cases: list[Case]) -> None:
    broken = {(c.name, law): o.evidence for c in cases for law, o in c.in_process.items() if c.honest and o.violations}
    assert broken == {}


def test_the_fast_form_says_what_the_in_process_check_says(cases: list[Case]) -> None:
    differ = {
        (case.name, law): (told(mine, case.whole), told(case.on_spark[law].outcome, case.whole))
        for case in cases
        for law, mine in case.in_process.items()
        if told(mine, case.whole) != told(case.on_spark[law].outcome, case.whole)
    }
    assert differ == {}


def test_the_slow_form_disputes_no_verdict(cases: list[Case]) -> None:
    disputed = {
        (case.name, law): (line.outcome.verdict.value, line.outcome.rows_examined, line.audited)
        for case in cases
        for law, line in case.on_spark.items()
        if line.audited is None or line.disputed
    }
    assert disputed == {}


def test_damage_breaks_laws_of_async_operators(cases: list[Case]) -> None:
    fallen = {law for case in cases for law, o in case.in_process.items() if o.verdict is Verdict.VIOLATED}
    assert fallen >= {"async-order", "async-once", "async-capacity", "async-retries"}
