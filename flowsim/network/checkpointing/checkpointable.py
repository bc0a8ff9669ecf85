"""What a barrier handler needs of its task and of the inputs. Flink: CheckpointableTask, CheckpointableInput."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData, CheckpointMetrics
from flowsim.sim.scheduler import Timer
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.streamrecord.checkpoint_options import CheckpointOptions
from flowsim.streamrecord.events import CheckpointBarrier


class CheckpointableInput(Protocol):
    """An input gate of a task with checkpoints.

    A Protocol, because tests give the handler inputs that record its calls. Flink: CheckpointableInput.
    """

    def block_consumption(self, channel: InputChannelInfo) -> None:
        """Called when a barrier has blocked the channel; its sender stopped before (rule 5.27)."""

    def resume_consumption(self, channel: InputChannelInfo) -> None:
        """Lets the sender of a blocked channel go on."""

    def checkpoint_started(self, barrier: CheckpointBarrier) -> None:
        """Starts to store data that arrives before the barriers. Raises CheckpointException (rule 12.86)."""

    def checkpoint_stopped(self, checkpoint_id: int) -> None:
        """Ends the storing: all barriers arrived, or the checkpoint is aborted."""

    def convert_to_priority_event(self, channel: int, sequence_number: int) -> None:
        """Lets an announced barrier overtake the data before it (rule 12.87)."""


class CheckpointableTask(Protocol):
    """The task of a barrier handler.

    A Protocol, because the network does not import the tasks. Flink: CheckpointableTask.
    """

    def trigger_checkpoint_on_barrier(
        self, meta_data: CheckpointMetaData, options: CheckpointOptions, metrics: CheckpointMetrics
    ) -> None:
        """Takes the checkpoint. ``metrics.alignment`` may end later."""

    def abort_checkpoint_on_barrier(self, checkpoint_id: int, cause: CheckpointException) -> None:
        """Declines the checkpoint, and reports that to the tasks downstream (rule 12.71)."""


class InputsCheckpointInitializer(Protocol):
    """Opens the channel state of inputs.

    A Protocol, because the network does not import the tasks. Flink: SubtaskCheckpointCoordinator.
    """

    def init_inputs_checkpoint(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        """Raises CheckpointException if the checkpoint cannot store channel state."""


class DelayableTimer(Protocol):
    """Registers callbacks.

    A Protocol, because the network does not import the tasks. Flink: BarrierAlignmentUtil.DelayableTimer.
    """

    def register_task(self, callback: Callable[[], None], delay_ms: int) -> Timer:
        """Runs ``callback`` as a mail of the task 1 ms after the delay."""
