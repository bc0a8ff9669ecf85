"""The settings of checkpoints. Flink: CheckpointCoordinatorConfiguration (rules 12.47, 12.56)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flowsim.checkpoints.checkpoint_properties import CheckpointRetentionPolicy
from flowsim.errors import BadInput

DISABLED_CHECKPOINT_INTERVAL: Final = 2**63 - 1
"""No periodic checkpoints."""

_MINIMAL_CHECKPOINT_TIME_MS: Final = 10
_MAXIMAL_MIN_PAUSE_MS: Final = 365 * 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class CheckpointCoordinatorConfiguration:
    """Raises BadInput for values that Flink refuses. Flink: CheckpointCoordinatorConfiguration."""

    checkpoint_interval_ms: int = DISABLED_CHECKPOINT_INTERVAL
    checkpoint_interval_during_backlog_ms: int | None = None
    """While a source processes backlog; None: the same interval; less than 10: no periodic checkpoints."""
    checkpoint_timeout_ms: int = 600_000
    min_pause_ms: int = 0
    """The least time between the completion of a checkpoint and the next periodic one."""
    max_concurrent_checkpoints: int = 1
    retention_policy: CheckpointRetentionPolicy = CheckpointRetentionPolicy.NEVER_RETAIN_AFTER_TERMINATION
    is_exactly_once: bool = True
    is_unaligned_enabled: bool = False
    aligned_checkpoint_timeout_ms: int = 0
    pauses_sources_until_first_checkpoint: bool = False

    def __post_init__(self) -> None:
        for name, value in (("interval", self.checkpoint_interval_ms), ("timeout", self.checkpoint_timeout_ms)):
            if value < _MINIMAL_CHECKPOINT_TIME_MS:
                raise BadInput(
                    f"the checkpoint {name} is {value} ms: expected at least {_MINIMAL_CHECKPOINT_TIME_MS} ms"
                )
        if not 0 <= self.min_pause_ms <= _MAXIMAL_MIN_PAUSE_MS:
            raise BadInput(f"the pause between checkpoints is {self.min_pause_ms} ms: expected 0 ms to one year")
        if self.max_concurrent_checkpoints < 1:
            raise BadInput(
                f"the maximum of concurrent checkpoints is {self.max_concurrent_checkpoints}: expected 1 or more"
            )
        if self.is_unaligned_enabled and self.max_concurrent_checkpoints > 1:
            raise BadInput(
                "unaligned checkpoints do not work with several checkpoints at a time: set the maximum of concurrent "
                "checkpoints to 1"
            )

    @property
    def is_periodic(self) -> bool:
        """True if checkpoints are triggered periodically."""
        return self.base_interval_ms != DISABLED_CHECKPOINT_INTERVAL

    @property
    def base_interval_ms(self) -> int:
        """The interval of periodic checkpoints, which is at least the pause between them."""
        return max(self.checkpoint_interval_ms, self.min_pause_ms)

    @property
    def base_interval_during_backlog_ms(self) -> int:
        """The interval while a source processes backlog; unlike the other one it may be below the pause."""
        interval_ms = self.checkpoint_interval_during_backlog_ms
        if interval_ms is None:
            return self.base_interval_ms
        return DISABLED_CHECKPOINT_INTERVAL if interval_ms < _MINIMAL_CHECKPOINT_TIME_MS else interval_ms
