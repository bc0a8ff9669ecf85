"""Spark and this process give equal verdicts on all recordings of the tests: correct, cut off and damaged, in one pass."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flowsim.errors import BadInput
from flowsim.laws.law import Outcome, Verdict
from flowsim.validation.judge import open_runs, validate
from flowsim.validation.on_spark import OnSpark
from tests.benchmarks.bench_judge import write
from tests.benchmarks.big_recording import BigJob
from tests.support.facts.cases import Case, mutated, small, with_async, with_event_time, with_windows
from tests.support.facts.checkpoint_laws import OTHER_LAWS
from tests.support.facts.mutations import MUTATIONS
from tests.support.facts.random_mutations import KINDS
from tests.support.facts.restarted import with_restarts
from tests.support.facts.valid_job import honest_job
from tests.support.faults import Fault
from tests.support.jobs.restarted_job import record_restarted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from flowsim.validation.verdict import Report

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

IS_DEEP = os.environ.get("FLOWSIM_HYPOTHESIS_PROFILE") == "deep"
FIRST_OF_LAWS = {law: name for name, (_, laws) in reversed(MUTATIONS.items()) for law in laws}.values()
"""The first mutation that violates each law."""
FAMILIES = {
    "mutated": lambda: (case for case in mutated() if case.name in FIRST_OF_LAWS),
    "small": lambda: islice(small(len(KINDS)), 1, None, 4),
    "async": lambda: islice(with_async(2), 0, None, 3),
    "event time": lambda: islice(with_event_time(9), 0, None, 2),
    "windows": lambda: islice(with_windows(2), 1, None, 4),  # with the only correct join
    "restarts": lambda: with_restarts(12) if IS_DEEP else islice(with_restarts(1), 0, None, 3),
}
"""Every law holds and is violated in some of them; in this process the tests of the laws judge all."""
ODD_NAMES = ("a b", "[1]", "{x,y}", "50%", "a+b", "ü", "*", "q?", "d=1")
"""Folders of the first recordings; the others are numbered."""
Key = tuple[str, str, str]
"""Family, case and law."""


@pytest.fixture(scope="module")
def cases() -> list[tuple[str, Case]]:
    return [(family, case) for family, made in FAMILIES.items() for case in made()]


@pytest.fixture(scope="module")
def reports(
    spark: SparkSession, cases: list[tuple[str, Case]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Report, Report]:
    """Of all recordings, and last a generated one of many tasks: in this process, and on Spark."""
    folder = tmp_path_factory.mktemp("recordings")
    paths = [
        case.write(folder / (ODD_NAMES[number] if number < len(ODD_NAMES) else str(number)), epochs=1 + number % 3 // 2)
        for number, (_, case) in enumerate(cases)
    ]
    write(BigJob(8, 9, 20), folder / "generated" / "recording")
    restored = record_restarted(folder / "restored")
    damaged = record_restarted(folder / "damaged", [Fault("source_skips_at_restore", "Source: Collection Source")])
    runs = open_runs([*paths, folder / "generated", restored, damaged])
    return validate(runs), validate(runs, engine=OnSpark(spark))


def test_outcomes_equal_those_of_this_process(cases: list[tuple[str, Case]], reports: tuple[Report, Report]) -> None:
    in_process, on_spark = reports
    assert in_process.recordings == on_spark.recordings
    names = [*((family, case.name) for family, case in cases), ("generated", "generated"), ("restored", "correct"),
             ("restored", "damaged")]  # fmt: skip
    differ: dict[Key, tuple[Outcome, Outcome]] = {}
    for mine, theirs in zip(in_process.lines, on_spark.lines, strict=True):
        assert (mine.run, mine.outcome.law) == (theirs.run, theirs.outcome.law)
        if mine.outcome != theirs.outcome:
            differ[(*names[mine.run], mine.outcome.law)] = mine.outcome, theirs.outcome
    assert differ == {}


def test_every_law_holds_and_is_violated_in_some_recording(reports: tuple[Report, Report]) -> None:
    found = {(line.outcome.law, line.outcome.verdict) for line in reports[1].lines}
    assert found >= {(law, verdict) for law in OTHER_LAWS for verdict in (Verdict.HOLDS, Verdict.VIOLATED)}


def test_reports_name_the_engine(reports: tuple[Report, Report]) -> None:
    assert [report.engine for report in reports] == ["in this process", "on Spark"]


def test_selected_laws_have_catalogue_order_and_progress_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    runs = open_runs([honest_job(records=11).write(tmp_path / str(number)) for number in range(2)])
    steps: list[tuple[int, int, str]] = []
    report = validate(runs, ["actions", "channel-fifo"], OnSpark(spark), lambda *step: steps.append(step))
    assert [(line.run, line.outcome.law) for line in report.lines] == [
        (0, "channel-fifo"), (0, "actions"), (1, "channel-fifo"), (1, "actions"),
    ]  # fmt: skip
    assert steps == [(0, 2, "recordings"), (2, 2, "recordings")]


def test_damaged_part_is_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    paths = [honest_job(records=11).write(tmp_path / str(number)) for number in range(3)]
    part = tmp_path / "1" / "recording" / "sent" / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-1] + b"!")
    with pytest.raises(BadInput, match=r"1/recording/sent/part-00001\.parquet: is not the file that was recorded"):
        validate(open_runs(paths), engine=OnSpark(spark))
    part.unlink()
    with pytest.raises(BadInput, match=r"1/recording/sent/part-00001\.parquet: missing"):
        validate(open_runs(paths), engine=OnSpark(spark))
