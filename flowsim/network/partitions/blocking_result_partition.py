"""A result partition that is read after it is complete. Flink: BoundedBlockingResultPartition (rule 5.43)."""

from __future__ import annotations

from pathlib import Path

from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.channel_state_writer import ChannelStateWriter
from flowsim.network.partitions.blocking_subpartition import BoundedBlockingSubpartition, BoundedData
from flowsim.network.partitions.partition_owner import PartitionOwner, SubpartitionConnector
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.partitions.result_subpartition import ResultSubpartition


class BlockingResultPartition(ResultPartition):
    """Spills its buffers to ``file``; after ``finish`` it can be read any number of times.

    Flink: BoundedBlockingResultPartition. The writer uses it like any other partition: bytes, buffers and events are
    the same. Its pool needs one segment per subpartition plus one, and has no upper bound and no overdraft (rule 5.41).
    Its edge has buffer timeout -1 (rule 5.44).

    ``connector`` is called for every subpartition at the end of ``finish``. It connects the reader with ``view =
    subpartition.create_read_view(...)``; the reader must then poll ``view`` without a notification, because no data
    arrives later. ``release`` removes the file when all readers have released their views; ``discard`` removes it at
    once. Every end of a job must call one of the two. ``file`` must not exist; the first buffer creates it. A flush
    finishes the open buffers and spills them.
    """

    __slots__ = ("_data",)

    def __init__(
        self,
        subpartitions: int,
        pool: LocalBufferPool,
        owner: PartitionOwner,
        file: Path,
        *,
        connector: SubpartitionConnector | None = None,
        trace: TaskTrace | None = None,
        first_channel: int = 0,
    ) -> None:
        super().__init__(
            subpartitions,
            pool,
            owner,
            connector=connector,
            finishes_at_flush=True,
            trace=trace,
            first_channel=first_channel,
        )
        self._data = BoundedData(file)

    def _create_subpartition(self, index: int) -> ResultSubpartition:
        return BoundedBlockingSubpartition(index, self._data, self, self._trace, channel_id=self._first_channel + index)

    def _on_created(self, subpartition: ResultSubpartition) -> None:
        """Does nothing: the subpartition cannot be read yet."""

    def set_channel_state_writer(self, writer: ChannelStateWriter, partition: int) -> None:
        """Does nothing: the data is complete before it is read."""

    def await_all_data_processed(self) -> None:
        """Does nothing: the partition is read after its task has ended."""

    def finish(self) -> None:
        """Finishes the partition; from now on it can be read."""
        super().finish()
        if self._connector is not None:
            for index in range(self.count):
                self._connector.on_subpartition_created(self.subpartition(index))

    def release(self) -> None:
        super().release()
        self.on_subpartition_unused()

    def discard(self) -> None:
        """Removes the file at the end of the job, even if it has readers. Does nothing if the file does not exist."""
        self.release()
        self._data.close()

    @property
    def spilled_bytes(self) -> int:
        """Number of bytes written to the file so far."""
        return self._data.size_bytes

    def on_subpartition_unused(self) -> None:
        """Called when a released subpartition has no reader; removes the file if this applies to all subpartitions."""
        for subpartition in self._subpartitions:
            if isinstance(subpartition, BoundedBlockingSubpartition) and not subpartition.is_unused:
                return
        self._data.close()
