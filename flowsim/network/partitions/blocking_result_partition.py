"""An output that is read when it is complete. Flink: BoundedBlockingResultPartition (rule 5.43)."""

from __future__ import annotations

from pathlib import Path

from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.partitions.blocking_subpartition import BoundedBlockingSubpartition, BoundedData
from flowsim.network.partitions.result_partition import PartitionOwner, ResultPartition, SubpartitionConnector
from flowsim.network.partitions.result_subpartition import ResultSubpartition


class BlockingResultPartition(ResultPartition):
    """Spills its buffers to ``file`` and can be read, as often as wanted, once finished. Flink: BoundedBlockingResultPartition.

    The writer uses it as any other partition: same bytes, same buffers, events between them. Its pool needs one segment per
    subpartition and one more, has no upper bound and no overdraft (rule 5.41); its edge has buffer timeout -1 (rule 5.44).

    ``connector`` is called for every subpartition at the end of ``finish``: connect the reader then, with
    ``view = subpartition.create_read_view(...)``, and have it look at ``view`` by itself, since nothing new will ever come.
    ``release`` removes the file once all readers have released their views; ``discard`` at once. One of the two must be called
    at every end of a job. ``file`` must not exist; it is made with the first buffer.
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
        super().__init__(subpartitions, pool, owner, connector=connector, trace=trace, first_channel=first_channel)
        self._data = BoundedData(file)

    def _create_subpartition(self, index: int) -> ResultSubpartition:
        return BoundedBlockingSubpartition(index, self._data, self, self._trace, channel_id=self._first_channel + index)

    def _on_created(self, subpartition: ResultSubpartition) -> None:
        """It cannot be read yet."""

    def flush(self, index: int) -> None:
        """Ends the open buffers of the subpartition and spills them."""
        self._finish_broadcast()
        self._finish_unicast_of(index)
        super().flush(index)

    def flush_all(self) -> None:
        """Ends all open buffers and spills them."""
        self._finish_broadcast()
        self._finish_all_unicast()
        super().flush_all()

    def finish(self) -> None:
        """As of every partition; from now on it can be read."""
        super().finish()
        if self._connector is not None:
            for index in range(self.count):
                self._connector.on_subpartition_created(self.subpartition(index))

    def release(self) -> None:
        super().release()
        self.on_subpartition_unused()

    def discard(self) -> None:
        """The job is over: the file goes, even if it has readers. Harmless when it is gone."""
        self.release()
        self._data.close()

    @property
    def spilled_bytes(self) -> int:
        """Bytes written to the file so far."""
        return self._data.size_bytes

    def on_subpartition_unused(self) -> None:
        """A subpartition is released and has no reader: the file goes with the last one."""
        for found in self._subpartitions:
            if isinstance(found, BoundedBlockingSubpartition) and not found.is_unused:
                return
        self._data.close()
