"""Runs a job, or the phases of one, several times on both sides, and compares what both saw."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flowsim.checkpoints.storage.directory.manifest import is_checkpoint, read_manifest
from flowsim.conform.compared_job import ComparedJob
from flowsim.conform.comparison import Agreement, Comparison, compared
from flowsim.conform.conformer import FlinkRunner, Simulated, simulated
from flowsim.conform.seen import Answer
from flowsim.conform.settings import with_remote_channels
from flowsim.conform.unsupported import Unsupported
from flowsim.graph.checkpoint_settings import SavepointRestoreSettings
from flowsim.sim.policy import SeededRandomPolicy
from flowsim.sim.rng import RandomStreams

Phases = Sequence[Answer]
"""What one run of a job did, phase by phase; a job without phases has one."""
OnRun = Callable[[str, int, int], None]
"""Called before each run: the side, the number of the run from 1, and how many there are at most."""


def _ignore(side: str, run: int, runs: int) -> None:
    """Shows no progress."""


@dataclass(frozen=True)
class Conformed:
    """The comparison of a job."""

    phases: Sequence[Comparison]
    flink: Sequence[Phases]
    """What Flink answered in each repetition."""

    @property
    def agrees(self) -> bool:
        """Returns True if all phases agree."""
        return all(phase.agrees for phase in self.phases)

    @property
    def is_open(self) -> bool:
        """Returns True if Flink leaves the order or the result open at a subtask."""
        return any(phase.open_places for phase in self.phases)


class Here:
    """The runs of a job here."""

    def __init__(self, jobs: Sequence[ComparedJob]) -> None:
        self._jobs = jobs

    def run(self, seed: int = 0) -> list[Simulated]:
        """Runs all phases; first in, first out, or with a random schedule of a seed above 0. Raises Unsupported.

        In every second random schedule all channels are remote. Elements of local ones, as Flink's embedded cluster has
        them, mostly leave together; Flink's threads can also read each of them at once.
        """
        runs: list[Simulated] = []
        savepoint: SavepointRestoreSettings | None = None
        for number, job in enumerate(self._jobs):
            if runs:
                savepoint = _restored(_newest(self._jobs[number - 1].folders), number)
            for folder in job.folders if len(self._jobs) > 1 else ():
                shutil.rmtree(folder, ignore_errors=True)
            options = replace(job.options, savepoint=savepoint or job.options.savepoint)
            common = with_remote_channels(job.common) if seed % 2 else job.common
            if seed:
                # After every element the policy chooses again.
                options = replace(options, policy=SeededRandomPolicy(RandomStreams(seed)), budget_records=1)
            runs.append(simulated(common, options))
        return runs


def on_flink(runner: FlinkRunner, jobs: Sequence[ComparedJob], here: Sequence[Simulated], folder: Path) -> list[Answer]:
    """Runs all phases on Flink, each from the snapshot of the phase before. Snapshots are in ``folder``."""
    answers: list[Answer] = []
    for number, (job, run) in enumerate(zip(jobs, here, strict=True)):
        options = job.options
        if answers:
            snapshot = answers[-1].snapshot
            options = replace(options, savepoint=_restored(None if snapshot is None else Path(snapshot), number))
        snapshots = folder / f"{number}"
        snapshots.mkdir(parents=True)
        answers.append(runner.run(job.common, options, run, snapshots))
    return answers


def _newest(folders: Sequence[Path]) -> Path | None:
    """Returns the snapshot with the highest number; None without one."""
    snapshots = [path for folder in folders if folder.is_dir() for path in folder.iterdir() if is_checkpoint(path)]
    return max(snapshots, key=lambda path: read_manifest(path).checkpoint_id, default=None)


def _restored(snapshot: Path | None, phase: int) -> SavepointRestoreSettings:
    if snapshot is None:
        raise Unsupported(f"phase {phase} left no snapshot from which the next one could start")
    return SavepointRestoreSettings(str(snapshot))


def repeated_on_flink(
    runner: FlinkRunner,
    jobs: Sequence[ComparedJob],
    here: Sequence[Simulated],
    folder: Path,
    repeat: int,
    on_run: OnRun = _ignore,
) -> list[list[Answer]]:
    """Runs a job on Flink ``repeat`` times. ``here``: its run first in, first out, after which Flink's actions happen."""
    answers = []
    for number in range(1, repeat + 1):
        on_run("on Flink", number, repeat)
        answers.append(on_flink(runner, jobs, here, folder / f"run-{number}"))
    return answers


def conformed(
    jobs: Sequence[ComparedJob],
    here: Sequence[Simulated],
    flink: Sequence[Phases],
    schedules: int,
    on_run: OnRun = _ignore,
) -> Conformed:
    """Compares the runs of Flink with the run here, and with other schedules where they differ, ``schedules`` in all."""
    ours: list[Phases] = [[run.answer for run in here]]
    found = _compared(jobs, ours, flink)
    if any(phase.worst is not Agreement.EXACT or not phase.agrees for phase in found):
        for seed in range(1, schedules):
            on_run("here", seed + 1, schedules)
            ours.append([run.answer for run in Here(jobs).run(seed)])
        found = _compared(jobs, ours, flink)
    return Conformed(found, flink)


def _compared(jobs: Sequence[ComparedJob], ours: Sequence[Phases], flink: Sequence[Phases]) -> list[Comparison]:
    return [
        compared([run[phase] for run in ours], [run[phase] for run in flink], job.operators)
        for phase, job in enumerate(jobs)
    ]
