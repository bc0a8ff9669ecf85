"""The common base of input gates. Flink: InputGate, BufferOrEvent (sections 7.A, 7.B)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple, Protocol

from flowsim.network.gates.input_channel import InputChannel, Received


class AvailabilityHelper:
    """A flag that calls back when it turns on. Flink: AvailabilityProvider.AvailabilityHelper.

    Callbacks run last registered first, as for a Java future. Each callback runs once; at once if the flag is on.
    """

    __slots__ = ("available", "_waiting")

    def __init__(self) -> None:
        self.available = False
        self._waiting: list[Callable[[], None]] = []

    def when_available(self, callback: Callable[[], None]) -> None:
        """Calls back when the flag turns on; at once if the flag is on."""
        if self.available:
            callback()
        else:
            self._waiting.append(callback)

    def set_available(self) -> None:
        """Turns the flag on and calls back."""
        self.available = True
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for callback in reversed(waiting):
                callback()

    def reset_unavailable(self) -> None:
        self.available = False


class EndOfDataStatus(Enum):
    """The end of data of an input. Flink: PullingAsyncDataInput.EndOfDataStatus (rule 7.7)."""

    NOT_END_OF_DATA = 0
    DRAINED = 1
    STOPPED = 2


class BufferOrEvent(NamedTuple):
    """A buffer or event read from a gate (rule 7.4). Flink: BufferOrEvent."""

    channel: InputChannel
    received: Received
    more_available: bool
    """True if any channel is queued in the gate."""
    more_priority_events: bool


class InputGate(Protocol):
    """The input of a task. Flink: InputGate.

    ``availability`` and ``priority_availability`` are its two futures; ``finished`` is True if every channel has ended.
    """

    @property
    def count(self) -> int:
        """The number of channels."""

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
        """Returns the next buffer or event; None if there is none now. Raises InputGateClosed."""

    def end_of_data_status(self) -> EndOfDataStatus: ...

    def close(self) -> None: ...
