"""``checkpointing`` and ``restart_strategy`` of a scenario's settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path as FolderPath

from pydantic import Field, model_validator

from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import (
    RESTART_STRATEGIES,
    CheckpointSettings,
    ExponentialDelayRestart,
    FailureRateRestart,
    FixedDelayRestart,
    RestartStrategySettings,
    checked_checkpoint_settings,
    checked_restart_strategy,
)
from flowsim.scenario.context import CompileContext
from flowsim.scenario.paths import confined
from flowsim.scenario.run_directory import is_reserved
from flowsim.scenario.setting_keys import keys_of, values_of
from flowsim.scenario.types import Strict, chosen_of, exactly_one_of, one_of
from flowsim.scenario.yaml.positions import Path


@keys_of(CheckpointSettings)
class CheckpointingModel(Strict):
    """Checkpoints of the job; the keys are the last words of Flink's options `execution.checkpointing.*`."""

    @model_validator(mode="after")
    def _is_possible(self) -> CheckpointingModel:
        settings = CheckpointSettings(**values_of(self, CheckpointSettings))
        if settings.aligned_timeout_ms and not settings.unaligned:
            raise ValueError("aligned_timeout: expected unaligned: true; other checkpoints have no such timeout")
        _checked("checkpointing", lambda: checked_checkpoint_settings(settings))
        return self


@keys_of(FixedDelayRestart)
class FixedDelayModel(Strict):
    """A fixed number of restarts, each after the same delay."""


@keys_of(FailureRateRestart)
class FailureRateModel(Strict):
    """Restarts while failures are rare enough."""


@keys_of(ExponentialDelayRestart)
class ExponentialDelayModel(Strict):
    """Restarts with a delay that grows with each failure."""

    @model_validator(mode="after")
    def _grows(self) -> ExponentialDelayModel:
        settings = ExponentialDelayRestart(**values_of(self, ExponentialDelayRestart))
        _checked("restart strategy", lambda: checked_restart_strategy(settings))
        return self


class NoRestartModel(Strict):
    """No restarts: the first failure ends the job."""


class RestartStrategyModel(Strict, json_schema_extra=exactly_one_of(*RESTART_STRATEGIES)):
    """How the job restarts after failures; exactly one of fixed_delay, failure_rate, exponential_delay, none."""

    fixed_delay: FixedDelayModel | None = Field(default=None, description="A fixed number of restarts.")
    failure_rate: FailureRateModel | None = Field(default=None, description="Restarts while failures are rare.")
    exponential_delay: ExponentialDelayModel | None = Field(default=None, description="Restarts with growing delays.")
    none: NoRestartModel | None = Field(
        default=None, description="No restarts, the first failure ends the job: `none: {}`."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> RestartStrategyModel:
        one_of(self, RESTART_STRATEGIES)
        return self


def _checked(what: str, check: Callable[[], object]) -> None:
    """Raises ValueError, as a model does, for settings that do not fit together."""
    try:
        check()
    except BadInput as error:
        raise ValueError(str(error).removeprefix(f"{what}: ")) from None


def checkpoint_folder(context: CompileContext, path: Path, folder: str | None) -> str | None:
    """Returns the folder of checkpoints or savepoints below the output directory. Raises Failed."""
    if folder is None:
        return None
    out_dir = context.out_dir
    directory = context.attempt(path, lambda: confined(folder, out_dir, allow_path=context.allow_path, what="output"))
    sinks = [out_dir.resolve() / "sinks", *(sink.directory for sink in context.sinks if sink.directory is not None)]
    if is_reserved(directory, out_dir.resolve()) or any(_overlap(directory, sink) for sink in sinks):
        raise context.fail(path, f"expected a folder that only checkpoints use, got {folder!r}")
    return str(directory)


def _overlap(folder: FolderPath, other: FolderPath) -> bool:
    return folder.is_relative_to(other) or other.is_relative_to(folder)


def compile_checkpointing(context: CompileContext, model: CheckpointingModel | None) -> CheckpointSettings | None:
    """Returns the settings of checkpoints; None without checkpoints. Raises Failed."""
    if model is None:
        return None
    settings = CheckpointSettings(**values_of(model, CheckpointSettings))
    folder = checkpoint_folder(context, ("settings", "checkpointing", "directory"), settings.directory)
    return replace(settings, directory=folder)


def compile_restart_strategy(model: RestartStrategyModel | None) -> RestartStrategySettings | None:
    """Returns the restart strategy; None: Flink's default."""
    if model is None:
        return None
    kind, chosen = chosen_of(model, RESTART_STRATEGIES)
    return RESTART_STRATEGIES[kind](**values_of(chosen, RESTART_STRATEGIES[kind]))
