"""What a sink writer sends to the committer: a summary, then its committables. Flink: CommittableMessage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from flowsim.errors import InvariantViolation

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


def record_of(message: CommittableMessage[object]) -> tuple[object, ...]:
    """Returns the record that carries a message to a committer, in the same task or over the network."""
    if isinstance(message, CommittableSummary):
        return (message.checkpoint_id, message.subtask, message.number_of_subtasks, message.number_of_committables)
    return (message.checkpoint_id, message.subtask, message.committable)


def message_of(record: object) -> CommittableMessage[object]:
    """Returns the message in a record of ``record_of``."""
    match record:
        case (int(checkpoint_id), int(subtask), int(number_of_subtasks), int(number_of_committables)):
            return CommittableSummary(subtask, number_of_subtasks, checkpoint_id, number_of_committables)
        case (int(checkpoint_id), int(subtask), committable):
            return CommittableWithLineage(committable, checkpoint_id, subtask)
    raise InvariantViolation(f"expected a message of a sink writer, got {record!r:.100}")
