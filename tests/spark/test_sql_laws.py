"""Laws in SQL: three shipped laws give equal outcomes, and invalid queries are refused."""

from __future__ import annotations

import json
from operator import ge
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.facts.kinds import Level
from flowsim.facts.schema import TABLES
from flowsim.laws.law import Verdict
from flowsim.recording.reader import Recording
from flowsim.validation.judge import open_runs, validate
from flowsim.validation.sql_law import judge_by_sql, read_sql_law
from tests.support.facts.cases import SMALL_JOBS
from tests.support.facts.random_mutations import KINDS
from tests.support.facts.valid_job import honest_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
QUERIES = Path(__file__).parent / "sql"
LAWS = {"channel-fifo": "channel_fifo", "watermark-monotone": "watermark_monotone", "in-flight": "in_flight"}
DAMAGED = 5
"""Damaged recordings of each law."""


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """By law, an honest recording and one for some kinds of damage to the law."""
    folder = tmp_path_factory.mktemp("sql")
    seed, records, pace_ms = SMALL_JOBS[1]
    honest = honest_job(seed=seed, records=records, pace_ms=pace_ms).write(folder / "honest")
    made = {law: [honest] for law in LAWS}
    for number, kind in enumerate(kind for kind in KINDS if kind.laws & LAWS.keys()):
        laws = [law for law in sorted(kind.laws & LAWS.keys()) if len(made[law]) <= DAMAGED]
        if not laws:
            continue
        facts = honest_job(seed=seed, records=records, pace_ms=pace_ms)
        kind.damage(facts, Random(number))
        path = facts.write(folder / str(number))
        for law in laws:
            made[law].append(path)
    return made


@pytest.fixture(scope="module")
def honest(paths: dict[str, list[Path]]) -> Path:
    return next(iter(paths.values()))[0]


@pytest.mark.parametrize("law", LAWS)
def test_shipped_law_in_sql_gives_same_outcome(spark: SparkSession, paths: dict[str, list[Path]], law: str) -> None:
    query = read_sql_law(QUERIES / f"{LAWS[law]}.sql")
    report = validate(open_runs(paths[law]), [law])
    found = [judge_by_sql(spark, query, Recording.open(path)) for path in paths[law]]
    expected = [line.outcome for line in report.lines]
    assert [outcome.verdict for outcome in found] == [outcome.verdict for outcome in expected]
    # Position by position, no fewer places differ than elements were lost, added, changed or exchanged.
    least = [outcome.violations for outcome in expected]
    counted = [outcome.violations for outcome in found]
    assert counted == least or (law == "channel-fifo" and all(map(ge, counted, least)))
    assert {Verdict.HOLDS, Verdict.VIOLATED} == {outcome.verdict for outcome in found}
    assert all(len(outcome.evidence) == min(20, outcome.violations) for outcome in found)


def test_every_table_is_a_view_with_documented_columns(spark: SparkSession, honest: Path) -> None:
    recording = Recording.open(honest)
    frames = recording.spark(spark)
    for name, table in TABLES.items():
        assert frames[name].columns == [column.name for column in table.stored_columns] == spark.table(name).columns
        rows = recording.static_rows(name) if name in ("tasks", "channels", "keys") else None
        if rows is not None:
            assert sorted(map(tuple, frames[name].collect())) == sorted(rows)
    assert frames["sent"].count() == recording.row_count("sent") > 0


def test_command_checks_sql_law_beside_shipped_laws(spark: SparkSession, honest: Path, tmp_path: Path) -> None:
    query = tmp_path / "late_records.sql"
    query.write_text("SELECT task, seq, timestamp FROM late_drop -- no record may be late\n;")
    refused = CliRunner().invoke(app, ["validate", str(honest), "--law", str(query)])
    assert refused.exit_code == 2
    assert "runs only with --allow-sql" in refused.output
    answer = CliRunner().invoke(app, ["validate", str(honest), "--law", str(query), "--allow-sql", "--json"])
    assert answer.exit_code == 1, answer.output
    laws = {line["law"]: line for line in json.loads(answer.stdout)["laws"]}
    late = Recording.open(honest).row_count("late_drop")
    found = laws["sql:late_records"]
    assert (found["verdict"], found["violations"], found["rows_examined"]) == ("violated", late, late)
    assert set(found["evidence"][0]) == {"task", "seq", "timestamp"}
    assert laws["channel-fifo"]["verdict"] == "holds"


def test_failing_query_and_query_without_facts_are_refused(spark: SparkSession, honest: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.sql"
    broken.write_text("SELECT nothing FROM sent")
    answer = CliRunner().invoke(app, ["validate", str(honest), "--law", str(broken), "--allow-sql"])
    assert answer.exit_code == 2
    assert "broken.sql" in answer.output
    assert "nothing" in answer.output
    broken.write_text("SELECT 1")
    answer = CliRunner().invoke(app, ["validate", str(honest), "--law", str(broken), "--allow-sql"])
    assert answer.exit_code == 2
    assert "over tables of recordings" in answer.output


def test_query_over_unrecorded_facts_is_not_applicable(spark: SparkSession, tmp_path: Path) -> None:
    path = honest_job(Level.ELEMENTS, records=5).write(tmp_path)
    outcome = judge_by_sql(spark, read_sql_law(QUERIES / "in_flight.sql"), Recording.open(path))
    assert (outcome.verdict, "needs recording level full" in outcome.reason) == (Verdict.NOT_APPLICABLE, True)
