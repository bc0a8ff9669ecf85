"""PartitionRequestQueue and its readers send what the real ones sent (rules 5.26 to 5.29, 6.9 to 6.16)."""

from __future__ import annotations

from typing import Any

from flowsim.network.buffers.buffer import FREEING, MemorySegment
from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.connections.partition_request_queue import PartitionRequestQueue
from flowsim.network.connections.transport import ImmediateTransport
from flowsim.network.connections.view_reader import CreditBasedSequenceNumberingViewReader
from flowsim.network.outbox import Outbox
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_subpartition import UNLIMITED_SIZE, Buffer
from flowsim.streamrecord.events import CheckpointBarrier, EndOfData, StopMode
from tests.support.barriers import ALIGNED
from tests.support.flink.golden import cases


class Wire:
    """The receiving end of one channel: notes what arrives on the connection."""

    def __init__(self, channel: int, sent: list[list[Any]]) -> None:
        self.channel = channel
        self.sent = sent

    def on_buffer(self, buffer: Buffer, sequence_number: int, backlog: int) -> None:
        self.sent.append(["buffer", self.channel, len(buffer), buffer.data_type.value, sequence_number, backlog])
        buffer.recycle()

    def on_sender_backlog(self, backlog: int) -> None:
        self.sent.append(["backlog", self.channel, backlog])


class Play:
    """One connection with a reader per subpartition."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.buffer_size = case["buffer_size"]
        self.sent: list[list[Any]] = []
        self.queue = PartitionRequestQueue(ImmediateTransport(), Outbox())
        self.builders: list[BufferBuilder | None] = [None] * case["channels"]
        self.subpartitions = [
            PipelinedSubpartition(index, zero_exclusive_buffers=case["exclusive_buffers"] == 0)
            for index in range(case["channels"])
        ]
        self.readers = [
            CreditBasedSequenceNumberingViewReader(
                self.queue, Wire(index, self.sent), case["initial_credit"], index, None
            )
            for index in range(case["channels"])
        ]
        for subpartition, reader in zip(self.subpartitions, self.readers, strict=True):
            self.queue.notify_reader_created(reader)
            reader.request_subpartition(subpartition)

    def play(self, command: list[Any]) -> int | None:
        name, channel = command[0], command[1]
        subpartition, builder = self.subpartitions[channel], self.builders[channel]
        if name == "add":
            builder = self.builders[channel] = BufferBuilder(MemorySegment(self.buffer_size), FREEING)
            builder.append_and_commit(bytes(command[2]))
            return subpartition.add(builder.create_consumer_from_beginning())
        if name == "append" and builder is not None:
            return builder.append_and_commit(bytes(command[2]))
        if name == "finish_buffer" and builder is not None:
            builder.finish()
            builder.close()
            self.builders[channel] = None
        elif name == "flush":
            subpartition.flush()
        elif name == "add_event":
            assert subpartition.add_event(EndOfData(StopMode.DRAIN)) == UNLIMITED_SIZE
        elif name == "add_aligned_barrier":
            assert subpartition.add_event(CheckpointBarrier(1, 1, ALIGNED)) == UNLIMITED_SIZE
        elif name == "resume":
            self.queue.resume_consumption(channel)
        elif name == "add_credit":
            self.queue.add_credit(channel, command[2])
        elif name != "state":
            raise AssertionError(f"unknown command {command}")
        return None

    def observed(self, command: list[Any]) -> dict[str, Any]:
        self.sent.clear()
        return {
            "res": self.play(command),
            "err": None,
            "sent": list(self.sent),
            "credits": [reader.credits for reader in self.readers],
            "queued": [len(s.buffers) for s in self.subpartitions],
            "registered": [reader.registered for reader in self.readers],
        }


def test_sent_messages_equal_flinks() -> None:
    """Barriers block and resume among them, and channels without exclusive buffers."""
    commands = 0
    for case in cases("component/credit_sender"):
        play = Play(case)
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            assert play.observed(command) == expected, (case["id"], number, command)
            commands += 1
    assert commands == 11_967
