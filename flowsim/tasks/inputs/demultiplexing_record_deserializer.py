"""Decodes restored data of several old channels in one channel (rules 12.102 to 12.104).

Flink: DemultiplexingRecordDeserializer, VirtualChannel, RecordFilter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from flowsim.network.errors import IllegalState
from flowsim.network.gates.input_channel import InputChannel, Received
from flowsim.state.redistribution.inflight_data_rescaling_descriptor import (
    InflightDataGateOrPartitionRescalingDescriptor,
)
from flowsim.streamrecord.codec import RECORD_LENGTH, STATUS_LENGTH, WATERMARK_LENGTH, CutElement, Element
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.streamrecord.events import SubtaskConnectionDescriptor
from flowsim.tasks.inputs.record_deserializer import RecordDeserializer
from flowsim.units import NO_TIMESTAMP

RecordFilter = Callable[[object], bool]
"""Returns True for the value of a record that belongs to this subtask. Flink: RecordFilter."""


class VirtualChannel:
    """An old channel: its cut element, and its last watermark and status. Flink: VirtualChannel."""

    __slots__ = ("tail", "last_watermark", "status", "accepts")

    def __init__(self, accepts: RecordFilter | None = None) -> None:
        """``accepts``: None accepts all records."""
        self.tail: bytes | CutElement = b""
        self.last_watermark = NO_TIMESTAMP
        self.status = WatermarkStatus.ACTIVE
        self.accepts = accepts


VirtualChannels = Mapping[SubtaskConnectionDescriptor, VirtualChannel]


class DemultiplexingRecordDeserializer:
    """The deserializer of an input while it reads restored data after rescaling.

    ``channels``: the old channels of each channel, by its index in the input. Flink: DemultiplexingRecordDeserializer.
    """

    __slots__ = ("elements", "_channels", "_selected", "_deserializer")

    def __init__(self, channels: Sequence[VirtualChannels]) -> None:
        self.elements: Iterator[Element] = iter(())
        self._channels = channels
        self._selected: dict[int, VirtualChannel] = {}
        self._deserializer = RecordDeserializer()

    def select(self, channel: InputChannel, descriptor: SubtaskConnectionDescriptor) -> None:
        """Selects the old channel of the data that follows. Raises IllegalState for an unknown one."""
        known = self._channels[channel.index]
        if not known:
            raise IllegalState(f"Channel {channel.index} should not receive data during recovery.")
        if descriptor not in known:
            raise IllegalState(f"Cannot select {descriptor}; known channels are {list(known)}")
        self._selected[channel.index] = known[descriptor]

    def set_next_buffer(self, channel: InputChannel, received: Received) -> None:
        """Sets the buffer to decode; its old channel must be selected."""
        virtual = self._selected.get(channel.index)
        if virtual is None:
            raise IllegalState(f"the old channel of restored data of channel {channel.index} is not known")
        self._deserializer.set_next_buffer(virtual, received)
        self.elements = self._demultiplexed(virtual, self._channels[channel.index])

    def _demultiplexed(self, virtual: VirtualChannel, channels: VirtualChannels) -> Iterator[Element]:
        """Yields the elements of one old channel, as all old channels of the channel together send them."""
        for element in self._deserializer.elements:
            size = len(element)
            if size == RECORD_LENGTH:
                if virtual.accepts is None or virtual.accepts(element[1]):
                    yield element
            elif size == WATERMARK_LENGTH:
                virtual.last_watermark = element[0]  # type: ignore[assignment]  # a watermark is an integer
                lowest = min(each.last_watermark for each in channels.values())
                if lowest != NO_TIMESTAMP:
                    yield (lowest,)
            elif size == STATUS_LENGTH:
                virtual.status = WatermarkStatus(element[1])  # type: ignore[arg-type]
                is_active = any(each.status is WatermarkStatus.ACTIVE for each in channels.values())
                yield (element[0], int(WatermarkStatus.ACTIVE) if is_active else element[1], element[2])
            # Latency markers of restored data are dropped.

    @property
    def is_buffer_consumed(self) -> bool:
        return self._deserializer.is_buffer_consumed

    def end_buffer(self) -> None:
        """Stores the bytes after the last complete element for the next buffer of the old channel."""
        self._deserializer.end_buffer()

    def unconsumed(self, channel: InputChannel) -> bytes:
        """Raises IllegalState: there is no checkpoint during recovery (rule 12.93)."""
        raise IllegalState("Cannot checkpoint while recovering")

    def finish(self) -> None:
        """Raises IllegalState if an element of restored data is incomplete."""
        if any(each.tail for channels in self._channels for each in channels.values()):
            raise IllegalState("Not all data has been fully consumed")

    def clear(self) -> None:
        """Drops the rest of the buffer at the end of the task."""
        self._deserializer.clear()


def virtual_channels(
    descriptor: InflightDataGateOrPartitionRescalingDescriptor,
    channels: int,
    create_filter: Callable[[], RecordFilter],
) -> list[VirtualChannels]:
    """Returns the old channels of each of ``channels`` of a gate; records of ambiguous old subtasks are filtered."""
    return [
        {
            SubtaskConnectionDescriptor(subtask, old): VirtualChannel(
                create_filter() if subtask in descriptor.ambiguous_subtask_indexes else None
            )
            for subtask in descriptor.old_subtask_indexes
            for old in descriptor.rescale_mappings.mapped_indexes(channel)
        }
        for channel in range(channels)
    ]
