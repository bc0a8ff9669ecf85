"""The storage for the channel state of an unaligned checkpoint. Flink: ChannelStateWriter (rules 5.28, 5.32)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


class ChannelStateFuture:
    """The future of the data before a timeoutable barrier, complete when the barrier was read or timed out (rule 5.32).

    Flink: CompletableFuture.
    """

    __slots__ = ("payloads", "failure", "_callbacks")

    def __init__(self) -> None:
        self.payloads: Sequence[bytes] | None = None
        """The data for the checkpoint; None while pending, empty if the barrier was read in order."""
        self.failure: str | None = None
        self._callbacks: list[Callable[[], None]] = []

    @property
    def is_done(self) -> bool:
        return self.payloads is not None or self.failure is not None

    def complete(self, payloads: Sequence[bytes]) -> None:
        self.payloads = payloads
        self._call_back()

    def fail(self, reason: str) -> None:
        self.failure = reason
        self._call_back()

    def when_done(self, callback: Callable[[], None]) -> None:
        """Calls back when the future is complete or has failed; at once if it is."""
        if self.is_done:
            callback()
        else:
            self._callbacks.append(callback)

    def _call_back(self) -> None:
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()


class ChannelStateWriter(Protocol):
    """Stores the data that a barrier overtook. Flink: ChannelStateWriter."""

    def add_output_data(self, checkpoint_id: int, subpartition: int, payloads: Sequence[bytes]) -> None:
        """Stores ``payloads``, which were queued in ``subpartition`` when the barrier overtook them."""

    def add_output_data_future(self, checkpoint_id: int, subpartition: int, future: ChannelStateFuture) -> None:
        """Stores data that becomes complete later; otherwise as ``add_output_data``."""


class _NoOp:
    def add_output_data(self, checkpoint_id: int, subpartition: int, payloads: Sequence[bytes]) -> None:
        """Does nothing: no checkpoint is taken."""

    def add_output_data_future(self, checkpoint_id: int, subpartition: int, future: ChannelStateFuture) -> None:
        """Does nothing: no checkpoint is taken."""


NO_OP: ChannelStateWriter = _NoOp()
"""The writer that stores nothing. Flink: ChannelStateWriter.NO_OP."""
