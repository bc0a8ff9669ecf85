"""A task can run when all its outputs can take a record (rule 5.1)."""

from __future__ import annotations

from flowsim.network.buffers.buffer import MemorySegment
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.writers.record_writer_delegate import (
    MultipleRecordWriters,
    NonRecordWriter,
    SingleRecordWriter,
    record_writer_delegate,
)


class Output:
    """An output with a pool of one segment."""

    def __init__(self) -> None:
        self.pool: LocalBufferPool = NetworkBufferPool(1, 8).create_buffer_pool(1, 1)
        self._taken: list[MemorySegment] = []

    def fill(self) -> None:
        segment = self.pool.request_segment()
        assert segment is not None
        self._taken.append(segment)

    def drain(self) -> None:
        self.pool.recycle(self._taken.pop())


def test_number_of_outputs_decides_delegate_class() -> None:
    outputs = [Output(), Output()]
    assert isinstance(record_writer_delegate([]), NonRecordWriter)
    assert isinstance(record_writer_delegate(outputs[:1]), SingleRecordWriter)
    assert isinstance(record_writer_delegate(outputs), MultipleRecordWriters)


def test_delegate_without_outputs_is_always_available() -> None:
    called: list[str] = []
    writers = record_writer_delegate([])
    assert writers.available
    writers.when_available(lambda: called.append("now"))
    assert called == ["now"]


def test_single_output_calls_back_when_available_again() -> None:
    called: list[str] = []
    output = Output()
    writers = record_writer_delegate([output])
    output.fill()
    assert not writers.available
    writers.when_available(lambda: called.append("free"))
    assert called == []
    output.drain()
    assert (writers.available, called) == (True, ["free"])
    writers.when_available(lambda: called.append("at once"))
    assert called == ["free", "at once"]


def test_several_outputs_are_available_when_all_are() -> None:
    outputs = [Output(), Output(), Output()]
    writers = record_writer_delegate(outputs)
    assert writers.available
    outputs[1].fill()
    assert not writers.available
    outputs[1].drain()
    assert writers.available


def test_several_outputs_call_back_after_each_was_available_since() -> None:
    """As a future of all futures: it is not taken back when the first fills up again."""
    called: list[str] = []
    outputs = [Output(), Output(), Output()]
    writers = record_writer_delegate(outputs)
    outputs[0].fill()
    outputs[2].fill()
    writers.when_available(lambda: called.append("all"))
    outputs[0].drain()
    outputs[0].fill()
    outputs[1].fill()
    assert called == []
    outputs[2].drain()
    assert (called, writers.available) == (["all"], False)


def test_available_outputs_call_back_at_once() -> None:
    called: list[str] = []
    record_writer_delegate([Output(), Output()]).when_available(lambda: called.append("now"))
    assert called == ["now"]
