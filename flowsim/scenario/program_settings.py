"""``--set`` of a program for PyFlink: settings of a scenario in place of those that the program sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pydantic import Field, ValidationError

from flowsim.datastream.job_executor import ConfiguredJob
from flowsim.graph.checkpoint_settings import CheckpointSettings, checked_checkpoint_settings
from flowsim.graph.job_settings import JobSettings, Link
from flowsim.scenario.features.checkpointing import CheckpointingModel, compile_restart_strategy
from flowsim.scenario.features.network import compile_adaptive_partitioner, compile_debloat
from flowsim.scenario.setting_keys import given_of, values_of
from flowsim.scenario.settings import SettingsModel
from flowsim.scenario.types import Strict
from flowsim.scenario.yaml.messages import report
from flowsim.scenario.yaml.overrides import apply_overrides
from flowsim.scenario.yaml.positions import read_document
from flowsim.scenario.yaml.problems import Problems

_OPTIONS: Final = {"seed": "--seed", "policy": "--policy", "until": "--until", "record": "--record"}
"""The settings of a run that have an option."""
_OF_RUN: Final = (*_OPTIONS, "clock", "record_values", "record_state")


class ProgramSettingsModel(Strict):
    """What ``--set`` can change of a program."""

    settings: SettingsModel = Field(default_factory=SettingsModel, description="How the jobs of the program run.")


class ProgramSettings:
    """Settings of jobs that have priority over those of a program, from overrides such as ``settings.parallelism=2``."""

    def __init__(self, overrides: Sequence[str] = ()) -> None:
        """Raises ScenarioError with all errors."""
        document = read_document("settings: {}", "--set")
        apply_overrides(document, overrides)
        problems = Problems(document)
        try:
            self._settings = ProgramSettingsModel.model_validate(document.value).settings
        except ValidationError as error:
            report(error, ProgramSettingsModel, document.value, problems)
            problems.raise_any()
            raise
        for name in _OF_RUN:
            if name in self._settings.model_fields_set:
                instead = f"use {_OPTIONS[name]}" if name in _OPTIONS else "it is for scenarios only"
                problems.at_key(("settings", name), f"this is a setting of the run, not of a job: {instead}")
        problems.raise_any()

    def apply(self, job: ConfiguredJob) -> None:
        """Sets what is given, whatever the program has set. Raises BadInput for settings that do not fit those."""
        settings, given = self._settings, self._settings.model_fields_set
        values = given_of(settings, JobSettings)
        if "restart_strategy" in given:
            values["restart_strategy"] = compile_restart_strategy(settings.restart_strategy)
        if "buffer_debloat" in given:
            values["buffer_debloat"] = compile_debloat(settings.buffer_debloat)
        if "adaptive_partitioner" in given:
            values["adaptive_partitioner"] = compile_adaptive_partitioner(settings.adaptive_partitioner)
        if "task_managers" in given:
            values["task_managers"] = settings.task_managers
        if "links" in given:
            values["links"] = [Link(**values_of(model, Link)) for model in settings.links]
        if "checkpointing" in given:
            values["checkpointing"] = _checkpointing(settings.checkpointing, job.settings.checkpointing)
        job.configure(**values)


def _checkpointing(
    model: CheckpointingModel | None, of_program: CheckpointSettings | None
) -> CheckpointSettings | None:
    """Returns the settings of the program with what is given; None: no checkpoints."""
    if model is None:
        return None
    return checked_checkpoint_settings(
        replace(of_program or CheckpointSettings(), **given_of(model, CheckpointSettings))
    )
