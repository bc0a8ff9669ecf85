"""The states of a handler that aligns until a timeout.

Flink: AlternatingWaitingForFirstBarrier, AlternatingCollectingBarriers.
"""

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


class _AlternatingAlignedBarrierHandlerState:
    """What both aligned states have in common (AbstractAlternatingAlignedBarrierHandlerState)."""

    __slots__ = ("_channels",)

    def __init__(self, channels: ChannelState) -> None:
        self._channels = channels

    def aligned_checkpoint_timeout(
        self, controller: BarrierHandlerController, barrier: CheckpointBarrier
    ) -> BarrierHandlerState:
        raise NotImplementedError

    def announcement_received(
        self, controller: BarrierHandlerController, channel: InputChannelInfo, sequence_number: int
    ) -> BarrierHandlerState:
        self._channels.add_seen_announcement(channel, sequence_number)
        return self

    def barrier_received(
        self,
        controller: BarrierHandlerController,
        channel: InputChannelInfo,
        barrier: CheckpointBarrier,
        *,
        mark_channel_blocked: bool,
    ) -> BarrierHandlerState:
        """Blocks the channel, unless the checkpoint becomes unaligned with this barrier (rules 12.20, 12.87)."""
        if barrier.options.is_unaligned_checkpoint:
            unaligned = self.aligned_checkpoint_timeout(controller, barrier)
            return unaligned.barrier_received(controller, channel, barrier, mark_channel_blocked=mark_channel_blocked)
        self._channels.remove_seen_announcement(channel)
        if mark_channel_blocked:
            self._channels.block_channel(channel)
        if controller.has_all_barriers:
            return self._take_aligned_checkpoint(controller, barrier)
        if controller.is_timed_out(barrier):
            return self.aligned_checkpoint_timeout(controller, barrier).barrier_received(
                controller, channel, barrier.as_unaligned(), mark_channel_blocked=mark_channel_blocked
            )
        return AlternatingCollectingBarriers(self._channels)

    def end_of_partition_received(
        self, controller: BarrierHandlerController, channel: InputChannelInfo
    ) -> BarrierHandlerState:
        raise NotImplementedError

    def abort(self, cancelled_id: int) -> BarrierHandlerState:
        return self._finish()

    def _take_aligned_checkpoint(
        self, controller: BarrierHandlerController, barrier: CheckpointBarrier
    ) -> BarrierHandlerState:
        # Rule 12.88: the channel state of inputs is opened, and stays empty.
        controller.init_inputs_checkpoint(barrier)
        controller.trigger_global_checkpoint(barrier)
        return self._finish()

    def _finish(self) -> BarrierHandlerState:
        self._channels.unblock_all_channels()
        return AlternatingWaitingForFirstBarrier(self._channels.empty())


class AlternatingWaitingForFirstBarrier(_AlternatingAlignedBarrierHandlerState):
    """No barrier has arrived; some may be announced. Flink: AlternatingWaitingForFirstBarrier."""

    __slots__ = ()

    def aligned_checkpoint_timeout(
        self, controller: BarrierHandlerController, barrier: CheckpointBarrier
    ) -> BarrierHandlerState:
        """Waits for the first of the announced barriers, which now overtake data (rule 12.87)."""
        self._channels.prioritize_all_announcements()
        return AlternatingWaitingForFirstBarrierUnaligned(self._channels, is_alternating=True)

    def end_of_partition_received(
        self, controller: BarrierHandlerController, channel: InputChannelInfo
    ) -> BarrierHandlerState:
        self._channels.channel_finished(channel)
        return self


class AlternatingCollectingBarriers(_AlternatingAlignedBarrierHandlerState):
    """Some channels delivered the barrier and are blocked. Flink: AlternatingCollectingBarriers."""

    __slots__ = ()

    def aligned_checkpoint_timeout(
        self, controller: BarrierHandlerController, barrier: CheckpointBarrier
    ) -> BarrierHandlerState:
        """Takes the checkpoint at once (rule 12.87)."""
        self._channels.prioritize_all_announcements()
        unaligned = barrier.as_unaligned()
        controller.init_inputs_checkpoint(unaligned)
        self._channels.start_checkpoint(unaligned)
        controller.trigger_global_checkpoint(unaligned)
        return AlternatingCollectingBarriersUnaligned(self._channels, is_alternating=True)

    def end_of_partition_received(
        self, controller: BarrierHandlerController, channel: InputChannelInfo
    ) -> BarrierHandlerState:
        """Counts the channel as one that delivered the barrier; it may complete or time out the alignment."""
        self._channels.channel_finished(channel)
        barrier = _pending_barrier(controller)
        if barrier.options.is_unaligned_checkpoint:
            raise IllegalState("Pending checkpoint barrier should be aligned in collecting aligned barrier state")
        if controller.has_all_barriers:
            return self._take_aligned_checkpoint(controller, barrier)
        if controller.is_timed_out(barrier):
            return self.aligned_checkpoint_timeout(controller, barrier).end_of_partition_received(controller, channel)
        return self


