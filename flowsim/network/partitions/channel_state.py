"""The storage for the channel state of an unaligned checkpoint. Flink: ChannelStateWriter (rules 5.28, 5.32)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class ChannelStateFuture:
    """The future of the data before a timeoutable barrier, complete when the barrier was read or timed out (rule 5.32).

    Flink: CompletableFuture.
    """

    __slots__ = ("payloads", "failure")

    def __init__(self) -> None:
        self.payloads: Sequence[bytes] | None = None
        """The data for the checkpoint; None while pending, empty if the barrier was read in order."""
        self.failure: str | None = None

    @property
    def is_done(self) -> bool:
        return self.payloads is not None or self.failure is not None

    def complete(self, payloads: Sequence[bytes]) -> None:
        self.payloads = payloads

    def fail(self, reason: str) -> None:
        self.failure = reason


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
