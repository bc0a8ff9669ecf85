"""Finds the snapshot with which a broken-off run of a scenario continues in its own directory (``--resume``)."""

from __future__ import annotations

from pathlib import Path

from flowsim.checkpoints.storage.directory.manifest import read_manifest
from flowsim.checkpoints.storage.directory.stored_snapshot import StoredSnapshot
from flowsim.errors import BadInput
from flowsim.limits import Limits
from flowsim.scenario.run_directory import RunDirectory


def newest_snapshot(directory: Path, scenario: str, limits: Limits) -> tuple[Path, list[str]]:
    """Returns the newest complete checkpoint or savepoint of the run in ``directory``, and why newer ones do not serve.

    Raises BadInput if there is none, or if the run is of another scenario.
    """
    run = RunDirectory(directory)
    if run.scenario is None:
        raise BadInput(f"{directory}: holds no run that could be resumed: run the scenario without --resume")
    if run.scenario != scenario:
        raise BadInput(f"{directory}: holds a run of scenario {run.scenario!r}, not of {scenario!r}: give its --out")
    skipped: list[str] = []
    snapshots: list[tuple[int, Path]] = []
    for path in run.snapshots():
        try:
            snapshots.append((read_manifest(path, limits).checkpoint_id, path))
        except BadInput as error:
            skipped.append(str(error))
    for _, path in sorted(snapshots, reverse=True):
        try:
            StoredSnapshot(path, limits).verify()
        except BadInput as error:
            skipped.append(str(error))
        else:
            return _shown(path), skipped
    damaged = "".join(f"\n  {reason}" for reason in skipped)
    raise BadInput(
        f"{directory}: its run has no complete checkpoint to resume from (at its end a job deletes its checkpoints, also "
        "after an interrupt, unless their retention is retain_on_cancellation): a run without --resume starts anew, deletes "
        f"the rows that this one has written there, and adds its rows to those in tables on a server{damaged}"
    )


def _shown(path: Path) -> Path:
    """The path relative to the working directory, where it lies below it: recordings hold no absolute paths."""
    here = Path.cwd().resolve()
    return path.relative_to(here) if path.is_relative_to(here) else path
