"""Windows of all kinds, joins, broadcast and alignment, honest and damaged: the three forms of the laws say the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import pytest

from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.recording.reader import Recording
from flowsim.testing import Schedule, run_job
from flowsim.testing.random_windows import ASSIGNERS, TRIGGERS
from flowsim.validation.judge import validate
from tests.support.facts.event_time_jobs import other_jobs, window_jobs
from tests.support.facts.fact_builder import recorded

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flowsim.validation.verdict import Line
    from tests.support.facts.fact_builder import FactBuilder

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

LAWS = ("window-fire", "late-rows", "lateness", "task-watermark", "idle", "timers")
DAMAGED_TABLES = (
    "window_fire",
    "window_intake",
    "window_merge",
    "late_drop",
    "task_watermark",
    "timers",
    "operator_counts",
)
DAMAGED = 2
"""Per job."""
LEFT_ALONE = ("task", "operator", "key_hash", "kind", "input", "action", "domain", "service")


@dataclass(frozen=True)
class Case:
    """One recording, and what the judges say."""

    name: str
    honest: bool
    whole: bool
    in_process: dict[str, Outcome]
    on_spark: dict[str, Line]


def damage(facts: FactBuilder, random: Random) -> None:
    """Changes, takes out or repeats one row."""
    table = random.choice([name for name in DAMAGED_TABLES if facts.rows(name)])
    row = random.choice(facts.rows(table))
    match random.randrange(4):
        case 0:
            facts.remove(table, row)
        case 1:
            facts.insert_after(
                row, table, **{name: value for name, value in row.items() if name not in ("task", "seq")}
            )
        case _:
            column = random.choice([name for name in row if name not in LEFT_ALONE])
            value = int(row[column])
            row[column] = value + (random.choice((-1, 1)) if abs(value) < 2**62 else -1 if value > 0 else 1)


def recordings() -> Iterator[tuple[str, bool, FactBuilder, str]]:
    """Name, whether it is honest, facts and status: each job as it ran, and damaged."""
    for number, (name, graph) in enumerate((*window_jobs(), *other_jobs())):
        run = run_job(graph, schedule=Schedule("random", number, 1 + number % 3))
        facts = recorded(run.facts)
        yield name, True, facts, "complete"
        for again in range(DAMAGED):
            damaged = facts.copy()
            damage(damaged, Random(DAMAGED * number + again))
            yield f"{name}, damaged", False, damaged, "stopped" if (number + again) % 4 == 3 else "complete"


@pytest.fixture(scope="module")
def cases(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    folder = tmp_path_factory.mktemp("windows")
    made = list(recordings())
    paths: list[Path] = [
        facts.write(folder / str(number), status, epochs=1) for number, (_, _, facts, status) in enumerate(made)
    ]
    lines: list[dict[str, Line]] = [{} for _ in paths]
    for line in validate(spark, paths, LAWS, audit=True).lines:
        lines[line.run][line.outcome.law] = line
    cases = []
    for (name, honest, _, status), path, on_spark in zip(made, paths, lines, strict=True):
        outcomes = {o.law: o for o in check_all(Recording.open(path), status) if o.law in LAWS}
        cases.append(Case(name, honest, status == "complete", outcomes, on_spark))
    return cases


def test_every_assigner_and_every_trigger_is_among_them(cases: list[Case]) -> None:
    pairs = {tuple(case.name.split(", ", 1)) for case in cases}
    assert {pair[0] for pair in pairs} >= set(ASSIGNERS)
    assert {pair[1] for pair in pairs if len(pair) == 2} >= set(TRIGGERS)


def test_what_nobody_touched_breaks_no_law(cases: list[Case]) -> None:
    broken = {(c.name, law): o.evidence for c in cases for law, o in c.in_process.items() if c.honest and o.violations}
    assert broken == {}
    held = {law for case in cases for law, o in case.in_process.items() if o.verdict is Verdict.HOLDS}
    assert held == set(LAWS)


def test_the_fast_form_says_what_the_in_process_check_says(cases: list[Case]) -> None:
    def told(outcome: Outcome, whole: bool) -> tuple[str, int, int, str]:
        return outcome.verdict.value, outcome.rows_examined, outcome.violations, outcome.reason if whole else ""

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
        if line.disputed
    }
    assert disputed == {}


def test_damage_breaks_laws_of_windows_and_timers(cases: list[Case]) -> None:
    fallen = {law for case in cases for law, o in case.in_process.items() if not case.honest and o.violations}
    assert fallen >= {"window-fire", "late-rows", "lateness", "timers"}


def test_the_reason_names_the_windows_that_nobody_can_foretell(cases: list[Case]) -> None:
    (case,) = [case for case in cases if case.name == "windows that cannot be foretold"]
    assert case.on_spark["window-fire"].outcome.reason == (
        "not judged: staggered (all), by the data (when it fires), "
        "evicting (when it fires, and which rows its evictor leaves)"
    )
    assert {case.on_spark[law].outcome.reason for law in ("late-rows", "lateness")} == {""}
