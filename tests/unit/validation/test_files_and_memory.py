"""Runs with faults get the same verdicts from files and from memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.facts.kinds import Level
from flowsim.facts.schema import FACT_TABLES, RECORD_VALUES, STATIC_TABLES
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome
from flowsim.laws.law_ids import LAW_IDS
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


class Remembered(MemoryRecorder):
    """Remembers attempts, too, for a writer of files."""

    def __init__(self) -> None:
        super().__init__(Level.FULL)
        self.begun_attempts: list[tuple[int, int]] = []

    def begin_attempt(self, task: int, seq: int) -> None:
        super().begin_attempt(task, seq)
        self.begun_attempts.append((task, seq))

    def write(self, directory: Path, end: RunStatus) -> None:
        """Hands every fact to files."""
        files = RecordingWriter(directory, self.level, RunDescription())
        for table in STATIC_TABLES:
            if table is not RECORD_VALUES:
                files.static(table, self.static_rows(table.name))
        for task, seq in self.begun_attempts:
            files.begin_attempt(task, seq)
        for table in FACT_TABLES:
            append = files.appender(table)
            for row in self.rows(table.name):
                append(*row)
        files.finish(end)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[RunStatus, Outcomes, Outcomes]]:
    """By case: how it ended, and its outcomes from memory and from files."""
    folder = tmp_path_factory.mktemp("faults")
    recorders = [Remembered() for _ in SOME]
    recordings = [folder / str(number) for number in range(len(SOME))]
    from_memory: list[tuple[RunStatus, Outcomes]] = []
    for case, recorder, folder in zip(SOME, recorders, recordings, strict=True):
        end = ENDS[run_case(case, recorder).status]
        recorder.write(folder / "recording", end)
        from_memory.append((end, {outcome.law: outcome for outcome in check_all(recorder, end.value)}))
    report = validate(open_runs(recordings))
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
