"""Where a task stores its in-flight data, of a job without unaligned checkpoints: nowhere. Flink: ChannelStateWriter."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import Final

from flowsim.network.completion import Completion
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo, ResultSubpartitionInfo
from flowsim.state.redistribution.operator_state import OperatorSubtaskState
from flowsim.streamrecord.checkpoint_options import CheckpointOptions


class ChannelStateWriteResult:
    """The in-flight data of one checkpoint. Flink: ChannelStateWriter.ChannelStateWriteResult.

    The asynchronous part of the checkpoint waits for both completions (rule 12.68), then calls ``write_to``.
    """

    __slots__ = ("input_channels", "result_subpartitions")

    def __init__(self, input_channels: Completion[None], result_subpartitions: Completion[None]) -> None:
        self.input_channels = input_channels
        self.result_subpartitions = result_subpartitions

    @staticmethod
    def empty() -> ChannelStateWriteResult:
        """Returns the result of a checkpoint without channel state."""
        return ChannelStateWriteResult(Completion.completed(), Completion.completed())

    @property
    def is_done(self) -> bool:
        """True if both sides are complete, or one has failed."""
        sides = (self.input_channels, self.result_subpartitions)
        return all(each.is_done for each in sides) or any(each.error is not None for each in sides)

    def when_done(self, callback: Callable[[], None]) -> None:
        """Calls back once, as soon as ``is_done``."""
        called = False

        def on_side(result: None, error: Exception | None) -> None:
            nonlocal called
            if not called and self.is_done:
                called = True
                callback()

        for side in (self.input_channels, self.result_subpartitions):
            side.when_complete(on_side)

    @property
    def input_bytes(self) -> int:
        """The size of the stored data of inputs."""
        return 0

    @property
    def output_bytes(self) -> int:
        """The size of the stored data of outputs."""
        return 0

    def write_to(self, states: MutableMapping[str, OperatorSubtaskState]) -> None:
        """Writes the data, and adds its handles to the states by operator id; without data does nothing."""


class ChannelStateWriter:
    """Stores the buffers in the channels of a task, by checkpoint. Flink: ChannelStateWriter.

    This class stores nothing: it is the writer of a job without unaligned checkpoints.
    """

    __slots__ = ()

    def start(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        """Opens the channel state of a checkpoint. Raises CheckpointException."""

    def add_input_data(self, checkpoint_id: int, channel: InputChannelInfo, payloads: Sequence[bytes]) -> None:
        """Stores data that ``channel`` delivered before the barrier of the checkpoint."""

    def add_output_data(
        self, checkpoint_id: int, subpartition: ResultSubpartitionInfo, payloads: Sequence[bytes]
    ) -> None:
        """Stores data that was queued in ``subpartition`` when the barrier overtook it (rule 5.28)."""

    def add_output_data_future(
        self, checkpoint_id: int, subpartition: ResultSubpartitionInfo, future: Completion[Sequence[bytes]]
    ) -> None:
        """Stores the data before a timeoutable barrier, complete when the barrier was read or timed out (rule 5.32).

        It is empty if the barrier was read in order.
        """

    def finish_input(self, checkpoint_id: int) -> None:
        """Completes the state of the inputs."""

    def finish_output(self, checkpoint_id: int) -> None:
        """Completes the state of the outputs."""

    def abort(self, checkpoint_id: int, cause: Exception, *, cleanup: bool) -> None:
        """Fails the result; ``cleanup`` also forgets it."""

    def get_and_remove_write_result(self, checkpoint_id: int) -> ChannelStateWriteResult:
        """Returns the result; called once, before the operators are asked for their snapshots."""
        return ChannelStateWriteResult.empty()


NO_OP: Final = ChannelStateWriter()
"""The writer that stores nothing. Flink: ChannelStateWriter.NO_OP."""
