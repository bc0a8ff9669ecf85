"""Several gates of one input (rules 7.10, 7.11)."""

from __future__ import annotations

import pytest

from flowsim.network.buffers.buffer import EventBuffer
from flowsim.network.gates.input_gate import EndOfDataStatus
from flowsim.network.gates.union_input_gate import UnionInputGate
from flowsim.streamrecord.events import EndOfData, EndOfPartitionEvent, StopMode
from tests.support.barriers import UNALIGNED
from tests.support.operators.receiving import barrier, data, gate_of, remote


def test_united_gates_are_read_in_turn_and_end_together() -> None:
    """Rules 7.10, 7.11."""
    left, right = gate_of(1, exclusive=3), gate_of(1, exclusive=3, first_index=1)
    union, calls = UnionInputGate([left, right]), list[str]()
    union.when_available(lambda: calls.append("available"))
    for number in range(3):
        remote(left).on_buffer(data(b"l"), number, 0)
        remote(right).on_buffer(data(b"r"), number, 0)
    order = []
    while (polled := union.poll()) is not None:
        order.append((polled.channel.index, polled.received.payload))
    assert order == [(0, b"l"), (1, b"r")] * 3
    assert calls == ["available"]
    for gate in (left, right):
        assert not union.finished
        remote(gate).on_buffer(EventBuffer(EndOfData(StopMode.DRAIN)), 3, 0)
        remote(gate).on_buffer(EventBuffer(EndOfPartitionEvent()), 4, 0)
        while union.poll() is not None:
            continue
    assert union.finished
    assert union.end_of_data_status() is EndOfDataStatus.DRAINED


@pytest.mark.parametrize(
    "modes", [(StopMode.DRAIN, StopMode.NO_DRAIN), (StopMode.NO_DRAIN, StopMode.DRAIN)], ids=["last", "first"]
)
def test_one_gate_stopped_without_drain_stops_union(modes: tuple[StopMode, StopMode]) -> None:
    """Rule 7.11."""
    gates = [gate_of(1), gate_of(1, first_index=1)]
    union = UnionInputGate(gates)
    for gate, mode in zip(gates, modes, strict=True):
        assert union.end_of_data_status() is EndOfDataStatus.NOT_END_OF_DATA
        remote(gate).on_buffer(EventBuffer(EndOfData(mode)), 0, 0)
        union.poll()
    assert union.end_of_data_status() is EndOfDataStatus.STOPPED


def test_gate_with_priority_event_is_read_first() -> None:
    """Rule 7.10, with the priority of rule 7.3."""
    left, right = gate_of(1, exclusive=3), gate_of(1, exclusive=3, first_index=1)
    union, calls = UnionInputGate([left, right]), list[str]()
    union.priority_availability.when_available(lambda: calls.append("priority"))
    remote(left).on_buffer(data(), 0, 0)
    remote(right).on_buffer(data(), 0, 0)
    remote(right).on_buffer(barrier(UNALIGNED), 1, 0)
    assert calls == ["priority"]
    first = union.poll()
    assert first is not None
    assert (first.channel.index, first.received.data_type.has_priority, first.more_available) == (1, True, True)
    assert not union.priority_availability.available
    indexes = [polled.channel.index for _ in range(2) if (polled := union.poll()) is not None]
    assert (indexes, union.poll(), union.is_available) == ([0, 1], None, False)


def test_gate_with_second_priority_event_stays_first() -> None:
    left, right = gate_of(1), gate_of(2, first_index=1)
    union = UnionInputGate([left, right])
    remote(left).on_buffer(data(), 0, 0)
    for index in (0, 1):
        remote(right, index).on_buffer(barrier(UNALIGNED), 0, 0)
    polled = [union.poll() for _ in range(3)]
    assert [found.channel.index for found in polled if found is not None] == [1, 2, 0]


def test_gates_with_data_are_queued_when_united() -> None:
    left, right = gate_of(1), gate_of(1, first_index=1)
    remote(right).on_buffer(data(), 0, 0)
    union = UnionInputGate([left, right])
    assert union.is_available
    polled = union.poll()
    assert polled is not None
    assert polled.channel.index == 1
