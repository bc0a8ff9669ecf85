"""The exchange mode of a result partition. Flink: ResultPartitionType (rule 5.43)."""

from __future__ import annotations

from enum import StrEnum


class ResultPartitionType(StrEnum):
    """The supported exchange modes of an edge. Flink: ResultPartitionType."""

    PIPELINED_BOUNDED = "pipelined_bounded"
    """The partition is read while it is written. Its pool is bounded, so a slow reader slows the writer down."""
    PIPELINED = "pipelined"
    """The partition is read while it is written; only the network memory limits its pool."""
    BLOCKING = "blocking"
    """The partition is spilled to files, and readable only when finished."""

    @property
    def is_bounded(self) -> bool:
        """True if the output pool has an upper bound (rule 5.41)."""
        return self is ResultPartitionType.PIPELINED_BOUNDED

    @property
    def is_pipelined(self) -> bool:
        """True if the partition can be read while it is written; only then may a buffer timeout be set (rule 5.44)."""
        return self is not ResultPartitionType.BLOCKING

    @property
    def has_overdraft(self) -> bool:
        """True if the output pool may use overdraft buffers (rule 5.41)."""
        return self.is_pipelined
