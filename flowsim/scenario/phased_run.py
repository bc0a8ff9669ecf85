"""Runs the phases of a scenario one after the other, each from the snapshot that the phase before left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Protocol

from flowsim.cluster.job_execution import JobStatus
from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import SavepointRestoreSettings
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.resume import newest_snapshot
from flowsim.scenario.run_directory import RunDirectory
from flowsim.scenario.runner import ScenarioRun

_ENDS: Final = (JobStatus.FAILED, JobStatus.DEADLOCKED)


class RunPhase(Protocol):
    """``run_compiled`` with its other arguments: runs a phase in its directory, from a snapshot or without state."""

    def __call__(
        self, compiled: CompiledScenario, /, *, out: Path | None, savepoint: SavepointRestoreSettings | None
    ) -> ScenarioRun: ...


def run_phases(
    compiled: CompiledScenario, out: Path | None, savepoint: SavepointRestoreSettings | None, run: RunPhase
) -> tuple[ScenarioRun, ...]:
    """Runs each phase in its folder of ``out``, the first from ``savepoint``; returns the runs.

    No phase follows a job that failed or deadlocked. A scenario without phases runs in ``out``, or in memory. Raises
    BadInput, like ``run``, and if a phase left no complete snapshot.
    """
    if not compiled.phases or out is None:
        return (run(compiled, out=out, savepoint=savepoint),)
    _remove_earlier_runs(compiled, out)
    runs: list[ScenarioRun] = []
    for number, phase in enumerate(compiled.phases, 1):
        if runs:
            name, limits = phase.scenario.model.name, phase.scenario.limits
            try:
                snapshot, _ = newest_snapshot(out / f"{number - 1}", name, limits)
            except BadInput as error:
                raise BadInput(f"phase {number} cannot start: {error}") from None
            savepoint = SavepointRestoreSettings(str(snapshot))
        runs.append(run(phase, out=out / f"{number}", savepoint=savepoint))
        if runs[-1].result.status in _ENDS:
            break
    return tuple(runs)


def _remove_earlier_runs(compiled: CompiledScenario, out: Path) -> None:
    """Removes the runs of all phases of an earlier run; raises BadInput if ``out`` is the directory of another run."""
    if RunDirectory(out).scenario is not None:
        raise BadInput(f"{out}: holds a run without phases: choose another directory with --out")
    folders = sorted(path for path in out.iterdir() if path.name.isdecimal()) if out.is_dir() else []
    for path in folders:
        directory = RunDirectory(path)
        directory.begin(compiled.scenario.model.name, ())
        directory.end()
