"""Runs with faults get the same verdicts from files and from memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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
from flowsim.validation.judge import open_runs, validate
from tests.support.jobs.fault_matrix import CASES, run_case

ENDS = {
    JobStatus.FINISHED: RunStatus.COMPLETE,
    JobStatus.STOPPED: RunStatus.STOPPED,
    JobStatus.DEADLOCKED: RunStatus.FAILED,
}
Outcomes = dict[str, Outcome]
SOME = CASES[::5]
"""Writing a recording takes longer than the run; files are compared with memory in tests of the laws, too."""


class Both:
    """Hands every fact to memory and to files."""

    def __init__(self, directory: Path) -> None:
        self.level = Level.FULL
        self.memory = MemoryRecorder(self.level)
        self.records_state = self.memory.records_state
        self.files = RecordingWriter(directory, self.level, RunDescription())
        self.values = self.files.values

    def appender(self, table: Table) -> Append:
        to_memory, to_files = self.memory.appender(table), self.files.appender(table)

        def append(*row: int) -> None:
            to_memory(*row)
            to_files(*row)

        return append

    def stamped_appender(self, table: Table, stamp: Stamp) -> Append:
        return stamping(self.appender(table), table, stamp)

    def begin_attempt(self, task: int, seq: int) -> None:
        self.memory.begin_attempt(task, seq)
        self.files.begin_attempt(task, seq)

    def static(self, table: Table, rows: Sequence[tuple[int | str, ...]]) -> None:
        self.memory.static(table, rows)
        self.files.static(table, rows)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[RunStatus, Outcomes, Outcomes]]:
    """By case: how it ended, and its outcomes from memory and from files."""
    folder = tmp_path_factory.mktemp("faults")
    recorders = [Both(folder / str(number) / "recording") for number in range(len(SOME))]
    from_memory: list[tuple[RunStatus, Outcomes]] = []
    for case, recorder in zip(SOME, recorders, strict=True):
        end = ENDS[run_case(case, recorder).status]
        recorder.files.finish(end)
        from_memory.append((end, {outcome.law: outcome for outcome in check_all(recorder.memory, end.value)}))
    report = validate(open_runs([recorder.files.directory.parent for recorder in recorders]))
    return {
        case.name: (end, mine, report.of(run))
        for run, (case, (end, mine)) in enumerate(zip(SOME, from_memory, strict=True))
    }


@pytest.mark.parametrize("case", [case.name for case in SOME])
def test_files_and_memory_get_same_verdicts(case: str, judged: dict[str, tuple[RunStatus, Outcomes, Outcomes]]) -> None:
    end, from_memory, from_files = judged[case]
    assert tuple(from_files) == LAW_IDS
    for law, mine in from_memory.items():
        found = from_files[law]
        assert (found.verdict, found.violations, found.rows_examined, found.evidence) == (
            mine.verdict, mine.violations, mine.rows_examined, mine.evidence,
        ), law  # fmt: skip
        assert end is not RunStatus.COMPLETE or found.reason == mine.reason, law
