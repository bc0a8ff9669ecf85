"""Decides which buffers of an input channel a checkpoint stores. Flink: ChannelStatePersister (rule 12.86)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from flowsim.network.channel_state_writer import ChannelStateWriter
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.events import CheckpointBarrier, Event, EventAnnouncement


class CheckpointStatus(Enum):
    """What a channel knows of its last checkpoint. Flink: ChannelStatePersister.CheckpointStatus."""

    COMPLETED = "COMPLETED"
    """Nothing is stored."""
    BARRIER_PENDING = "BARRIER_PENDING"
    """The checkpoint has started, and arriving data is stored."""
    BARRIER_RECEIVED = "BARRIER_RECEIVED"
    """The barrier has arrived, and nothing after it is stored."""


class ChannelStatePersister:
    """Stores the data of one channel between the start of a checkpoint and its barrier (rules 12.83, 12.86).

    Flink: ChannelStatePersister.
    """

    __slots__ = ("status", "last_seen_barrier", "_writer", "_channel")

    def __init__(self, writer: ChannelStateWriter, channel: InputChannelInfo) -> None:
        self.status = CheckpointStatus.COMPLETED
        self.last_seen_barrier = -1
        self._writer = writer
        self._channel = channel

    @property
    def has_barrier_received(self) -> bool:
        return self.status is CheckpointStatus.BARRIER_RECEIVED

    def start_persisting(self, checkpoint_id: int, queued: Sequence[bytes]) -> None:
        """Stores the queued data, and from now on arriving data unless the barrier has arrived.

        Raises CheckpointException if the barrier of a newer checkpoint has arrived.
        """
        if self.has_barrier_received and self.last_seen_barrier > checkpoint_id:
            raise CheckpointException(
                CheckpointFailureReason.CHECKPOINT_SUBSUMED,
                f"Barrier for newer checkpoint {self.last_seen_barrier} has already been received compared to the "
                f"requested checkpoint {checkpoint_id}",
            )
        if self.last_seen_barrier < checkpoint_id:
            self.status = CheckpointStatus.BARRIER_PENDING
            self.last_seen_barrier = checkpoint_id
        if queued:
            self._writer.add_input_data(checkpoint_id, self._channel, queued)

    def stop_persisting(self, checkpoint_id: int) -> None:
        """Ends a checkpoint, unless a newer one has started."""
        if checkpoint_id >= self.last_seen_barrier:
            self.status = CheckpointStatus.COMPLETED
            self.last_seen_barrier = checkpoint_id

    def maybe_persist(self, payload: bytes) -> None:
        """Stores arriving data while the barrier is pending."""
        if self.status is CheckpointStatus.BARRIER_PENDING:
            self._writer.add_input_data(self.last_seen_barrier, self._channel, (payload,))

    def check_for_barrier(self, event: Event) -> int | None:
        """Returns the checkpoint of an arriving barrier that counts, or of an announcement; otherwise None."""
        match event:
            case CheckpointBarrier(checkpoint_id):
                # A completed checkpoint's own barrier is late: only a newer one counts. While one is pending, its own does
                # (rule 12.86).
                expected = self.last_seen_barrier + (self.status is CheckpointStatus.COMPLETED)
                if checkpoint_id < expected:
                    return None
                self.status = CheckpointStatus.BARRIER_RECEIVED
                self.last_seen_barrier = checkpoint_id
                return checkpoint_id
            case EventAnnouncement(announced):
                return announced.checkpoint_id
            case _:
                return None
