"""What all input gates have in common. Flink: InputGate, BufferOrEvent (sections 7.A, 7.B)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple, Protocol

from flowsim.errors import FlowsimError
from flowsim.network.availability import AvailabilityHelper
from flowsim.network.gates.input_channel import InputChannel, Received


class EndOfDataStatus(Enum):
    """Flink: PullingAsyncDataInput.EndOfDataStatus (rule 7.7)."""

    NOT_END_OF_DATA = 0
    DRAINED = 1
    STOPPED = 2


class InputGateClosed(FlowsimError):
    """The gate was read after it was closed: its task is going away (rule 7.8). Flink: CancelTaskException."""


class BufferOrEvent(NamedTuple):
    """One thing read from a gate (rule 7.4). Flink: BufferOrEvent."""

    channel: InputChannel
    received: Received
    more_available: bool
    """Another channel, or the same, waits in the queue of the gate."""
    more_priority_events: bool


class InputGate(Protocol):
    """Where a task input reads. Flink: InputGate.

    ``availability`` and ``priority_availability`` are its two futures; ``finished``: every channel has ended.
    """

    @property
    def availability(self) -> AvailabilityHelper: ...

    @property
    def priority_availability(self) -> AvailabilityHelper: ...

    @property
    def is_available(self) -> bool: ...

    @property
    def finished(self) -> bool: ...

    @property
    def queued_buffers(self) -> int: ...

    def when_available(self, callback: Callable[[], None]) -> None: ...

    def poll(self) -> BufferOrEvent | None:
        """The next buffer or event in turn; None when there is none now. Raises InputGateClosed."""

    def end_of_data_status(self) -> EndOfDataStatus: ...

    def close(self) -> None: ...
