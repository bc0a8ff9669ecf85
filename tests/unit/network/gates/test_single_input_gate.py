"""The order of a gate's channels, its priority events and its end (rules 7.1 to 7.9)."""

from __future__ import annotations

import pytest

from flowsim.network.buffers.buffer import EventBuffer
from flowsim.network.errors import InputGateClosed
from flowsim.network.gates.input_gate import EndOfDataStatus
from flowsim.network.gates.single_input_gate import SingleInputGate, is_outdated
from flowsim.streamrecord.events import EndOfData, EndOfPartitionEvent, StopMode
from tests.support.barriers import UNALIGNED
from tests.support.network import Recycled
from tests.support.operators.receiving import barrier, data, gate_of, remote, sent_back


def order_of(gate: SingleInputGate) -> list[int]:
    """The channels that are read until nothing is left."""
    order = []
    while (polled := gate.poll()) is not None:
        order.append(polled.channel.index)
    return order


def test_buffers_arriving_at_closed_gate_are_recycled() -> None:
    """Also on a channel that is used for the first time after that."""
    sender, gate = Recycled(), gate_of(2, exclusive=1, floating=1)
    remote(gate, 0).on_buffer(data(sender=sender), 0, 5)
    gate.close()
    for number in range(1, 5):
        remote(gate, 0).on_buffer(data(sender=sender), number, 5)
    for number in range(3):
        remote(gate, 1).on_buffer(data(sender=sender), number, 5)
        remote(gate, 1).on_sender_backlog(3)
    assert len(sender.segments) == 8
    assert gate.queued_buffers == 0


def test_channels_are_read_round_robin() -> None:
    """Rule 7.3."""
    gate = gate_of(3, exclusive=3)
    for index in (0, 1, 2):
        for number in range(index + 1):
            remote(gate, index).on_buffer(data(bytes([index, number])), number, 0)
    order = []
    while (polled := gate.poll()) is not None:
        order.append(tuple(polled.received.payload))
    assert order == [(0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (2, 2)]


def test_gate_ends_when_every_channel_ended() -> None:
    """Rules 7.6, 7.7, 7.13."""
    gate = gate_of(2)
    for index in (0, 1):
        remote(gate, index).on_buffer(EventBuffer(EndOfData(StopMode.DRAIN)), 0, 0)
    gate.poll()
    assert gate.end_of_data_status() is EndOfDataStatus.NOT_END_OF_DATA
    gate.poll()
    assert gate.end_of_data_status() is EndOfDataStatus.DRAINED
    for index in (0, 1):
        assert not gate.finished
        remote(gate, index).on_buffer(EventBuffer(EndOfPartitionEvent()), 1, 0)
        gate.poll()
    assert (gate.finished, gate.is_available, gate.poll()) == (True, True, None)


def test_one_channel_stopped_without_drain_stops_gate() -> None:
    """Rule 7.7."""
    gate = gate_of(2)
    remote(gate, 0).on_buffer(EventBuffer(EndOfData(StopMode.NO_DRAIN)), 0, 0)
    remote(gate, 1).on_buffer(EventBuffer(EndOfData(StopMode.DRAIN)), 0, 0)
    gate.poll()
    gate.poll()
    assert gate.end_of_data_status() is EndOfDataStatus.STOPPED


def test_poll_reports_whether_more_is_queued() -> None:
    """Rule 7.4."""
    gate = gate_of(2)
    remote(gate, 0).on_buffer(data(), 0, 0)
    remote(gate, 1).on_buffer(data(), 0, 0)
    first, second = gate.poll(), gate.poll()
    assert first is not None
    assert second is not None
    assert (first.more_available, second.more_available) == (True, False)
    assert not gate.is_available


def test_channel_with_priority_event_is_read_first_and_queued_once() -> None:
    """Rules 7.1, 7.3: it stands in the queue once."""
    gate = gate_of(3)
    for index in range(3):
        remote(gate, index).on_buffer(data(), 0, 0)
    remote(gate, 2).on_buffer(barrier(UNALIGNED), 1, 0)
    assert order_of(gate) == [2, 0, 1, 2]


def test_last_priority_event_resets_priority_availability() -> None:
    """Rules 7.2, 7.4."""
    gate, calls = gate_of(2), list[str]()
    gate.priority_availability.when_available(lambda: calls.append("priority"))
    gate.when_available(lambda: calls.append("data"))
    for index in (0, 1):
        remote(gate, index).on_buffer(barrier(UNALIGNED), 0, 0)
    assert calls == ["priority", "data"]
    first, second = gate.poll(), gate.poll()
    assert first is not None
    assert second is not None
    assert (first.more_priority_events, second.more_priority_events) == (True, False)
    assert not gate.priority_availability.available


def test_late_notification_of_read_priority_event_is_ignored() -> None:
    """Rule 7.5."""
    gate = gate_of(1)
    channel = remote(gate)
    channel.on_buffer(barrier(UNALIGNED), 0, 0)
    gate.poll()
    gate.notify_priority_event(channel, 0)
    assert (gate.is_available, gate.priority_availability.available) == (False, False)
    gate.notify_priority_event(channel, 1)
    assert gate.priority_availability.available


@pytest.mark.parametrize(
    ("number", "last", "outdated"),
    [
        (0, -(2**31), False),
        (3, 3, True),
        (2, 3, True),
        (4, 3, False),
        (-(2**31), 2**31 - 1, False),
        (2**31 - 1, -(2**31), True),
        (-1, 5, True),
        (5, -1, False),
    ],
)
def test_sequence_number_comparison_wraps_around(number: int, last: int, outdated: bool) -> None:
    """Rule 7.5: after the greatest 32-bit number comes the least."""
    assert is_outdated(number, last) is outdated


def test_ended_channel_is_never_queued_again() -> None:
    """Rules 7.1, 7.6: what waited behind its end is not read."""
    gate = gate_of(2)
    channel = remote(gate)
    channel.on_buffer(EventBuffer(EndOfPartitionEvent()), 0, 0)
    channel.on_buffer(EventBuffer(EndOfData(StopMode.DRAIN)), 1, 0)
    ended = gate.poll()
    assert ended is not None
    assert ended.more_available
    gate.notify_channel_non_empty(channel)
    gate.notify_priority_event_force(channel)
    assert (gate.poll(), channel.released) == (None, True)


def test_finished_gate_stays_available_and_empty() -> None:
    """Rules 7.6, 7.8: so that the poll after the last event happens, after closing, too."""
    gate = gate_of(1)
    remote(gate).on_buffer(EventBuffer(EndOfPartitionEvent()), 0, 0)
    last = gate.poll()
    assert last is not None
    assert not last.more_available
    gate.close()
    assert (gate.is_available, gate.poll(), gate.poll()) == (True, None, None)


def test_polling_closed_unfinished_gate_is_refused() -> None:
    """Rule 7.8."""
    gate = gate_of(1)
    gate.close()
    with pytest.raises(InputGateClosed):
        gate.poll()


def test_size_is_not_announced_while_senders_wait_for_stored_data() -> None:
    """Rules 6.24, 12.92: Flink's RecoveredInputChannel ignores it."""
    gate = gate_of(1)
    gate.await_recovery()
    gate.announce_buffer_size(6)
    assert (gate.announced_size_bytes, sent_back(remote(gate))) == (None, [])
    gate.request_partitions()
    gate.announce_buffer_size(6)
    assert gate.announced_size_bytes == 6
