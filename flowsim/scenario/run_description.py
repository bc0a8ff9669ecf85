"""The manifest's description of a scenario run, and how to repeat a run from it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from flowsim.checkpoints.storage.directory.manifest import is_checkpoint, read_manifest
from flowsim.errors import BadInput, MemoryLimitReached
from flowsim.facts.kinds import Level
from flowsim.faults.catalogue import Fault
from flowsim.graph.checkpoint_settings import ClaimMode, SavepointRestoreSettings
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.recording.manifest import Manifest, RunDescription, RunStatus, scenario_text
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.loader import Scenario, load_text
from flowsim.scenario.settings import RunSettings
from flowsim.sim.choice_token import ChoiceToken
from flowsim.sim.exploring_loop import ExploringPolicy
from flowsim.sim.policy import SchedulingPolicy
from flowsim.sim.sampled.by_strategy import replay
from flowsim.sim.sampled.costs import CostsPolicy

_OF_TOKENS: Final = (ExploringPolicy.name, CostsPolicy.name)
"""The policies of explored runs, which their tokens repeat."""

_OUT_OF_MEMORY: Final = (f"{MemoryLimitReached.__name__}:", f"{MemoryError.__name__}:")
"""The start of the cause of a run that a limit of memory ended."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """The arguments of ``run_compiled`` that repeat a recorded run."""

    seed: int
    policy: Literal["fifo", "random"] | SchedulingPolicy
    record: Level
    record_values_bytes: int | None
    record_state: bool
    until_ns: int | None
    budget_records: int | None


def describe_run(
    compiled: CompiledScenario,
    settings: RunSettings,
    policy: SchedulingPolicy,
    until_ns: int | None,
    budget_records: int | None,
    faults: Sequence[Fault],
    savepoint: SavepointRestoreSettings | None = None,
) -> RunDescription:
    """Describes a run before its first step, without the wall clock, an absolute path, or the input files.

    Raises BadInput if the savepoint cannot be read.
    """
    scenario = compiled.scenario
    resolved: dict[str, Any] = scenario.model.settings.model_dump(mode="json")
    resolved |= {
        "seed": settings.seed,
        "policy": policy.name,
        "clock": settings.clock,
        "until": settings.until_ns,
        "record": settings.record.name.lower(),
        "record_values": settings.record_values_bytes,
        "record_state": settings.record_state,
    }
    if budget_records is not None:
        resolved["budget_records"] = budget_records
    options: dict[str, Any] = {"set": list(scenario.overrides), "policy": policy.describe()}
    options |= {"phase": scenario.phase} if scenario.phase is not None else {}
    options |= {"until_ns": until_ns} if until_ns is not None else {}
    options |= {"budget_records": budget_records} if budget_records is not None else {}
    options |= {"faults": [asdict(fault) for fault in faults]} if faults else {}
    if savepoint is not None:
        options["savepoint"] = {
            **asdict(savepoint),
            "path": _shown_path(savepoint.path),
            "digest": read_manifest(Path(savepoint.path), scenario.limits).digest,
        }
    return RunDescription(
        scenario=scenario_text(_shown_path(scenario.document.file), scenario.text),
        settings=resolved,
        options=options,
        seed=settings.seed,
        policy=policy.name,
        clock=settings.clock,
    )


def input_digests(compiled: CompiledScenario) -> dict[str, str]:
    """Returns SHA-256 of every input file, by the file's name relative to the scenario.

    The hash is that of the file as the run read it, or else of the file as it is now.

    A file that cannot be read any more has none.
    """
    digests: dict[str, str] = {}
    for file in compiled.inputs:
        with suppress(OSError, BadInput):
            digests[_relative(file.name, compiled.scenario.folder)] = file.sha256()
    return digests


def rerun_of(manifest: Manifest) -> Rerun:
    """Returns the arguments that repeat a recorded scenario.

    Raises BadInput, with the reason, if the run cannot be repeated.
    """
    run = manifest.run
    if run.scenario is None:
        raise BadInput(
            "it was recorded by a Python program, not from a scenario: run the program again with the same seed"
        )
    if run.clock != "virtual":
        raise BadInput(
            "it ran on the real clock, where the order of events depends on the machine: it cannot be repeated"
        )
    if run.policy not in ("fifo", "random", *_OF_TOKENS):
        raise BadInput(f"it ran under the policy '{run.policy}', which only its own program can create")
    if "faults" in run.options:
        raise BadInput("its faults were switched on by a Python program, not by the scenario")
    if manifest.status is RunStatus.CANCELED and manifest.failure is not None:
        raise BadInput("its run was interrupted at an unknown point; run the scenario again instead")
    if manifest.failure is not None and manifest.failure.cause.startswith(_OUT_OF_MEMORY):
        raise BadInput("its limit of memory ended it, at a point that depends on the machine; run the scenario again")
    policy: Literal["fifo", "random"] | SchedulingPolicy = "random" if run.policy == "random" else "fifo"
    if run.policy in _OF_TOKENS:
        token = recorded_token(manifest)
        if token is None:
            raise BadInput("its choices were not recorded")
        policy = replay(token).policy()
    return Rerun(
        run.seed,
        policy,
        manifest.recorded_level,
        _integer(run.settings, "record_values", 0, 1 << 40),
        run.settings.get("record_state") is True,
        recorded_until_ns(manifest),
        _integer(run.options, "budget_records", 1, 1_000_000),
    )


def recorded_token(manifest: Manifest) -> ChoiceToken | None:
    """Returns the token of a run that repeated an explored one; None for others. Raises BadInput."""
    policy = manifest.run.options.get("policy")
    token = policy.get("token") if isinstance(policy, dict) else None
    return ChoiceToken.parse(token) if isinstance(token, str) else None


def recorded_savepoint(manifest: Manifest, folders: Sequence[Path]) -> SavepointRestoreSettings | None:
    """Returns the snapshot from which a recorded run started, in the first of these folders that contains it; or None.

    Raises BadInput if it is not there any more, has changed, or belongs to the run.
    """
    described = manifest.run.options.get("savepoint")
    if described is None:
        return None
    try:
        recorded = msgspec.convert(described, _RecordedSavepoint)
    except msgspec.ValidationError as error:
        raise BadInput(f"damaged manifest: run.options.savepoint: {error}") from None
    if recorded.claim_mode == "CLAIM":
        raise BadInput(f"it claimed the snapshot {recorded.path}, which a second run would delete")
    snapshot = next((folder for folder in folders if is_checkpoint(folder)), None)
    if snapshot is None:
        raise BadInput(f"the snapshot {recorded.path} from which it started was moved or deleted")
    if read_manifest(snapshot).digest != recorded.digest:
        raise BadInput(f"the snapshot {snapshot} from which it started has changed")
    return SavepointRestoreSettings(str(snapshot), recorded.claim_mode, recorded.allow_non_restored_state)


class _RecordedSavepoint(msgspec.Struct, forbid_unknown_fields=True):
    path: str
    claim_mode: ClaimMode
    allow_non_restored_state: bool
    digest: str


def recorded_until_ns(manifest: Manifest) -> int | None:
    """Returns the ``--until`` of a recorded run in ns, or None. Raises BadInput."""
    return _integer(manifest.run.options, "until_ns", 1, 2**62)


def recorded_scenario(manifest: Manifest, folder: Path, limits: Limits = DEFAULT_LIMITS) -> Scenario:
    """Returns the scenario of a recording, as if its file were in ``folder``. Raises BadInput, ScenarioError."""
    recorded = manifest.run.scenario
    if recorded is None:
        raise BadInput("it was recorded by a Python program, not from a scenario")
    overrides = manifest.run.options.get("set", [])
    if not isinstance(overrides, list):
        raise BadInput("damaged manifest: run.options.set: expected a list")
    scenario = load_text(recorded.text, recorded.path, folder, [str(text) for text in overrides], limits)
    phase = _integer(manifest.run.options, "phase", 1, 1_000)
    return scenario if phase is None else scenario.of_phase(phase)


def changed_inputs(manifest: Manifest, compiled: CompiledScenario) -> list[str]:
    """Returns one line per input file that differs from the recorded run's input file."""
    recorded = manifest.run.inputs
    digests = input_digests(compiled)
    return [
        f"input {name}: the recorded run read a file with SHA-256 {recorded.get(name, 'none')}, "
        f"this one has {digests.get(name, 'none')}"
        for name in sorted({*recorded, *digests})
        if recorded.get(name) != digests.get(name)
    ]


def _integer(described: Mapping[str, object], name: str, least: int, most: int) -> int | None:
    value = described.get(name)
    if value is None:
        return None
    if type(value) is not int or not least <= value <= most:
        raise BadInput(f"damaged manifest: {name}: expected an integer from {least} to {most}, got {value!r:.40}")
    return value


def _shown_path(given: str) -> str:
    """Returns the path as given, if it is below the working directory; otherwise only the name."""
    path = Path(given)
    return path.name if path.is_absolute() or ".." in path.parts else path.as_posix()


def _relative(name: str, folder: Path) -> str:
    return Path(os.path.relpath(name, folder)).as_posix() if Path(name).is_absolute() else name
