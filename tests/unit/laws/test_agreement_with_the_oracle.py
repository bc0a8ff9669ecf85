"""The machines of all laws against plain definitions over whole recordings, damaged in every way that the tests know."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from flowsim.facts.schema import STATIC_TABLES, TABLES
from flowsim.laws.catalogue import LAWS
from flowsim.laws.judge import NOTHING_YET
from flowsim.laws.law import Law, Outcome
from flowsim.testing import Schedule, run_job
from tests.support.facts.async_damage import damage_async
from tests.support.facts.async_jobs import recorded_jobs as async_jobs
from tests.support.facts.event_time_jobs import other_jobs, window_jobs
from tests.support.facts.fact_builder import FactBuilder, recorded
from tests.support.facts.mutations import MUTATIONS
from tests.support.facts.random_mutations import KINDS
from tests.support.facts.slicing import judged_in_slices
from tests.support.facts.valid_job import honest_job
from tests.support.oracle.catalogue import LAWS as ORACLE_LAWS
from tests.support.oracle.catalogue import Outcome as OracleOutcome
from tests.support.oracle.job_graph import job_graph as oracle_graph
from tests.support.oracle.judge import check as oracle_check

JOBS = ((1, 11, 8), (1, 14, 8), (4, 14, 8), (2, 14, 14), (5, 14, 14))
"""Seed, records a source and pace."""
CUTS = (150, 400, 650, 900, 1100)


class BuiltFacts:
    """The facts of a builder as ``laws.slices.Facts``."""

    def __init__(self, built: FactBuilder) -> None:
        self.level = built.level
        self._rows: dict[str, list[tuple[int | str, ...]]] = {name: [] for name in TABLES}
        for table, row in built.facts:
            self._rows[table].append(tuple(row[name] for name in TABLES[table].names))

    def rows(self, table: str) -> list[tuple[int, ...]]:
        return self._rows[table]  # type: ignore[return-value]

    def static_rows(self, table: str) -> list[tuple[int | str, ...]]:
        return self._rows[table]


@cache
def cases() -> tuple[tuple[str, BuiltFacts, str], ...]:
    """Name, facts and status."""
    jobs = [honest_job(seed=seed, records=records, pace_ms=pace) for seed, records, pace in JOBS]
    found = [(f"honest {number}", job, "complete") for number, job in enumerate(jobs)]
    found += [(f"cut {cut}", jobs[0].copy(cut), "failed") for cut in CUTS]
    for number in range(2 * len(KINDS)):
        kind = KINDS[number % len(KINDS)]
        facts = jobs[number % len(jobs)].copy()
        kind.damage(facts, Random(number))
        found.append((f"{number}: {kind.name}", facts, "complete" if number % 7 else "failed"))
    whole = honest_job()
    found += [(f"cut at {cut}", whole.copy(cut), "failed") for cut in (500, 2500, 4000, 5600, 6400)]
    for name, (mutation, _) in sorted(MUTATIONS.items()):
        facts = whole.copy()
        mutation(facts)
        found.append((name, facts, "complete"))
    for name, facts, status in async_jobs():
        found.append((name, facts, status))
        for number in range(6):
            damaged, random = facts.copy(), Random(f"{name} {number}")
            for _ in range(1 + number % 2):
                damage_async(damaged, random)
            found.append((f"{name}, damage {number}", damaged, status))
    for number, (name, graph) in enumerate((*window_jobs(), *other_jobs())):
        facts = recorded(run_job(graph, schedule=Schedule("random", number, 1)).facts)
        found.append((name, facts, "complete"))
        for again in range(4):
            found.append(
                (f"{name}, damage {again}", damaged_somewhere(facts.copy(), Random(f"{name} {again}")), "complete")
            )
    return tuple((name, BuiltFacts(facts), status) for name, facts, status in found)


def damaged_somewhere(facts: FactBuilder, random: Random) -> FactBuilder:
    """One fact is taken out, or told again right after itself, or one of its numbers is another."""
    table, row = random.choice([(table, row) for table, row in facts.facts if "seq" in row])
    match random.randrange(3):
        case 0:
            facts.remove(table, row)
        case 1:
            facts.insert_after(row, table, **{n: v for n, v in row.items() if n not in ("seq", "task", "time_ns")})
        case _:
            name = random.choice(
                [n for n in row if n not in ("seq", "task", "channel", "kind", "event", "action", "phase")]
            )
            row[name] = int(row[name]) + (1 if int(row[name]) < 2**62 else -1)
    return facts


@pytest.mark.parametrize("law", ORACLE_LAWS, ids=lambda law: law.id)
def test_machines_count_what_the_definitions_count(law: Law) -> None:
    mine = tuple(one for one in LAWS if one.id == law.id)
    assert mine, "no such law"
    differ, differing = [], 0
    for number, (name, facts, status) in enumerate(cases()):
        expected = oracle_check(law, facts, oracle_graph(facts), status == "complete")  # type: ignore[arg-type]
        for epochs in (1, 4):
            found = judged_in_slices(facts, mine, status, epochs, number)[law.id]
            if told(found) != told(expected):  # type: ignore[arg-type]
                differing += 1
                if len(differ) < 8:
                    differ.append(
                        (
                            name,
                            status,
                            epochs,
                            expected_of(expected, status),
                            told(found),
                            expected.evidence[:3],
                            found.evidence[:3],
                        )
                    )  # type: ignore[arg-type]
    assert not differ, f"{differing} differ:\n" + "\n".join(map(str, differ))


def expected_of(outcome: OracleOutcome, status: str) -> tuple[str, int, int, str]:
    """Where a prefix shows nothing, the judge does not call that vacuous."""
    if outcome.verdict.value == "vacuous" and status != "complete":
        return "not applicable", 0, 0, NOTHING_YET
    return outcome.verdict.value, outcome.rows_examined, outcome.violations, outcome.reason


def told(outcome: Outcome) -> tuple[str, int, int, str]:
    return outcome.verdict.value, outcome.rows_examined, outcome.violations, outcome.reason


def test_every_law_has_a_definition() -> None:
    assert {law.id for law in LAWS} >= {law.id for law in ORACLE_LAWS}
    assert len(STATIC_TABLES) == 7
