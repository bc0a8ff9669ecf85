"""The states of a barrier handler, and the channels that they share. Flink: BarrierHandlerState, ChannelState."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flowsim.network.checkpointing.checkpointable import CheckpointableInput
from flowsim.network.errors import IllegalState
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.events import CheckpointBarrier


class BarrierHandlerController(Protocol):
    """What a state may ask of its handler.

    A Protocol, because the handler, which implements it, imports its states. Flink: BarrierHandlerState.Controller.
    """

    def trigger_global_checkpoint(self, barrier: CheckpointBarrier) -> None:
        """Lets the task take the checkpoint."""

    def init_inputs_checkpoint(self, barrier: CheckpointBarrier) -> None:
        """Opens the channel state of the inputs. Raises CheckpointException."""

    def is_timed_out(self, barrier: CheckpointBarrier) -> bool:
        """Returns True if the timeout of a timeoutable barrier has passed (rule 12.20)."""

    @property
    def has_all_barriers(self) -> bool: ...

    @property
    def pending_checkpoint_barrier(self) -> CheckpointBarrier | None: ...


class BarrierHandlerState(Protocol):
    """A state of the handler; each method returns the next state. Flink: BarrierHandlerState."""

    def aligned_checkpoint_timeout(
        self, controller: BarrierHandlerController, barrier: CheckpointBarrier
    ) -> BarrierHandlerState:
        """The timer of rule 12.73 fired, or an aligned barrier is older than its timeout."""

    def announcement_received(
        self, controller: BarrierHandlerController, channel: InputChannelInfo, sequence_number: int
    ) -> BarrierHandlerState: ...

    def barrier_received(
        self,
        controller: BarrierHandlerController,
        channel: InputChannelInfo,
        barrier: CheckpointBarrier,
        *,
        mark_channel_blocked: bool,
    ) -> BarrierHandlerState: ...

    def end_of_partition_received(
        self, controller: BarrierHandlerController, channel: InputChannelInfo
    ) -> BarrierHandlerState: ...

    def abort(self, cancelled_id: int) -> BarrierHandlerState:
        """Ends the alignment; blocked channels are resumed."""


class ChannelState:
    """The blocked channels and the announced barriers. Flink: ChannelState.

    Channels are resumed in the order in which they were blocked; Flink's order is that of hashes.
    """

    __slots__ = ("inputs", "_blocked", "_announced")

    def __init__(self, inputs: Sequence[CheckpointableInput]) -> None:
        self.inputs = inputs
        self._blocked: dict[InputChannelInfo, None] = {}
        self._announced: dict[InputChannelInfo, int] = {}

    def block_channel(self, channel: InputChannelInfo) -> None:
        self.inputs[channel.gate].block_consumption(channel)
        self._blocked[channel] = None

    def channel_finished(self, channel: InputChannelInfo) -> None:
        """Forgets a channel that has ended: it is not resumed (rule 12.12)."""
        self._blocked.pop(channel, None)
        self._announced.pop(channel, None)

    def unblock_all_channels(self) -> None:
        for channel in self._blocked:
            self.inputs[channel.gate].resume_consumption(channel)
        self._blocked.clear()

    def add_seen_announcement(self, channel: InputChannelInfo, sequence_number: int) -> None:
        self._announced[channel] = sequence_number

    def remove_seen_announcement(self, channel: InputChannelInfo) -> None:
        self._announced.pop(channel, None)

    def prioritize_all_announcements(self) -> None:
        """Lets the announced barriers overtake the data before them (rule 12.87)."""
        for channel, sequence_number in self._announced.items():
            self.prioritize(channel, sequence_number)
        self._announced.clear()

    def prioritize(self, channel: InputChannelInfo, sequence_number: int) -> None:
        """Lets one announced barrier overtake the data before it."""
        self.inputs[channel.gate].convert_to_priority_event(channel.channel, sequence_number)

    def start_checkpoint(self, barrier: CheckpointBarrier) -> None:
        """Starts to store the data of all inputs. Raises CheckpointException."""
        for each in self.inputs:
            each.checkpoint_started(barrier)

    def stop_checkpoint(self, checkpoint_id: int) -> None:
        for each in self.inputs:
            each.checkpoint_stopped(checkpoint_id)

    def empty(self) -> ChannelState:
        """Returns this object without announcements. Raises IllegalState if channels are blocked."""
        if self._blocked:
            raise IllegalState(f"channels are blocked: {list(self._blocked)}")
        self._announced.clear()
        return self
