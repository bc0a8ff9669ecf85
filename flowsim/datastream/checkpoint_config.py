"""Settings of checkpoints with PyFlink's names. PyFlink: CheckpointConfig, CheckpointingMode."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, NoReturn, Self

from flowsim.datastream.common.time import Duration
from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import CheckpointSettings, checked_checkpoint_settings
from flowsim.graph.job_settings import JobSettings
from flowsim.not_simulated import missing_attribute


class CheckpointingMode(Enum):
    """How often a record affects the state after a failure. PyFlink: CheckpointingMode."""

    EXACTLY_ONCE = "EXACTLY_ONCE"
    AT_LEAST_ONCE = "AT_LEAST_ONCE"


class ExternalizedCheckpointRetention(Enum):
    """Whether checkpoints stay after the end of the job. PyFlink: ExternalizedCheckpointRetention."""

    DELETE_ON_CANCELLATION = "DELETE_ON_CANCELLATION"
    """Only after a failure of the job."""
    RETAIN_ON_CANCELLATION = "RETAIN_ON_CANCELLATION"
    """After a failure and after a cancellation."""
    NO_EXTERNALIZED_CHECKPOINTS = "NO_EXTERNALIZED_CHECKPOINTS"
    """Never."""


class CheckpointConfig:
    """Reads and changes the settings of checkpoints of an environment; times in ms. PyFlink: CheckpointConfig.

    Setters return the object itself, and raise BadInput for values that Flink refuses.
    """

    def __init__(self, settings: JobSettings) -> None:
        self._job = settings

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_attribute(self, name)

    @property
    def _settings(self) -> CheckpointSettings:
        return self._job.checkpointing or CheckpointSettings()

    def _set(self, **changes: object) -> Self:
        self._job.checkpointing = checked_checkpoint_settings(replace(self._settings, **changes))  # type: ignore[arg-type]
        return self

    def is_checkpointing_enabled(self) -> bool:
        """Returns True if there is an interval (rule 12.146)."""
        return self._settings.is_enabled

    def get_checkpoint_interval(self) -> int:
        """Returns the interval; -1 without periodic checkpoints."""
        interval_ms = self._settings.interval_ms
        return -1 if interval_ms is None else interval_ms

    def set_checkpoint_interval(self, checkpoint_interval: int) -> Self:
        """Sets the interval of periodic checkpoints in ms, at least 10 (rule 12.56)."""
        return self._set(interval_ms=checkpoint_interval)

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Returns whether a failure makes records count twice; at least once without an interval (rule 12.146)."""
        exactly_once = self._settings.in_effect().exactly_once
        return CheckpointingMode.EXACTLY_ONCE if exactly_once else CheckpointingMode.AT_LEAST_ONCE

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> Self:
        """Sets whether tasks align barriers (exactly once) or read on while they wait for them (rule 12.47)."""
        if not isinstance(checkpointing_mode, CheckpointingMode):
            raise BadInput(f"set_checkpointing_mode: expected a CheckpointingMode, got {checkpointing_mode!r:.60}")
        return self._set(exactly_once=checkpointing_mode is CheckpointingMode.EXACTLY_ONCE)

    def get_checkpoint_timeout(self) -> int:
        """Returns the age in ms at which a pending checkpoint expires; 10 minutes by default."""
        return self._settings.timeout_ms

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> Self:
        """Sets the age in ms at which a pending checkpoint expires, at least 10 (rule 12.56)."""
        return self._set(timeout_ms=checkpoint_timeout)

    def get_min_pause_between_checkpoints(self) -> int:
        """Returns the least time in ms from the end of a checkpoint to the next periodic one; 0 by default."""
        return self._settings.min_pause_ms

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> Self:
        """Sets the least time between the end of a checkpoint and the next periodic one (rule 12.40)."""
        return self._set(min_pause_ms=min_pause_between_checkpoints)

    def get_max_concurrent_checkpoints(self) -> int:
        """Returns how many checkpoints may be pending at the same time; 1 by default."""
        return self._settings.max_concurrent

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> Self:
        """Sets how many checkpoints may be pending at the same time, at least 1 (rule 12.57)."""
        return self._set(max_concurrent=max_concurrent_checkpoints)

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Returns how many checkpoints in a row may fail; 0 by default."""
        return self._settings.tolerable_failures

    def set_tolerable_checkpoint_failure_number(self, tolerable_checkpoint_failure_number: int) -> Self:
        """Sets how many checkpoints in a row may fail before the job fails (rule 12.52)."""
        return self._set(tolerable_failures=tolerable_checkpoint_failure_number)

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Returns after which ends of the job its checkpoints stay; never by default."""
        return ExternalizedCheckpointRetention(self._settings.retention)

    def set_externalized_checkpoint_retention(self, retention_mode: ExternalizedCheckpointRetention) -> Self:
        """Sets after which ends of the job its checkpoints stay (rule 12.63)."""
        if not isinstance(retention_mode, ExternalizedCheckpointRetention):
            raise BadInput(
                f"set_externalized_checkpoint_retention: expected an ExternalizedCheckpointRetention, got "
                f"{retention_mode!r:.60}"
            )
        return self._set(retention=retention_mode.value)

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Returns True if checkpoints can stay after the end of the job."""
        return self._settings.retention != "NO_EXTERNALIZED_CHECKPOINTS"

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Returns True if barriers overtake buffered data; they do not without an interval (rule 12.146)."""
        return self._settings.in_effect().unaligned

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> Self:
        """Lets barriers overtake buffered data, which is stored with the checkpoint (rule 12.18).

        Raises BadInput in mode at-least-once, and for more than one concurrent checkpoint.
        """
        return self._set(unaligned=bool(enabled))

    def disable_unaligned_checkpoints(self) -> Self:
        """Lets barriers stay behind the data before them."""
        return self._set(unaligned=False)

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Returns the age after which barriers of unaligned checkpoints overtake; 0 by default."""
        return Duration.of_millis(self._settings.aligned_timeout_ms)

    def set_aligned_checkpoint_timeout(self, aligned_checkpoint_timeout: Duration) -> Self:
        """Sets the age after which barriers of unaligned checkpoints overtake; until then they are aligned (rule 12.20)."""
        return self._set(aligned_timeout_ms=aligned_checkpoint_timeout.to_millis())

    def is_force_unaligned_checkpoints(self) -> bool:
        """Returns what ``set_force_unaligned_checkpoints`` set."""
        return self._settings.forced_unaligned

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> Self:
        """Has no effect: in Flink it allows unaligned checkpoints of jobs with loops."""
        return self._set(forced_unaligned=bool(force_unaligned_checkpoints))