class _UnalignedBarrierHandlerState:
    """What both unaligned states have in common. ``is_alternating``: the next checkpoint starts aligned again."""

    __slots__ = ("_channels", "_is_alternating")

    def __init__(self, channels: ChannelState, *, is_alternating: bool) -> None:
        self._channels = channels
        self._is_alternating = is_alternating

    def aligned_checkpoint_timeout(
        self, controller: BarrierHandlerController, barrier: CheckpointBarrier
    ) -> BarrierHandlerState:
        return self

    def announcement_received(
        self, controller: BarrierHandlerController, channel: InputChannelInfo, sequence_number: int
    ) -> BarrierHandlerState:
        """Lets the barrier overtake the data before it at once (rule 12.89)."""
        self._channels.prioritize(channel, sequence_number)
        return self

    def barrier_received(
        self,
        controller: BarrierHandlerController,
        channel: InputChannelInfo,
        barrier: CheckpointBarrier,
        *,
        mark_channel_blocked: bool,
    ) -> BarrierHandlerState:
        raise NotImplementedError

    def end_of_partition_received(
        self, controller: BarrierHandlerController, channel: InputChannelInfo
    ) -> BarrierHandlerState:
        raise NotImplementedError

    def abort(self, cancelled_id: int) -> BarrierHandlerState:
        raise NotImplementedError

    def _block_if_aligned(self, channel: InputChannelInfo, barrier: CheckpointBarrier, mark: bool) -> None:
        # Rule 12.89: an aligned barrier has blocked its channel also after the switch.
        if mark and not barrier.options.is_unaligned_checkpoint:
            self._channels.block_channel(channel)

    def _finish(self) -> BarrierHandlerState:
        self._channels.unblock_all_channels()
        channels = self._channels.empty()
        if self._is_alternating:
            return AlternatingWaitingForFirstBarrier(channels)
        return AlternatingWaitingForFirstBarrierUnaligned(channels, is_alternating=False)


class AlternatingWaitingForFirstBarrierUnaligned(_UnalignedBarrierHandlerState):
    """The first barrier takes the checkpoint (rule 12.18). Flink: AlternatingWaitingForFirstBarrierUnaligned."""

    __slots__ = ()

    def barrier_received(
        self,
        controller: BarrierHandlerController,
        channel: InputChannelInfo,
        barrier: CheckpointBarrier,
        *,
        mark_channel_blocked: bool,
    ) -> BarrierHandlerState:
        self._block_if_aligned(channel, barrier, mark_channel_blocked)
        unaligned = barrier.as_unaligned()
        controller.init_inputs_checkpoint(unaligned)
        self._channels.start_checkpoint(unaligned)
        controller.trigger_global_checkpoint(unaligned)
        if controller.has_all_barriers:
            self._channels.stop_checkpoint(unaligned.checkpoint_id)
            return self._finish()
        return AlternatingCollectingBarriersUnaligned(self._channels, is_alternating=self._is_alternating)

    def end_of_partition_received(
        self, controller: BarrierHandlerController, channel: InputChannelInfo
    ) -> BarrierHandlerState:
        self._channels.channel_finished(channel)
        return self

    def abort(self, cancelled_id: int) -> BarrierHandlerState:
        return self._finish()


class AlternatingCollectingBarriersUnaligned(_UnalignedBarrierHandlerState):
    """The checkpoint is taken, and data before late barriers is stored (rules 12.18, 12.89).

    Flink: AlternatingCollectingBarriersUnaligned.
    """

    __slots__ = ()

    def barrier_received(
        self,
        controller: BarrierHandlerController,
        channel: InputChannelInfo,
        barrier: CheckpointBarrier,
        *,
        mark_channel_blocked: bool,
    ) -> BarrierHandlerState:
        self._block_if_aligned(channel, barrier, mark_channel_blocked)
        return self._stop(barrier.checkpoint_id) if controller.has_all_barriers else self

    def end_of_partition_received(
        self, controller: BarrierHandlerController, channel: InputChannelInfo
    ) -> BarrierHandlerState:
        self._channels.channel_finished(channel)
        if not controller.has_all_barriers:
            return self
        return self._stop(_pending_barrier(controller).checkpoint_id)

    def abort(self, cancelled_id: int) -> BarrierHandlerState:
        return self._stop(cancelled_id)

    def _stop(self, checkpoint_id: int) -> BarrierHandlerState:
        self._channels.stop_checkpoint(checkpoint_id)
        return self._finish()


def _pending_barrier(controller: BarrierHandlerController) -> CheckpointBarrier:
    barrier = controller.pending_checkpoint_barrier
    if barrier is None:
        raise InvariantViolation("At least one barrier received in collecting barrier state.")
    return barrier
