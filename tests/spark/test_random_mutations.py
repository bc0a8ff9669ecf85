"""Three hundred recordings damaged at random, judged in one pass: fast, slow and in-process judges say the same of each."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import pytest

from flowsim.laws.catalogue import LAW_IDS
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.recording.reader import Recording
from flowsim.validation.judge import validate
from tests.benchmarks.bench_judge import write
from tests.benchmarks.big_recording import BigJob
from tests.support.facts.random_mutations import KINDS
from tests.support.facts.valid_job import honest_job

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from flowsim.validation.verdict import Line
    from tests.support.facts.fact_builder import FactBuilder

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

MUTATED = 200
JOBS = ((1, 11, 8), (1, 14, 8), (4, 14, 8), (2, 14, 14), (5, 14, 14))
"""Seed, records a source and pace of small jobs that have everything to break, late rows too."""
CUTS = (150, 400, 650, 900, 1100)


@dataclass(frozen=True)
class Case:
    """One recording: what was done to it, the laws that must fall, and what the judges say."""

    name: str
    laws: frozenset[str]
    in_process: dict[str, Outcome]
    on_spark: dict[str, Line]


def recordings() -> list[tuple[str, frozenset[str], FactBuilder, str]]:
    """Name, laws that must be broken, facts and status."""
    jobs = [honest_job(seed=seed, records=records, pace_ms=pace) for seed, records, pace in JOBS]
    found = [(f"honest {number}", frozenset[str](), job, "complete") for number, job in enumerate(jobs)]
    found += [(f"cut {cut}", frozenset[str](), jobs[0].copy(cut), "failed") for cut in CUTS]
    for number in range(MUTATED):
        kind = KINDS[number % len(KINDS)]
        facts = jobs[number % len(jobs)].copy()
        kind.damage(facts, Random(number))
        found.append((f"{number}: {kind.name}", kind.laws, facts, "complete"))
    Random(0).shuffle(found)
    return found


@pytest.fixture(scope="module")
def cases(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    folder = tmp_path_factory.mktemp("random")
    made = recordings()
    paths: list[Path] = [
        facts.write(folder / str(number), status, epochs=1) for number, (_, _, facts, status) in enumerate(made)
    ]
    write(BigJob(2, 9, 20), folder / "generated" / "recording")
    paths.append(folder / "generated")
    report = validate(spark, paths, audit=True)
    lines: list[dict[str, Line]] = [{} for _ in paths]
    for line in report.lines:
        lines[line.run][line.outcome.law] = line
    opened = [Recording.open(path) for path in paths]
    known = [*((name, laws) for name, laws, _, _ in made), ("generated", frozenset[str]())]
    return [
        Case(name, laws, {o.law: o for o in check_all(recording, recording.status.value)}, on_spark)
        for (name, laws), recording, on_spark in zip(known, opened, lines, strict=True)
    ]


def test_every_kind_of_damage_and_every_law_is_among_them(cases: list[Case]) -> None:
    damaged = [case for case in cases if case.laws]
    assert len(damaged) == MUTATED
    assert {case.name.split(": ")[1] for case in damaged} == {kind.name for kind in KINDS}
    assert set().union(*(kind.laws for kind in KINDS)) == set(LAW_IDS)


def test_every_damage_breaks_the_laws_that_its_kind_breaks(cases: list[Case]) -> None:
    missed = {
        case.name: sorted(case.laws - fallen)
        for case in cases
        if not case.laws <= (fallen := {law for law, o in case.in_process.items() if o.verdict is Verdict.VIOLATED})
    }
    assert missed == {}


def test_what_nobody_touched_holds(cases: list[Case]) -> None:
    generated = cases[-1]
    assert {(law, o.verdict) for law, o in generated.in_process.items()} == {(law, Verdict.HOLDS) for law in LAW_IDS}
    broken = [
        (case.name, law)
        for case in cases
        for law, outcome in case.in_process.items()
        if not case.laws and outcome.violations
    ]
    assert broken == []


def test_the_fast_form_counts_what_the_in_process_check_counts(cases: list[Case]) -> None:
    def told(outcome: Outcome) -> tuple[str, int, int]:
        return outcome.verdict.value, outcome.rows_examined, outcome.violations

    differ = {
        (case.name, law): (told(mine), told(case.on_spark[law].outcome))
        for case in cases
        for law, mine in case.in_process.items()
        if told(mine) != told(case.on_spark[law].outcome)
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


def test_a_recorder_that_lies_about_the_order_is_seen_by_the_slow_form_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    facts = honest_job(seed=1, records=10)
    first, second = facts.rows("received", lambda row: row["channel"] == 1 and row["kind"] == 0)[2:4]
    first["seq"], second["seq"] = second["seq"], first["seq"]
    report = validate(spark, [facts.write(tmp_path)], ["channel-fifo"], audit=True)
    (line,) = report.lines
    assert (line.outcome.verdict, line.disputed, report.passed) == (Verdict.HOLDS, True, False)
    assert line.audited is not None
    assert dict(line.audited.findings) == {
        "received is not what was sent there": 2, "received: position is not the place": 2,
    }  # fmt: skip
