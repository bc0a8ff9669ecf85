"""Chooses the idlest channel for each record. Flink: AdaptiveLoadBasedRecordWriter (rules 2.3, 2.4)."""

from __future__ import annotations

from typing import ClassVar

from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.partitions.result_subpartition import UNLIMITED_SIZE
from flowsim.network.writers.partitioner import StreamPartitioner, Value


class AdaptiveLoadBasedPartitioner(StreamPartitioner):
    """Replaces the round robin of a record writer; it compares at most ``max_traverse_size`` channels.

    The load of a channel is the number of buffers that it uses and, where these are equal, the bytes in its queue. Only
    records move ``last``. Flink: AdaptiveLoadBasedRecordWriter.
    """

    __slots__ = ("last", "_partition", "_max_traverse_size")
    name: ClassVar[str] = "ADAPTIVE"

    def __init__(self, partition: ResultPartition, max_traverse_size: int) -> None:
        super().__init__(partition.count)
        self.last = -1
        """The channel of the last record."""
        self._partition = partition
        self._max_traverse_size = min(max_traverse_size, partition.count)

    def select_channel(self, value: Value) -> int:
        self.last = channel = self.idlest_channel()
        return channel

    def idlest_channel(self) -> int:
        """Returns the first channel after the last one that uses no buffer, or else the one with the least load."""
        partition = self._partition
        best, best_buffers, best_bytes = 0, UNLIMITED_SIZE, 0
        for step in range(1, self._max_traverse_size + 1):
            candidate = (self.last + step) % self.channels
            buffers = partition.pool.buffers_of(candidate)
            # A channel without a buffer is chosen whatever it has queued: events need no buffer (rule 2.4).
            in_queue = partition.subpartition(candidate).bytes_in_queue if buffers else 0
            partition.pool.report_compared(candidate, in_queue)
            if buffers == 0:
                return candidate
            if buffers < best_buffers or (buffers == best_buffers and in_queue < best_bytes):
                best, best_buffers, best_bytes = candidate, buffers, in_queue
        return best
