"""Spark, which sees only the files, judges every run with a fault as the simulator itself judged it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.facts.kinds import Level
from flowsim.facts.schema import Table
from flowsim.facts.tracer import Append, Stamp, stamping
from flowsim.laws.catalogue import LAW_IDS
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.memory import MemoryRecorder
from flowsim.recording.writer import RecordingWriter
from flowsim.validation.judge import validate
from tests.support.jobs.fault_matrix import CASES, fault_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

ENDS = {
    JobStatus.FINISHED: RunStatus.COMPLETE,
    JobStatus.STOPPED: RunStatus.STOPPED,
    JobStatus.DEADLOCKED: RunStatus.FAILED,
}
Outcomes = dict[str, Outcome]


class Both:
    """Hands every fact to memory and to files."""

    def __init__(self, directory: Path) -> None:
        self.level = Level.FULL
        self.memory = MemoryRecorder(self.level)
        self.files = RecordingWriter(directory, self.level, RunDescription())

    def appender(self, table: Table) -> Append:
        to_memory, to_files = self.memory.appender(table), self.files.appender(table)

        def append(*row: int) -> None:
            to_memory(*row)
            to_files(*row)

        return append

    def stamped_appender(self, table: Table, stamp: Stamp) -> Append:
        return stamping(self.appender(table), table, stamp)

    def static(self, table: Table, rows: Sequence[tuple[int | str, ...]]) -> None:
        self.memory.static(table, rows)
        self.files.static(table, rows)


@pytest.fixture(scope="module")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Outcomes, Outcomes]]:
    """By case: what the simulator says, and what Spark says."""
    folder = tmp_path_factory.mktemp("faults")
    recorders: list[Both] = []

    def recorder_for(_: object) -> Both:
        recorders.append(Both(folder / str(len(recorders)) / "recording"))
        return recorders[-1]

    in_process: list[Outcomes] = []
    for number, (_, _, result) in enumerate(fault_runs(recorder_for)):
        end, recorder = ENDS[result.status], recorders[number]
        recorder.files.finish(end)
        in_process.append({outcome.law: outcome for outcome in check_all(recorder.memory, end.value)})
    report = validate(spark, [recorder.files.directory.parent for recorder in recorders])
    return {case.name: (mine, report.of(run)) for run, (case, mine) in enumerate(zip(CASES, in_process, strict=True))}


@pytest.mark.parametrize("case", [case.name for case in CASES])
def test_spark_and_the_simulator_agree_on_every_law(case: str, judged: dict[str, tuple[Outcomes, Outcomes]]) -> None:
    in_process, on_spark = judged[case]
    assert tuple(on_spark) == LAW_IDS
    assert {law: (o.verdict, o.violations, o.rows_examined) for law, o in on_spark.items()} == {
        law: (o.verdict, o.violations, o.rows_examined) for law, o in in_process.items()
    }
