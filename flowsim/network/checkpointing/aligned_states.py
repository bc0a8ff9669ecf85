"""The states of a handler that only aligns. Flink: WaitingForFirstBarrier, CollectingBarriers."""

from __future__ import annotations

from flowsim.errors import InvariantViolation
from flowsim.network.checkpointing.barrier_handler_state import (
    BarrierHandlerController,
    BarrierHandlerState,
    ChannelState,
)
from flowsim.network.errors import IllegalState
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.events import CheckpointBarrier


class _AlignedBarrierHandlerState:
    """What both states have in common (AbstractAlignedBarrierHandlerState)."""

    __slots__ = ("_channels",)

    def __init__(self, channels: ChannelState) -> None:
        self._channels = channels

    def aligned_checkpoint_timeout(
        self, controller: BarrierHandlerController, barrier: CheckpointBarrier
    ) -> BarrierHandlerState:
        raise IllegalState("Alignment should not be timed out if we are not alternating.")

    def announcement_received(
        self, controller: BarrierHandlerController, channel: InputChannelInfo, sequence_number: int
    ) -> BarrierHandlerState:
        return self

    def barrier_received(
        self,
        controller: BarrierHandlerController,
        channel: InputChannelInfo,
        barrier: CheckpointBarrier,
        *,
        mark_channel_blocked: bool,
    ) -> BarrierHandlerState:
        """Blocks the channel; the last barrier triggers the checkpoint (rules 12.11, 12.14)."""
        if barrier.options.is_unaligned_checkpoint:
            raise IllegalState(f"an unaligned barrier reached a task that only aligns: {barrier}")
        if mark_channel_blocked:
            self._channels.block_channel(channel)
        if controller.has_all_barriers:
            return self._trigger_global_checkpoint(controller, barrier)
        return CollectingBarriers(self._channels)

    def end_of_partition_received(
        self, controller: BarrierHandlerController, channel: InputChannelInfo
    ) -> BarrierHandlerState:
        raise NotImplementedError

    def abort(self, cancelled_id: int) -> BarrierHandlerState:
        return self._finish()

    def _trigger_global_checkpoint(
        self, controller: BarrierHandlerController, barrier: CheckpointBarrier
    ) -> BarrierHandlerState:
        # Rule 12.11: the checkpoint is taken before the channels are resumed.
        controller.trigger_global_checkpoint(barrier)
        return self._finish()

    def _finish(self) -> BarrierHandlerState:
        self._channels.unblock_all_channels()
        return WaitingForFirstBarrier(self._channels.empty())


class WaitingForFirstBarrier(_AlignedBarrierHandlerState):
    """No barrier of the next checkpoint has arrived. Flink: WaitingForFirstBarrier."""

    __slots__ = ()

    def end_of_partition_received(
        self, controller: BarrierHandlerController, channel: InputChannelInfo
    ) -> BarrierHandlerState:
        self._channels.channel_finished(channel)
        return self


class CollectingBarriers(_AlignedBarrierHandlerState):
    """Some channels delivered the barrier and are blocked. Flink: CollectingBarriers."""

    __slots__ = ()

    def end_of_partition_received(
        self, controller: BarrierHandlerController, channel: InputChannelInfo
    ) -> BarrierHandlerState:
        """Counts the channel as one that delivered the barrier, which may be the last (rule 12.12)."""
        self._channels.channel_finished(channel)
        if not controller.has_all_barriers:
            return self
        barrier = controller.pending_checkpoint_barrier
        if barrier is None:
            raise InvariantViolation("At least one barrier received in collecting barrier state.")
        return self._trigger_global_checkpoint(controller, barrier)
