"""What an input answers when it is asked for more. Flink: DataInputStatus (rules 4.5, 4.14)."""

from __future__ import annotations

from enum import Enum


class DataInputStatus(Enum):
    """Flink: DataInputStatus."""

    MORE_AVAILABLE = "more available"
    NOTHING_AVAILABLE = "nothing available"
    """More will come; the task waits for the input to become available."""
    END_OF_RECOVERY = "end of recovery"
    STOPPED = "stopped"
    """No more data, and event time is not flushed (NO_DRAIN)."""
    END_OF_DATA = "end of data"
    """No more data, and event time is flushed (DRAIN)."""
    END_OF_INPUT = "end of input"
    """Not even events will follow."""
