"""One subpartition whose buffers go to a file. Flink: BoundedBlockingSubpartition (rule 5.43)."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.facts.kinds import BufferKind, BufferSide
from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.buffer import EventBuffer, wire_size
from flowsim.network.buffers.buffer_builder import EventConsumer
from flowsim.network.misuse import IllegalState
from flowsim.network.partitions.blocking_subpartition_reader import BoundedBlockingSubpartitionReader, SpilledBuffer
from flowsim.network.partitions.bounded_data import BoundedData
from flowsim.network.partitions.result_subpartition import REFUSED, UNLIMITED_SIZE, Consumer
from flowsim.streamrecord.events import EndOfPartitionEvent, Event


class BoundedBlockingSubpartition:
    """Writes each buffer to the file when the next one comes, and can be read, often, once finished.

    Flink: BoundedBlockingSubpartition. The buffer being filled is the only one in memory. Data are read as they were cut into
    buffers, events stay events between them.
    """

    __slots__ = (
        "index",
        "finished",
        "released",
        "data_buffers",
        "_data",
        "_spilled",
        "_current",
        "_readers",
        "_trace",
        "_channel_id",
        "_on_unused",
    )

    def __init__(
        self,
        index: int,
        data: BoundedData,
        on_unused: Callable[[], None],
        trace: TaskTrace | None = None,
        channel_id: int = -1,
    ) -> None:
        self.index = index
        self.finished = False
        self.released = False
        self.data_buffers = 0
        """Data buffers in the file: the backlog of a new reader."""
        self._data = data
        self._on_unused = on_unused
        """Called when it is released and nobody reads it any more."""
        self._spilled: list[SpilledBuffer] = []
        self._current: Consumer | None = None
        self._readers: list[BoundedBlockingSubpartitionReader] = []
        self._trace = trace
        self._channel_id = channel_id

    def add(self, consumer: Consumer) -> int:
        """Takes the buffer and spills the one before; REFUSED after the end. No reader wishes for a size."""
        if self.finished:
            consumer.close()
            return REFUSED
        self.flush()
        self._current = consumer
        return UNLIMITED_SIZE

    def add_event(self, event: Event, has_priority: bool | None = None) -> int:
        """As ``add``: there is nothing to overtake."""
        return self.add(EventConsumer(event, bool(has_priority)))

    def flush(self) -> None:
        """Spills what is in memory, full or not."""
        if self._current is not None:
            consumer, self._current = self._current, None
            self._spill(consumer)

    def finish(self) -> int:
        """EndOfPartition is the last thing written; from now on it can be read. Raises IllegalState the second time."""
        if self.released or self.finished:
            raise IllegalState(f"subpartition {self.index} is finished or released already")
        self.finished = True
        self.flush()
        self._spill(EventConsumer(EndOfPartitionEvent()))
        return wire_size(EndOfPartitionEvent())

    def create_read_view(
        self, on_data_available: Callable[[], None], on_priority_event: Callable[[int], None] | None = None
    ) -> BoundedBlockingSubpartitionReader:
        """One more reader, from the first buffer on (rule 5.43). Raises IllegalState before the end or after release.

        All its data are there: nobody is told, ask ``is_available``.
        """
        if self.released or not self.finished:
            raise IllegalState(f"subpartition {self.index} can be read when it is finished and until it is released")
        reader = BoundedBlockingSubpartitionReader(
            self._data, tuple(self._spilled), self.data_buffers, self._on_reader_released
        )
        self._readers.append(reader)
        return reader

    def release(self) -> None:
        """The file may go once the last reader is through."""
        if self.released:
            return
        self.released = self.finished = True
        if self._current is not None:
            self._current.close()
            self._current = None
        self._check_unused()

    def _on_reader_released(self, reader: BoundedBlockingSubpartitionReader) -> None:
        if reader in self._readers:
            self._readers.remove(reader)
            self._check_unused()

    @property
    def is_unused(self) -> bool:
        return self.released and not self._readers

    @property
    def queued_buffers(self) -> int:
        """What is in a file is not queued."""
        return 0

    def _check_unused(self) -> None:
        if self.is_unused:
            self._on_unused()

    def _spill(self, consumer: Consumer) -> None:
        piece = consumer.build()
        if isinstance(piece, EventBuffer):
            self._spilled.append(SpilledBuffer(0, 0, piece))
        else:
            self._spilled.append(SpilledBuffer(self._data.write(piece.payload), len(piece), None))
            self.data_buffers += 1
        if self._trace is not None:
            kind = BufferKind.DATA if piece.event is None else BufferKind.EVENT
            number = len(self._spilled) - 1
            self._trace.buffer(self._channel_id, BufferSide.QUEUED, number, kind, -1, self.data_buffers, -1)
        piece.recycle()
        consumer.close()
