"""Random jobs with random failures commit what they commit without failures (section 12.M, L2, L3)."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from flowsim.cluster.failures import FailTask
from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.run_actions import CancelJob, StopWithSavepoint
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.graph.checkpoint_settings import SavepointRestoreSettings
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import NS_PER_MS
from tests.support.jobs.disturbed_draws import random_actions, random_failures, random_job, with_failing_opens
from tests.support.jobs.disturbed_jobs import DisturbedJob, Output, Run, run
from tests.support.jobs.disturbed_steps import Pair

pytestmark = pytest.mark.property

RUNS = int(os.environ.get("FLOWSIM_RECOVERY_RUNS", "15"))
FIRST = int(os.environ.get("FLOWSIM_RECOVERY_SEED", "0"))
LEGAL = (60084, 60572, 61583)
"""Jobs that were wrong once, or called so: urgent mails in a yield, a cancellation behind its barrier, old channels."""
JUDGED = 4
"""The laws judge every fourth run."""
RESCALED = 5
"""Two runs of five are restored with other parallelism: from the savepoint of a stop, or from a retained checkpoint."""
DURABLE_SINKS = ("csv", "jsonl", "parquet", "sqlite")


class Disturbed:
    """Runs a job with random failures."""

    def __init__(self, random: Random, how: Run, undisturbed: Output, folder: Path) -> None:
        self._random = random
        self._how = how
        self._length_ms = undisturbed.result.elapsed_ns // NS_PER_MS * 3 // 2 + 10
        self._task_managers = undisturbed.task_managers
        self._folder = folder
        self.is_repeated = False
        """Whether output is repeated: the set of rows is compared."""

    def run(self, job: DisturbedJob) -> list[Counter[Pair]]:
        """Returns what the job has committed."""
        job = with_failing_opens(self._random, job)
        failures = random_failures(self._random, job, self._length_ms, self._task_managers)
        actions = () if job.checkpointing is None else random_actions(self._random, self._length_ms)
        recorder = MemoryRecorder(Level.FULL) if self._how.seed % JUDGED == 0 else None
        how = replace(self._how, failures=failures, actions=actions)
        # Rule 12.29: without checkpoints, tasks that have finished and committed start again with the others.
        self.is_repeated = job.checkpointing is None and any(not isinstance(each, FailTask) for each in failures)
        output = self._finished(job, how, "disturbed", recorder=recorder)
        if recorder is not None:
            violated = [outcome for outcome in check_all(recorder) if outcome.verdict is Verdict.VIOLATED]
            assert violated == [], how
        return output.rows

    def stop_and_restore(self, job: DisturbedJob) -> list[Counter[Pair]] | None:
        """Stops the job with a savepoint, and restores it with other parallelism; both runs have failures.

        None: it cannot be restored with this parallelism.
        """
        assert job.checkpointing is not None
        # A stop while tasks restart can wait for its savepoint until that expires.
        timeout_ms = min(job.checkpointing.timeout_ms, 5_000)
        job = replace(job, checkpointing=replace(job.checkpointing, timeout_ms=timeout_ms))
        stop_ns = self._random.randint(0, self._length_ms) * NS_PER_MS
        failures = random_failures(self._random, job, self._length_ms, self._task_managers)
        stop = StopWithSavepoint(stop_ns, directory=str(self._folder / "savepoints"))
        stopped = self._finished(job, replace(self._how, failures=failures, actions=(stop,)), "stopped")
        [request] = stopped.result.requested_snapshots
        if request.path is None or request.error is not None:
            # Rule 12.51: after the savepoint has committed, a failure goes back to the last checkpoint.
            self.is_repeated = "A savepoint has been created" in (request.error or "")
            return stopped.rows
        other = with_failing_opens(self._random, job.rescaled(self._random))
        failures = random_failures(self._random, other, self._length_ms, ())
        restore = SavepointRestoreSettings(request.path, self._random.choice(["CLAIM", "NO_CLAIM", "LEGACY"]))
        try:
            restored = self._finished(other, replace(self._how, failures=failures), "restored", savepoint=restore)
        except BadInput as error:
            # Rule 12.101: another parallelism makes other chains, and edges all-to-all, behind which finished tasks are
            # not restored.
            assert "partially finished" in str(error) or "mixed operator finished state" in str(error), error  # noqa: PT017
            return None
        return [before + after for before, after in zip(stopped.rows, restored.rows, strict=True)]

    def cancel_and_restore(self, job: DisturbedJob) -> list[Counter[Pair]] | None:
        """Cancels the job, and restores its last checkpoint with other parallelism; both runs have failures.

        None: there was no checkpoint. The sinks of both runs have one place, because the second run commits again.
        """
        assert job.checkpointing is not None
        folder = self._folder / "checkpoints"
        checkpointing = replace(job.checkpointing, directory=str(folder), retention="RETAIN_ON_CANCELLATION")
        sinks = tuple(self._random.choice(DURABLE_SINKS) for _ in job.sinks)
        job = replace(job, checkpointing=checkpointing, sinks=sinks)
        failures = random_failures(self._random, job, self._length_ms, self._task_managers)
        cancel = CancelJob(self._random.randint(0, self._length_ms) * NS_PER_MS)
        cancelled = run(job, replace(self._how, failures=failures, actions=(cancel,)), self._folder / "cancelled")
        if cancelled.result.status is JobStatus.FINISHED:
            return cancelled.rows
        assert cancelled.result.status is JobStatus.CANCELED, (cancelled.result.error, cancelled.result.report)
        retained = sorted(folder.glob("chk-*"), key=lambda path: int(path.name.removeprefix("chk-")))
        if not retained:
            return None
        other = with_failing_opens(self._random, job.rescaled_evenly(self._random))
        checkpointing = replace(checkpointing, directory=str(self._folder / "more checkpoints"))
        other = replace(other, checkpointing=checkpointing)
        failures = random_failures(self._random, other, self._length_ms, ())
        restore = SavepointRestoreSettings(str(retained[-1]), self._random.choice(["CLAIM", "NO_CLAIM", "LEGACY"]))
        try:
            restored = self._finished(other, replace(self._how, failures=failures), "cancelled", savepoint=restore)
        except BadInput as error:
            assert "partially finished" in str(error) or "mixed operator finished state" in str(error), error  # noqa: PT017
            return None
        return restored.rows

    def _finished(self, job: DisturbedJob, how: Run, folder: str, **options: Any) -> Output:
        output = run(job, how, self._folder / folder, **options)
        assert output.result.status is JobStatus.FINISHED, (how, output.result.error, output.result.report)
        return output


@pytest.mark.parametrize("seed", [*range(FIRST, FIRST + RUNS), *(() if FIRST else LEGAL)])
def test_disturbed_job_commits_what_undisturbed_job_does(seed: int) -> None:
    """FLOWSIM_RECOVERY_RUNS sets the number of jobs, FLOWSIM_RECOVERY_SEED the first one."""
    random = Random(seed)
    job = random_job(random)
    how = Run(seed, random.choice(["fifo", "random"]), random.choice([1, 3, 4096]))
    with tempfile.TemporaryDirectory() as folder:
        undisturbed = run(job, how, Path(folder) / "undisturbed")
        assert undisturbed.result.status is JobStatus.FINISHED, (undisturbed.result.error, undisturbed.result.report)
        disturbed = Disturbed(random, how, undisturbed, Path(folder))
        match seed % RESCALED:
            case 1 if job.checkpointing is not None:
                rows = disturbed.stop_and_restore(job)
            case 3 if job.checkpointing is not None and job.checkpointing.exactly_once:
                rows = disturbed.cancel_and_restore(job)
            case _:
                rows = disturbed.run(job)
    for found, expected in zip(rows or (), undisturbed.rows, strict=rows is not None):
        if disturbed.is_repeated:
            found = Counter({row: expected[row] for row in found})
        assert found == expected or (job.repeats_records and not expected - found), (
            job,
            found - expected,
            expected - found,
        )
