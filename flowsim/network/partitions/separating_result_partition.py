"""The output of a task whose elements leave one by one, in the order space of exploration."""

from __future__ import annotations

from flowsim.network.partitions.result_partition import ResultPartition


class SeparatingResultPartition(ResultPartition):
    """Finishes its open buffers at each flush.

    With buffer timeout 0, Flink flushes after each element, and a reader can take the buffer between two of them: a record and
    the watermark after it, or two records of one ``flat_map``. Here a task's output is read when its batch has ended, and
    elements in one buffer would never be read apart.
    """

    __slots__ = ()

    def flush(self, index: int) -> None:
        self._finish_broadcast()
        self._finish_unicast_of(index)
        super().flush(index)

    def flush_all(self) -> None:
        self._finish_broadcast()
        self._finish_all_unicast()
        super().flush_all()
