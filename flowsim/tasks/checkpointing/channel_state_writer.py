"""Stores the in-flight data of a task's checkpoints. Flink: ChannelStateWriterImpl (rule 12.83)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from flowsim.network.channel_state_writer import ChannelStateWriter, ChannelStateWriteResult
from flowsim.network.completion import Completion
from flowsim.network.errors import IllegalState
from flowsim.state.redistribution.channel_state_handles import (
    InputChannelInfo,
    InputChannelStateHandle,
    ResultSubpartitionInfo,
    ResultSubpartitionStateHandle,
)
from flowsim.state.redistribution.operator_state import NO_STATE, OperatorSubtaskState
from flowsim.state.snapshots.stored_streams import ChannelStateStream, CheckpointStreams
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.checkpoint_options import CheckpointOptions

Info = TypeVar("Info", InputChannelInfo, ResultSubpartitionInfo)


class StoredChannels:
    """Where the in-flight data of a task is stored: the streams, and the operators that own the handles."""

    __slots__ = ("streams", "subtask", "head", "tail")

    def __init__(self, streams: CheckpointStreams, subtask: int, head: str, tail: str) -> None:
        """``head`` and ``tail``: the ids of the first and the last operator of the task."""
        self.streams = streams
        self.subtask = subtask
        self.head = head
        self.tail = tail


class _StoredResult(ChannelStateWriteResult):
    """The data of one checkpoint until it is written."""

    __slots__ = ("checkpoint_id", "inputs", "outputs", "_channels", "_pending", "_is_output_finished")

    def __init__(self, checkpoint_id: int, channels: StoredChannels) -> None:
        super().__init__(Completion(), Completion())
        self.checkpoint_id = checkpoint_id
        self.inputs: list[tuple[InputChannelInfo, bytes]] = []
        """The buffers in the order of their arrival; so are ``outputs``.

        A buffer whose bytes had all been read is stored without bytes: its channel counts as stored (rule 12.84).
        """
        self.outputs: list[tuple[ResultSubpartitionInfo, bytes]] = []
        self._channels = channels
        self._pending = 0
        """The number of subpartitions whose data is not known yet."""
        self._is_output_finished = False

    @property
    def input_bytes(self) -> int:
        return sum(len(payload) for _, payload in self.inputs)

    @property
    def output_bytes(self) -> int:
        return sum(len(payload) for _, payload in self.outputs)

    def add_output_future(self, subpartition: ResultSubpartitionInfo, future: Completion[Sequence[bytes]]) -> None:
        """Adds data that becomes complete later (rule 5.32)."""
        self._pending += 1
        future.when_complete(partial(self._on_output, subpartition))

    def finish_output(self) -> None:
        """Completes the outputs when the last subpartition is complete."""
        self._is_output_finished = True
        self._complete_output()

    def fail(self, cause: Exception) -> None:
        """Fails what is not complete."""
        self.input_channels.complete_exceptionally(cause)
        self.result_subpartitions.complete_exceptionally(cause)

    def _on_output(
        self, subpartition: ResultSubpartitionInfo, payloads: Sequence[bytes] | None, error: Exception | None
    ) -> None:
        self._pending -= 1
        if error is not None:
            self.result_subpartitions.complete_exceptionally(error)
        else:
            self.outputs.extend((subpartition, payload) for payload in payloads or ())
        self._complete_output()

    def _complete_output(self) -> None:
        if self._is_output_finished and not self._pending:
            self.result_subpartitions.complete(None)

    def write_to(self, states: MutableMapping[str, OperatorSubtaskState]) -> None:
        channels = self._channels
        if self.inputs:
            stream = self._write(channels.head, self.inputs)
            inputs = tuple(
                InputChannelStateHandle(stream, channels.subtask, info, offsets, size)
                for info, offsets, size in _places(self.inputs)
            )
            states[channels.head] = replace(states.get(channels.head, NO_STATE), input_channels=inputs)
        if self.outputs:
            output_stream = self._write(channels.tail, self.outputs)
            outputs = tuple(
                ResultSubpartitionStateHandle(output_stream, channels.subtask, info, offsets, size)
                for info, offsets, size in _places(self.outputs)
            )
            states[channels.tail] = replace(states.get(channels.tail, NO_STATE), result_subpartitions=outputs)

    def _write(self, operator_id: str, data: Sequence[tuple[Info, bytes]]) -> str:
        """Writes one stream; returns its identifier."""
        stream = ChannelStateStream(tuple(payload for _, payload in data))
        channels = self._channels
        return channels.streams.write(self.checkpoint_id, operator_id, channels.subtask, stream)


def _places(data: Iterable[tuple[Info, bytes]]) -> Iterator[tuple[Info, tuple[int, ...], int]]:
    """Yields each channel with the indexes of its buffers in ``data``, and their size."""
    offsets: dict[Info, list[int]] = {}
    sizes: dict[Info, int] = {}
    for index, (info, payload) in enumerate(data):
        offsets.setdefault(info, []).append(index)
        sizes[info] = sizes.get(info, 0) + len(payload)
    for info in sorted(offsets):
        yield info, tuple(offsets[info]), sizes[info]


class TaskChannelStateWriter(ChannelStateWriter):
    """Collects the in-flight data of a task by checkpoint. Flink: ChannelStateWriterImpl.

    Data of a checkpoint that is not open, or was aborted, is dropped: its result has failed.
    """

    __slots__ = ("_channels", "_results", "_open", "_last_aborted_id")

    def __init__(self, channels: StoredChannels) -> None:
        self._channels = channels
        self._results: dict[int, _StoredResult] = {}
        """Until they are taken."""
        self._open: dict[int, _StoredResult] = {}
        """Until both sides are complete."""
        self._last_aborted_id = -1

    def start(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        """Opens the channel state of a checkpoint; of one that was aborted, the result fails."""
        if checkpoint_id in self._results:
            raise IllegalState(f"the channel state of checkpoint {checkpoint_id} is open already")
        result = self._results[checkpoint_id] = _StoredResult(checkpoint_id, self._channels)
        if checkpoint_id <= self._last_aborted_id:
            result.fail(CheckpointException(CheckpointFailureReason.CHECKPOINT_DECLINED, "it was aborted before"))
            return
        self._open[checkpoint_id] = result
        result.when_done(lambda: self._close(checkpoint_id))

    def _close(self, checkpoint_id: int) -> None:
        self._open.pop(checkpoint_id, None)

    def add_input_data(self, checkpoint_id: int, channel: InputChannelInfo, payloads: Sequence[bytes]) -> None:
        result = self._open.get(checkpoint_id)
        if result is not None:
            result.inputs.extend((channel, payload) for payload in payloads)

    def add_output_data(
        self, checkpoint_id: int, subpartition: ResultSubpartitionInfo, payloads: Sequence[bytes]
    ) -> None:
        result = self._open.get(checkpoint_id)
        if result is not None:
            result.outputs.extend((subpartition, payload) for payload in payloads)

    def add_output_data_future(
        self, checkpoint_id: int, subpartition: ResultSubpartitionInfo, future: Completion[Sequence[bytes]]
    ) -> None:
        result = self._open.get(checkpoint_id)
        if result is not None:
            result.add_output_future(subpartition, future)

    def finish_input(self, checkpoint_id: int) -> None:
        result = self._open.get(checkpoint_id)
        if result is not None:
            result.input_channels.complete(None)

    def finish_output(self, checkpoint_id: int) -> None:
        result = self._open.get(checkpoint_id)
        if result is not None:
            result.finish_output()

    def abort(self, checkpoint_id: int, cause: Exception, *, cleanup: bool) -> None:
        self._last_aborted_id = max(self._last_aborted_id, checkpoint_id)
        result = self._open.pop(checkpoint_id, None)
        if result is not None:
            result.fail(cause)
        if cleanup:
            self._results.pop(checkpoint_id, None)

    def get_and_remove_write_result(self, checkpoint_id: int) -> ChannelStateWriteResult:
        """Raises IllegalState if the checkpoint was not started."""
        result = self._results.pop(checkpoint_id, None)
        if result is None:
            raise IllegalState(f"the channel state of checkpoint {checkpoint_id} was not started")
        return result
