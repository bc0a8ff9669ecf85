"""Combines all network outputs of one task. Flink: RecordWriterDelegate (rule 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from flowsim.network.partitions.result_partition import ResultPartition


class RecordWriterDelegate(Protocol):
    """Reports whether all outputs of a task can take a record without blocking. Flink: RecordWriterDelegate."""

    @property
    def available(self) -> bool: ...

    def when_available(self, callback: Callable[[], None]) -> None:
        """Calls back once, when all outputs that are full now have become available; at once if none is full."""


class NonRecordWriter:
    """A task without network outputs: always available. Flink: NonRecordWriter."""

    __slots__ = ()

    available = True

    def when_available(self, callback: Callable[[], None]) -> None:
        callback()


class SingleRecordWriter:
    """A task with one network output. Flink: SingleRecordWriter."""

    __slots__ = ("_pool",)

    def __init__(self, output: ResultPartition) -> None:
        self._pool = output.pool

    @property
    def available(self) -> bool:
        return self._pool.available

    def when_available(self, callback: Callable[[], None]) -> None:
        if self._pool.available:
            callback()
        else:
            self._pool.on_available.append(callback)


class MultipleRecordWriters:
    """A task with several network outputs; it is available if all of them are. Flink: MultipleRecordWriters."""

    __slots__ = ("_pools",)

    def __init__(self, outputs: Sequence[ResultPartition]) -> None:
        self._pools = tuple(output.pool for output in outputs)

    @property
    def available(self) -> bool:
        return all(pool.available for pool in self._pools)

    def when_available(self, callback: Callable[[], None]) -> None:
        """Waits for the outputs that are full now (CompletableFuture.allOf), not for those that fill up later."""
        full = [pool for pool in self._pools if not pool.available]
        if not full:
            callback()
            return
        left = len(full)

        def one_less() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                callback()

        for pool in full:
            pool.on_available.append(one_less)


def record_writer_delegate(outputs: Sequence[ResultPartition]) -> RecordWriterDelegate:
    """Returns the delegate for the number of outputs: none, one or several (rule 5.1)."""
    if not outputs:
        return NonRecordWriter()
    return SingleRecordWriter(outputs[0]) if len(outputs) == 1 else MultipleRecordWriters(outputs)
