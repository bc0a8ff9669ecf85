"""PartitionRequestQueue and its readers send what the real ones sent (rules 6.9-6.16), as far as there are no barriers."""

from __future__ import annotations

from typing import Any

from golden import cases
from polled import buffer_type

from flowsim.network.buffer import MemorySegment
from flowsim.network.buffer_builder import BufferBuilder
from flowsim.network.subpartition import Buffer, PipelinedSubpartition
from flowsim.network.view_reader import PartitionRequestQueue, ViewReader
from flowsim.streamrecord.events import EndOfData, StopMode


class Wire:
    """The receiving end of one channel: notes what arrives on the connection."""

    def __init__(self, channel: int, sent: list[list[Any]]) -> None:
        self.channel = channel
        self.sent = sent

    def on_buffer(self, buffer: Buffer, sequence_number: int, backlog: int) -> None:
        self.sent.append(["buffer", self.channel, len(buffer), buffer_type(buffer.event), sequence_number, backlog])
        buffer.recycle()

    def on_sender_backlog(self, backlog: int) -> None:
        self.sent.append(["backlog", self.channel, backlog])


class Play:
    """One connection with a reader per subpartition."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.buffer_size = case["buffer_size"]
        self.sent: list[list[Any]] = []
        self.queue = PartitionRequestQueue()
        self.builders: list[BufferBuilder | None] = [None] * case["channels"]
        self.subpartitions = [
            PipelinedSubpartition(index, zero_exclusive_buffers=case["exclusive_buffers"] == 0)
            for index in range(case["channels"])
        ]
        self.readers = [
            ViewReader(subpartition, Wire(subpartition.index, self.sent), case["initial_credit"], 0, None)
            for subpartition in self.subpartitions
        ]
        for subpartition, reader in zip(self.subpartitions, self.readers, strict=True):
            subpartition.create_read_view(lambda reader=reader: self.queue.notify(reader))  # type: ignore[misc]

    def play(self, command: list[Any]) -> int | None:
        name, channel = command[0], command[1]
        subpartition, builder = self.subpartitions[channel], self.builders[channel]
        if name == "add":
            builder = self.builders[channel] = BufferBuilder(MemorySegment(self.buffer_size), lambda segment: None)
            builder.append_and_commit(bytes(command[2]))
            assert subpartition.add(builder.create_consumer_from_beginning())
            return 2**31 - 1
        if name == "append" and builder is not None:
            return builder.append_and_commit(bytes(command[2]))
        if name == "finish_buffer" and builder is not None:
            builder.finish()
            builder.close()
            self.builders[channel] = None
        elif name == "flush":
            subpartition.flush()
        elif name == "add_event":
            assert subpartition.add_event(EndOfData(StopMode.DRAIN))
        elif name == "add_credit":
            self.readers[channel].add_credit(command[2])
            self.queue.notify(self.readers[channel])
        elif name != "state":
            raise AssertionError(f"unknown command {command}")
        return None

    def observed(self, command: list[Any]) -> dict[str, Any]:
        self.sent.clear()
        return {
            "res": self.play(command), "err": None, "sent": list(self.sent),
            "credits": [reader.credits for reader in self.readers],
            "queued": [len(s.buffers) for s in self.subpartitions],
            "registered": [reader.registered for reader in self.readers],
        }  # fmt: skip


def test_every_command_without_barriers_sends_what_flink_sent() -> None:
    """A case is followed up to the first barrier."""
    commands = whole = 0
    for case in cases("component/credit_sender"):
        play = Play(case)
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            if command[0] == "add_aligned_barrier":
                break
            assert play.observed(command) == expected, (case["id"], commands, command)
            commands += 1
        else:
            whole += 1
    assert (commands, whole) == (9_063, 246)
