"""Compiles the scenario of a recording for a command, and finds what its run used."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from flowsim.cli.judging import RecomputePlan
from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import SavepointRestoreSettings
from flowsim.limits import limits_of
from flowsim.recording.manifest import WALL, Manifest
from flowsim.recording.reader import Recording
from flowsim.recording.recorded_file import RECORDING
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.run_description import changed_inputs, recorded_savepoint, recorded_scenario, recorded_until_ns

ALLOW_PYTHON_NEEDED = "needs --allow-python"


def compiled_as_recorded(
    recording: Recording,
    folder: Path | None,
    out: Path,
    allow_python: bool,
    allow_path: bool,
    limits: Sequence[str] | None,
) -> CompiledScenario:
    """Compiles the recorded scenario with the same inputs.

    Raises BadInput if the inputs cannot be found or have changed.

    ``folder`` None selects the folder where the scenario was run, or the folder of its path relative to this one.
    """
    until_ns = recorded_until_ns(recording.manifest)
    first: BadInput | None = None
    for candidate in [folder] if folder is not None else _folders(recording):
        try:
            scenario = recorded_scenario(recording.manifest, candidate, limits_of(limits or ()))
            compiled = compile_scenario(
                scenario, out_dir=out, allow_python=allow_python, allow_path=allow_path, until_ns=until_ns
            )
            changed = changed_inputs(recording.manifest, compiled)
            if not changed:
                return compiled
            raise BadInput("\n".join([*changed, "if the scenario has moved, give its folder with --folder"]))
        except BadInput as error:
            first = first or error
    raise first or BadInput("the folder of the recorded scenario is not known: give it with --folder")


def recompute_plan(
    run: int,
    recording: Recording,
    folder: Path | None,
    allow_python: bool,
    allow_path: bool,
    limits: Sequence[str] | None,
) -> RecomputePlan | None:
    """Returns the recomputation plan of the recorded scenario, or None if there is none. Raises BadInput."""
    script = _recompute_script(recording.manifest, limits)
    if script is None:
        return None
    out = recording.directory.parent
    if not allow_python:
        return RecomputePlan(run, script, None, out, ALLOW_PYTHON_NEEDED)
    if not recording.is_complete:
        return RecomputePlan(run, script, None, out, f"the run is {recording.status.value}, its results are incomplete")
    compiled = compiled_as_recorded(recording, folder, out, allow_python, allow_path, limits)
    return RecomputePlan(run, script, compiled.recompute, out)


def _recompute_script(manifest: Manifest, limits: Sequence[str] | None) -> str | None:
    if manifest.run.scenario is None:
        return None
    model = recorded_scenario(manifest, Path(), limits_of(limits or ())).model
    return None if model.recompute is None else model.recompute.pyspark.partition(":")[0]


def savepoint_as_recorded(recording: Recording) -> SavepointRestoreSettings | None:
    """Returns the snapshot from which the recorded run started; None if it started empty. Raises BadInput."""
    described = recording.manifest.run.options.get("savepoint")
    given = described.get("path") if isinstance(described, dict) else None
    folders = [_known_folder(recording, "savepoint"), Path(given) if isinstance(given, str) else None]
    return recorded_savepoint(recording.manifest, [folder for folder in folders if folder is not None])


def _known_folder(recording: Recording, name: str) -> Path | None:
    """Returns a folder that the run used, if it still exists."""
    try:
        content = RECORDING.content(recording.directory / WALL, recording.limits.description_bytes, "description_bytes")
        known = Path(json.loads(content)[name])
        return known if known.is_dir() else None
    except (BadInput, OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _folders(recording: Recording) -> Iterator[Path]:
    known = _known_folder(recording, "scenario_folder")
    if known is not None:
        yield known
    recorded = recording.manifest.run.scenario
    if recorded is not None and ".." not in Path(recorded.path).parts:
        yield Path(recorded.path).parent
