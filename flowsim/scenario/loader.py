"""Reads a scenario file into a validated model with the position of every value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from flowsim.errors import BadInput, ScenarioError, did_you_mean
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.named_pipe import open_file
from flowsim.scenario.features.phases import phase_document
from flowsim.scenario.scenario_model import ScenarioModel, scenario_model
from flowsim.scenario.yaml.messages import report
from flowsim.scenario.yaml.overrides import apply_overrides
from flowsim.scenario.yaml.positions import PositionedDocument, check_size, decode, read_document
from flowsim.scenario.yaml.problems import Problems


@dataclass(frozen=True, slots=True)
class Scenario:
    """A valid scenario: the model, its text, the folder of its inputs, and the positions for later errors."""

    model: ScenarioModel
    document: PositionedDocument
    text: str
    folder: Path
    overrides: tuple[str, ...]
    limits: Limits = DEFAULT_LIMITS
    """The limits of the job that the scenario describes."""
    phases: tuple[Scenario, ...] = ()
    """The scenario of each phase, the first one too; empty without phases."""
    phase: int | None = None
    """The number of the phase, from 1; None for a whole scenario."""

    def of_phase(self, number: int) -> Scenario:
        """Returns the scenario of one phase, from 1. Raises BadInput."""
        if not 1 <= number <= len(self.phases):
            raise BadInput(f"{self.document.file}: has {len(self.phases)} phases, expected at least {number}")
        return self.phases[number - 1]

    def without(self, override: int) -> Scenario:
        """Returns the scenario without one of its overrides, by index. Raises ScenarioError if it needs it."""
        others = (*self.overrides[:override], *self.overrides[override + 1 :])
        whole = load_text(self.text, self.document.file, self.folder, others, self.limits)
        return whole if self.phase is None else whole.of_phase(self.phase)

    def resolved(self) -> dict[str, object]:
        """Returns the whole scenario with its overrides, as JSON values, without unset values."""
        resolved: dict[str, object] = self.model.model_dump(mode="json", exclude_none=True)
        return resolved

    def digest(self) -> str:
        """Returns SHA-256 over the resolved scenario in canonical JSON, without what only an exploration varies.

        The digest is equal for equal meaning, and independent of the layout.
        """
        of_run = {key: value for key, value in self.resolved().items() if key != "vary"}
        canonical = json.dumps(of_run, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def load_scenario(path: str | Path, overrides: Sequence[str] = (), limits: Limits = DEFAULT_LIMITS) -> Scenario:
    """Reads, overrides and validates a scenario file. Raises ScenarioError with all errors."""
    return load_text(read_text(path, limits), str(path), Path(path).resolve().parent, overrides, limits)


def read_text(path: str | Path, limits: Limits = DEFAULT_LIMITS) -> str:
    """Returns the text of a file up to the size limit of scenarios. Raises ScenarioError."""
    file = Path(path)
    try:
        with open_file(file) as opened:
            raw = opened.read(limits.scenario_bytes + 1)
    except FileNotFoundError:
        raise ScenarioError(_missing(file)) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ScenarioError(f"{path}: cannot be read: {reason}") from None
    return decode(raw, str(path), limits)


def load_text(
    text: str, file: str, folder: Path, overrides: Sequence[str] = (), limits: Limits = DEFAULT_LIMITS
) -> Scenario:
    """Validates a scenario given as text; ``file`` names it in errors, ``folder`` is the base of its relative paths."""
    check_size(len(text), file, limits)
    document = read_document(text, file, limits)
    problems = Problems(document)
    if not isinstance(document.value, dict):
        problems.at((), "expected a mapping that begins with 'flowsim: 1'")
        problems.raise_any()
    _check_version(document, problems)
    apply_overrides(document, overrides)
    scenario = Scenario(_valid(document), document, text, folder, tuple(overrides), limits)
    return replace(scenario, phases=_phases(scenario)) if scenario.model.phases else scenario


def _valid(document: PositionedDocument) -> ScenarioModel:
    """Returns the model of a document. Raises ScenarioError with all errors."""
    model = scenario_model()
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        problems = Problems(document)
        report(error, model, document.value, problems)
        problems.raise_any()
        raise


def _phases(scenario: Scenario) -> tuple[Scenario, ...]:
    """Returns the scenario of each phase. Raises ScenarioError."""
    phases = [replace(scenario, phase=1)]
    for index in range(len(scenario.model.phases or ())):
        document = phase_document(scenario.document, index)
        phases.append(replace(scenario, model=_valid(document), document=document, phase=index + 2))
    return tuple(phases)


def _check_version(document: PositionedDocument, problems: Problems) -> None:
    """Checks the version first, because the other keys of another version would be misread."""
    version = document.value.get("flowsim") if isinstance(document.value, dict) else None
    if isinstance(version, int) and not isinstance(version, bool) and version != 1:
        problems.at(
            ("flowsim",), f"expected version 1 of the format, got {version}: this flowsim supports no other version"
        )
        problems.raise_any()


def _missing(file: Path) -> str:
    try:
        siblings = sorted(one.name for one in file.parent.iterdir() if one.suffix in (".yaml", ".yml"))[:200]
    except OSError:
        siblings = []
    return f"{file}: there is no such file{did_you_mean(file.name, siblings)}"
