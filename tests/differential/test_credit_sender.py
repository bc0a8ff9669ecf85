"""PartitionRequestQueue with its readers beside the real ones, on fast and on slow wires (rules 5.26 to 5.29, 6.9 to 6.16)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis.stateful import initialize, precondition, rule
from hypothesis.strategies import booleans, data, integers, sampled_from

from flowsim.network.buffers.buffer import FREEING, MemorySegment
from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.connections.partition_request_queue import PartitionRequestQueue
from flowsim.network.connections.view_reader import BufferResponse, CreditBasedSequenceNumberingViewReader
from flowsim.network.errors import IllegalState
from flowsim.network.outbox import Outbox
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_subpartition import Buffer
from tests.support.flink.machine import Differential, DifferentialMachine
from tests.support.flink.named_events import BARRIERS, event_of

SEGMENT = 8
channels = integers(0, 2)


class NoReceiver:
    """The wire keeps what it takes: nothing arrives anywhere."""

    def on_buffer(self, buffer: Buffer, sequence_number: int, backlog: int) -> None:
        raise AssertionError("the wire delivers nothing")

    def on_sender_backlog(self, backlog: int) -> None:
        raise AssertionError("the wire delivers nothing")


class Wire:
    """Notes what is sent; on a slow one a buffer is written when the test says so."""

    def __init__(self, slow: bool) -> None:
        self.slow = slow
        self.is_writable = True
        self.sent: list[str] = []
        self.unwritten: list[CreditBasedSequenceNumberingViewReader] = []

    def send(self, reader: CreditBasedSequenceNumberingViewReader, response: BufferResponse) -> None:
        buffer = response.buffer
        self.sent.append(
            f"buffer {reader.channel_id} {buffer.data_type.value} {len(buffer)} number {response.sequence_number} "
            f"backlog {response.backlog}"
        )
        buffer.recycle()
        if self.slow:
            self.unwritten.append(reader)
        else:
            reader.queue.write_and_flush_next()

    def send_backlog(self, reader: CreditBasedSequenceNumberingViewReader, backlog: int) -> None:
        self.sent.append(f"backlog {reader.channel_id} {backlog}")


class CreditSenderMachine(DifferentialMachine):
    subject = "PartitionRequestQueue and its readers"
    errors: ClassVar[dict[str, type[BaseException]]] = {"IllegalStateException": IllegalState}

    @initialize(count=integers(1, 3), credit=integers(0, 3), exclusive=booleans(), slow=booleans())
    def connect(self, count: int, credit: int, exclusive: bool, slow: bool) -> None:
        credit = credit if exclusive else 0
        self.count = count
        self.wire = Wire(slow)
        self.queue = PartitionRequestQueue(self.wire, Outbox())
        self.subpartitions = [PipelinedSubpartition(i, zero_exclusive_buffers=not exclusive) for i in range(count)]
        self.readers = [
            CreditBasedSequenceNumberingViewReader(self.queue, NoReceiver(), credit, index, None)
            for index in range(count)
        ]
        self.builders: list[BufferBuilder | None] = [None] * count
        for subpartition, reader in zip(self.subpartitions, self.readers, strict=True):
            self.queue.notify_reader_created(reader)
            reader.request_subpartition(subpartition)
        self.real = self.flink.java.org.apache.flink.runtime.io.network.netty.Senders(
            count, int(exclusive) * 2, credit, slow
        )
        self.checkpoints = 0

    def do(self, call: tuple[object, ...], ours: Callable[[], Any]) -> None:
        answer, state = self.flink.calls(self.real, call, "state")
        self.same(answer, ours)
        assert self.state() == state

    def state(self) -> str:
        parts = [*self.wire.sent, f"on the wire {len(self.wire.unwritten)}"]
        self.wire.sent.clear()
        for reader, subpartition in zip(self.readers, self.subpartitions, strict=True):
            registered = " registered" if reader.registered else ""
            parts.append(f"credits {reader.credits} queued {subpartition.queued_buffers}{registered}")
        return "; ".join(parts)

    def is_open(self, channel: int) -> bool:
        return self.builders[channel % self.count] is not None

    @rule(channel=channels, size=integers(0, SEGMENT), finished=booleans())
    def add(self, channel: int, size: int, finished: bool) -> None:
        channel %= self.count
        if self.is_open(channel):
            self.do(("finishBuffer", channel), lambda: self._finish_buffer(channel))
        else:
            self.do(("add", channel, size, finished), lambda: self._add(channel, size, finished))

    def _add(self, channel: int, size: int, finished: bool) -> int:
        builder = self.builders[channel] = BufferBuilder(MemorySegment(SEGMENT), FREEING)
        builder.append_and_commit(bytes(size))
        answer = self.subpartitions[channel].add(builder.create_consumer_from_beginning())
        if finished:
            self._finish_buffer(channel)
        return answer

    def _finish_buffer(self, channel: int) -> None:
        builder = self.builders[channel]
        assert builder is not None
        builder.finish()
        builder.close()
        self.builders[channel] = None

    @rule(channel=channels, size=integers(1, 4))
    def append(self, channel: int, size: int) -> None:
        channel %= self.count
        builder = self.builders[channel]
        if builder is not None:
            self.do(("append", channel, size), lambda: builder.append_and_commit(bytes(size)))

    @rule(channel=channels)
    def flush(self, channel: int) -> None:
        channel %= self.count
        self.do(("flush", channel), lambda: self.subpartitions[channel].flush())

    @rule(channel=channels, name=sampled_from(("drain", "cancel", *BARRIERS, *BARRIERS)))
    def event(self, channel: int, name: str) -> None:
        channel %= self.count
        if self.is_open(channel):
            self.do(("finishBuffer", channel), lambda: self._finish_buffer(channel))
        self.checkpoints += 1
        event = event_of(name, self.checkpoints)
        self.do(("event", channel, name, self.checkpoints), lambda: self.subpartitions[channel].add_event(event))

    @precondition(lambda self: self.checkpoints)
    @rule(channel=channels, back=integers(0, 2))
    def timeout(self, channel: int, back: int) -> None:
        channel, checkpoint = channel % self.count, max(self.checkpoints - back, 1)
        self.do(
            ("timeout", channel, checkpoint), lambda: self.subpartitions[channel].aligned_barrier_timeout(checkpoint)
        )

    @rule(channel=channels, credit=integers(1, 3))
    def credit(self, channel: int, credit: int) -> None:
        channel %= self.count
        self.do(("credit", channel, credit), lambda: self.queue.add_credit(channel, credit))

    @rule(channel=channels, any_channel=booleans())
    def resume(self, channel: int, any_channel: bool) -> None:
        blocked = [i for i in range(self.count) if self.subpartitions[i].blocked]
        channel = channel % self.count if any_channel or not blocked else blocked[channel % len(blocked)]
        if not self.subpartitions[channel].blocked and not self.readers[channel].initial_credit:
            return  # It would void credits that a registered reader counts on, and break the connection.
        self.do(("resume", channel), lambda: self.queue.resume_consumption(channel))

    @precondition(lambda self: self.wire.unwritten)
    @rule(draw=data())
    def written(self, draw: Any) -> None:
        for _ in range(draw.draw(integers(1, len(self.wire.unwritten)))):
            self.do(("written",), self.wire.unwritten.pop(0).queue.write_and_flush_next)

    @precondition(lambda self: self.wire.slow)
    @rule(writable=booleans())
    def writable(self, writable: bool) -> None:
        def set_writable() -> None:
            changed, self.wire.is_writable = self.wire.is_writable != writable, writable
            if changed and writable:
                self.queue.write_and_flush_next()

        self.do(("writable", writable), set_writable)

    @precondition(lambda self: self.checkpoints > 4)
    @rule(channel=channels)
    def finish(self, channel: int) -> None:
        channel %= self.count
        if self.is_open(channel):
            self.do(("finishBuffer", channel), lambda: self._finish_buffer(channel))
        self.do(("finish", channel), lambda: self._finish(channel))

    def _finish(self, channel: int) -> None:
        self.subpartitions[channel].finish()


def test_sent_messages_equal_flinks(differential: Differential) -> None:
    differential.run(CreditSenderMachine, examples=60, steps=40)
