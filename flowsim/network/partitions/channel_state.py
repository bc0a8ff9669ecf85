"""The storage for the channel state of an unaligned checkpoint. Flink: ChannelStateWriter (rules 5.28, 5.32)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flowsim.network.completion import Completion


class ChannelStateWriter(Protocol):
    """Stores the data that a barrier overtook.

    A Protocol, because the network does not import the tasks. Flink: ChannelStateWriter.
    """

    def add_output_data(self, checkpoint_id: int, subpartition: int, payloads: Sequence[bytes]) -> None:
        """Stores ``payloads``, which were queued in ``subpartition`` when the barrier overtook them."""

    def add_output_data_future(
        self, checkpoint_id: int, subpartition: int, future: Completion[Sequence[bytes]]
    ) -> None:
        """Stores the data before a timeoutable barrier, complete when the barrier was read or timed out (rule 5.32).

        It is empty if the barrier was read in order.
        """


class _NoOp:
    def add_output_data(self, checkpoint_id: int, subpartition: int, payloads: Sequence[bytes]) -> None:
        """Does nothing: no checkpoint is taken."""

    def add_output_data_future(
        self, checkpoint_id: int, subpartition: int, future: Completion[Sequence[bytes]]
    ) -> None:
        """Does nothing: no checkpoint is taken."""


NO_OP: ChannelStateWriter = _NoOp()
"""The writer that stores nothing. Flink: ChannelStateWriter.NO_OP."""
