"""What a sink writer sends to the committer: a summary, then its committables. Flink: CommittableMessage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

C = TypeVar("C")

END_OF_INPUT: Final = 2**63 - 1
"""The checkpoint id of committables that belong to no checkpoint. Flink: CommittableMessage.EOI."""


@dataclass(frozen=True, slots=True)
class CommittableSummary:
    """The number of committables that one writer sends for one checkpoint. Flink: CommittableSummary."""

    subtask: int
    number_of_subtasks: int
    """The parallelism of the writer."""
    checkpoint_id: int
    """END_OF_INPUT if there is none."""
    number_of_committables: int


@dataclass(frozen=True, slots=True)
class CommittableWithLineage(Generic[C]):
    """A committable, with the writer and the checkpoint that it belongs to. Flink: CommittableWithLineage."""

    committable: C
    checkpoint_id: int
    subtask: int


CommittableMessage = CommittableSummary | CommittableWithLineage[C]
"""A record from a writer to its committer."""
