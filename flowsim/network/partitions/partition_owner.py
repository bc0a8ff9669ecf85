"""What a result partition needs of its task and of the cluster."""

from __future__ import annotations

from typing import Protocol

from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.partitions.result_subpartition import ResultSubpartition


class PartitionOwner(Protocol):
    """The task that writes to a partition; a Protocol, because the network does not import the tasks."""

    def wait_for_buffer(self, pool: LocalBufferPool) -> None:
        """Blocks the task until ``pool`` may have a segment again (rule 5.42)."""


class SubpartitionConnector(Protocol):
    """Connects the channels of the consumers; a Protocol, because the cluster, which implements it, is not imported."""

    def on_subpartition_created(self, subpartition: ResultSubpartition) -> None:
        """Called when ``subpartition`` can be read for the first time."""
