"""What the coordinator of a task's checkpoints needs of the channel state. Flink: ChannelStateWriter."""

from __future__ import annotations

from typing import Final, Protocol

from flowsim.network.completion import Completion
from flowsim.streamrecord.checkpoint_options import CheckpointOptions


class ChannelStateWriteResult:
    """The stored buffers of one checkpoint. Flink: ChannelStateWriter.ChannelStateWriteResult.

    The asynchronous part of the checkpoint waits for both completions (rule 12.68).
    """

    __slots__ = ("input_channels", "result_subpartitions")

    def __init__(self, input_channels: Completion, result_subpartitions: Completion) -> None:
        self.input_channels = input_channels
        self.result_subpartitions = result_subpartitions

    @staticmethod
    def empty() -> ChannelStateWriteResult:
        """Returns the result of a checkpoint without channel state."""
        return ChannelStateWriteResult(Completion.completed(), Completion.completed())


class ChannelStateWriter(Protocol):
    """Stores the buffers in the channels of a task, by checkpoint. Flink: ChannelStateWriter."""

    def start(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        """Opens the channel state of a checkpoint. Raises CheckpointException."""

    def finish_input(self, checkpoint_id: int) -> None:
        """Completes the state of the inputs."""

    def finish_output(self, checkpoint_id: int) -> None:
        """Completes the state of the outputs."""

    def abort(self, checkpoint_id: int, cause: Exception, *, cleanup: bool) -> None:
        """Fails the result; ``cleanup`` also forgets it."""

    def get_and_remove_write_result(self, checkpoint_id: int) -> ChannelStateWriteResult:
        """Returns the result; called once, before the operators are asked for their snapshots."""


class _NoChannelState:
    def start(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        """Does nothing."""

    def finish_input(self, checkpoint_id: int) -> None:
        """Does nothing."""

    def finish_output(self, checkpoint_id: int) -> None:
        """Does nothing."""

    def abort(self, checkpoint_id: int, cause: Exception, *, cleanup: bool) -> None:
        """Does nothing."""

    def get_and_remove_write_result(self, checkpoint_id: int) -> ChannelStateWriteResult:
        return ChannelStateWriteResult.empty()


NO_CHANNEL_STATE: Final[ChannelStateWriter] = _NoChannelState()
"""The writer of a job without unaligned checkpoints. Flink: ChannelStateWriter.NO_OP."""
