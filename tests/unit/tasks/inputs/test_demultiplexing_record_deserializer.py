"""DemultiplexingRecordDeserializer: restored data of several old channels in one channel (rules 12.102 to 12.104)."""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.network.errors import IllegalState
from flowsim.network.gates.input_channel import InputChannel
from flowsim.state.redistribution.inflight_data_rescaling_descriptor import (
    NO_STATE,
    InflightDataGateOrPartitionRescalingDescriptor,
    MappingType,
)
from flowsim.state.redistribution.rescale_mappings import RescaleMappings
from flowsim.streamrecord.codec import CutElement, Element
from flowsim.streamrecord.events import SubtaskConnectionDescriptor
from flowsim.tasks.inputs.demultiplexing_record_deserializer import (
    DemultiplexingRecordDeserializer,
    RecordFilter,
    virtual_channels,
)
from flowsim.values.encoding import encode_record
from tests.unit.tasks.inputs.test_record_deserializer import Part

FIRST, SECOND = SubtaskConnectionDescriptor(0, 1), SubtaskConnectionDescriptor(2, 1)
DESCRIPTOR = InflightDataGateOrPartitionRescalingDescriptor(
    (0, 2), RescaleMappings(((1,), ()), 3), frozenset({2}), MappingType.RESCALING
)


def even() -> RecordFilter:
    return lambda value: isinstance(value, int) and value % 2 == 0


def channel(index: int) -> InputChannel:
    nowhere: Any = None
    return InputChannel(nowhere, index, index, None)


def deserializer() -> DemultiplexingRecordDeserializer:
    return DemultiplexingRecordDeserializer(virtual_channels(DESCRIPTOR, 2, even))


def received(demultiplexer: DemultiplexingRecordDeserializer, old: SubtaskConnectionDescriptor, data: bytes) -> Any:
    """The elements of one buffer of an old channel, which is recycled once."""
    part = Part(data)
    demultiplexer.select(channel(0), old)
    demultiplexer.set_next_buffer(channel(0), part.buffer)
    found: list[Element] = list(demultiplexer.elements)
    demultiplexer.end_buffer()
    assert part.recycled == 1
    return found


def test_elements_of_two_old_channels_that_span_interleaved_buffers_are_complete() -> None:
    """A long element keeps its decoder, and a short one its bytes."""
    records = {FIRST: encode_record(1, "a" * 3 * CutElement.LONG_BYTES), SECOND: encode_record(2, 10**9)}
    demultiplexer = deserializer()
    for old, data in records.items():
        assert received(demultiplexer, old, data[:-3]) == []
    assert received(demultiplexer, FIRST, records[FIRST][-3:]) == [(1, "a" * 3 * CutElement.LONG_BYTES)]
    assert received(demultiplexer, SECOND, records[SECOND][-3:]) == [(2, 10**9)]
    demultiplexer.finish()


def test_only_records_of_an_ambiguous_old_subtask_are_filtered() -> None:
    data = b"".join(encode_record(None, number) for number in range(4))
    demultiplexer = deserializer()
    assert [value for _, value in received(demultiplexer, FIRST, data)] == [0, 1, 2, 3]
    assert [value for _, value in received(demultiplexer, SECOND, data)] == [0, 2]


def test_an_incomplete_element_at_the_end_of_the_restored_data_is_refused() -> None:
    demultiplexer = deserializer()
    received(demultiplexer, FIRST, encode_record(1, "cut")[:-1])
    with pytest.raises(IllegalState, match="Not all data has been fully consumed"):
        demultiplexer.finish()


def test_an_old_channel_that_is_not_mapped_is_refused() -> None:
    demultiplexer = deserializer()
    with pytest.raises(IllegalState, match=r"Cannot select .*known channels are"):
        demultiplexer.select(channel(0), SubtaskConnectionDescriptor(1, 1))
    with pytest.raises(IllegalState, match="Channel 1 should not receive data during recovery"):
        demultiplexer.select(channel(1), FIRST)


def test_data_of_an_unknown_old_channel_is_refused() -> None:
    with pytest.raises(IllegalState, match=r"the old channel .* is not known"):
        deserializer().set_next_buffer(channel(0), Part(b"").buffer)


def test_a_checkpoint_during_recovery_is_refused() -> None:
    """Rule 12.93."""
    with pytest.raises(IllegalState, match="Cannot checkpoint while recovering"):
        deserializer().unconsumed(channel(0))


def test_a_gate_without_restored_data_has_no_old_channels() -> None:
    assert virtual_channels(NO_STATE, 2, even) == [{}, {}]
