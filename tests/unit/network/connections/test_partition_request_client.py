"""The messages of a channel to its sender, and the path of a credit between two tasks (rules 6.5, 6.8, 6.9, 6.24)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from types import FrameType

import pytest

from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.connections.partition_request_client import PartitionRequestClient
from flowsim.network.connections.partition_request_queue import PartitionRequestQueue
from flowsim.network.connections.transport import ImmediateTransport
from flowsim.network.connections.view_reader import CreditBasedSequenceNumberingViewReader
from flowsim.network.connections.wire import Wire
from flowsim.network.gates.input_channel import Received
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.outbox import Outbox
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.streamrecord.events import CheckpointBarrier
from tests.support.barriers import ALIGNED
from tests.support.network import Channels, Returned
from tests.support.operators.receiving import data
from tests.support.pure import in_pure_python

EXCLUSIVE = 2
UPSTREAM = [
    "ReceivedBuffer.recycle",
    "BufferManager.recycle",
    "RemoteInputChannel.notify_buffer_available",
    "PartitionRequestClient.notify_credit_available",
]
SEND = ["PartitionRequestClient.send_credit", "RemoteInputChannel.get_and_reset_unannounced_credit"]
ARRIVAL = [
    "PartitionRequestQueue.add_credit",
    "CreditBasedSequenceNumberingViewReader.add_credit",
    "PartitionRequestQueue.enqueue_available_reader",
]


class Timer:
    def cancel(self) -> None:
        """It is not fired any more: the test fires timers itself."""


class Timers:
    """Timers that the test fires."""

    now_ns = 0

    def __init__(self) -> None:
        self.due: list[Callable[[], None]] = []

    def call_at_ns(self, when_ns: int, callback: Callable[[], None], *, origin: Hashable = None) -> Timer:
        self.due.append(callback)
        return Timer()


class Connection:
    """One remote channel between two tasks, with the outbox of each; ``timed``: its messages take a wire."""

    def __init__(self, exclusive: int = EXCLUSIVE, timed: bool = False) -> None:
        self.sender, self.receiver, self.timers = Outbox(), Outbox(), Timers()
        self.queue = PartitionRequestQueue(ImmediateTransport(), self.sender)
        wire = Wire(self.timers, 1, None) if timed else None
        self.client = PartitionRequestClient(self.queue, self.receiver, wire)
        pool = NetworkBufferPool(4, 8).create_buffer_pool(1, 4)

        def create(gate: SingleInputGate, index: int) -> RemoteInputChannel:
            return RemoteInputChannel(gate, index, 5, exclusive, self.client, Returned(), None)

        self.gate = SingleInputGate(1, pool, Channels(create))
        channel = self.gate.channel(0)
        assert isinstance(channel, RemoteInputChannel)
        self.channel = channel
        self.subpartition = PipelinedSubpartition(0)
        self.reader = CreditBasedSequenceNumberingViewReader(self.queue, channel, exclusive, 5, None)
        self.queue.notify_reader_created(self.reader)
        self.reader.request_subpartition(self.subpartition)

    def receive(self) -> Received:
        """A buffer that takes an exclusive segment while no floating one is free: recycling it makes a credit."""
        while self.gate.pool.request_segment() is not None:
            continue
        self.channel.on_buffer(data(), 0, 0)
        polled = self.gate.poll()
        assert polled is not None
        return polled.received


def calls_of(action: Callable[[], None]) -> list[str]:
    """The functions of the network that ``action`` calls, in their order; constructors left out."""
    called: list[str] = []

    def profile(frame: FrameType, event: str, function: object) -> None:
        if event == "call" and "flowsim/network" in frame.f_code.co_filename.replace("\\", "/"):
            called.append(frame.f_code.co_qualname)

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return [name for name in called if not name.endswith("__init__")]


def until_queued(called: list[str]) -> list[str]:
    """Up to the call that queues the reader; what it sends then is no part of the way of the credit."""
    return called[: called.index(ARRIVAL[-1]) + 1]


@in_pure_python
def test_credit_takes_nine_calls_from_recycled_buffer_to_sender_queue() -> None:
    """As docs/architecture.md lists them."""
    connection = Connection()
    called = until_queued(calls_of(connection.receive().recycle))
    assert called == UPSTREAM + SEND + ARRIVAL
    assert len(called) == 9


@in_pure_python
def test_credit_of_running_batch_is_sent_at_its_end() -> None:
    """Decision D4: each outbox holds it once."""
    connection = Connection()
    connection.receiver.sealed = connection.sender.sealed = True
    assert calls_of(connection.receive().recycle) == [*UPSTREAM, "Outbox.hold_upstream"]
    held = ["Outbox.publish", "AddCreditMessage.publish", *SEND, *ARRIVAL, "Outbox.hold_reader"]
    assert calls_of(connection.receiver.publish) == held
    assert connection.reader.credits == EXCLUSIVE + 1
    published = calls_of(connection.sender.publish)
    assert published[:3] == ["Outbox.publish", "CreditBasedSequenceNumberingViewReader.publish", ARRIVAL[-1]]


@in_pure_python
def test_credit_over_wire_takes_three_more_calls() -> None:
    connection = Connection(timed=True)
    assert calls_of(connection.receive().recycle) == [*UPSTREAM, *SEND, "Wire.send"]
    assert connection.reader.credits == EXCLUSIVE
    arrived = until_queued(calls_of(connection.timers.due.pop()))
    assert arrived == ["Wire._on_arrival", "AddCredit.arrive", *ARRIVAL]


@pytest.mark.parametrize("timed", [False, True])
def test_credits_are_combined_until_message_is_written(timed: bool) -> None:
    """Rule 6.8."""
    connection = Connection(timed=timed)
    connection.receiver.sealed = True
    connection.channel.on_sender_backlog(1)
    connection.channel.on_sender_backlog(3)
    connection.receiver.publish()
    for arrive in connection.timers.due:
        arrive()
    assert (connection.reader.credits, len(connection.timers.due)) == (EXCLUSIVE + 3, int(timed))


@pytest.mark.parametrize("timed", [False, True])
def test_resume_and_buffer_size_reach_subpartition_in_order(timed: bool) -> None:
    """Rules 6.13, 6.24: without exclusive buffers the credits that the receiver has given away are void."""
    connection = Connection(exclusive=0, timed=timed)
    connection.queue.add_credit(5, 1)
    connection.subpartition.add_event(CheckpointBarrier(1, 1, ALIGNED))
    assert (connection.subpartition.blocked, connection.reader.credits) == (True, 1)
    connection.receiver.sealed = True
    connection.channel.resume_consumption()
    connection.gate.announce_buffer_size(6)
    connection.gate.announce_buffer_size(4)
    assert connection.subpartition.blocked
    connection.receiver.publish()
    for arrive in connection.timers.due:
        arrive()
    assert (connection.subpartition.blocked, connection.reader.credits) == (False, 0)
    assert connection.subpartition.buffer_size_bytes == 4
