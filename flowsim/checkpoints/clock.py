"""The time of the job manager. Flink: Clock."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """The clock of the job manager, in ms. Flink: Clock."""

    def absolute_time_ms(self) -> int:
        """Returns the time since the epoch; timestamps of checkpoints use it."""
        ...

    def relative_time_ms(self) -> int:
        """Returns a time that never goes back; delays and pauses use it."""
        ...
