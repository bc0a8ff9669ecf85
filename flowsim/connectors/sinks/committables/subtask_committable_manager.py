"""The committables of one writer for one checkpoint. Flink: SubtaskCommittableManager."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from flowsim.connectors.sinks.committables.commit_request import CommitRequest, CommitRequestState
from flowsim.errors import InvariantViolation

C = TypeVar("C")


class SubtaskCommittableManager(Generic[C]):
    """Collects the committables that a summary announced (rules 12.30, 12.33). Flink: SubtaskCommittableManager."""

    __slots__ = ("subtask", "checkpoint_id", "expected_committables", "requests")

    def __init__(
        self, subtask: int, checkpoint_id: int, expected_committables: int, requests: Iterable[CommitRequest[C]] = ()
    ) -> None:
        self.subtask = subtask
        self.checkpoint_id = checkpoint_id
        self.expected_committables = expected_committables
        self.requests = list(requests)

    def add(self, committable: C) -> None:
        """Adds a committable. Raises InvariantViolation if all were received (rule 12.33)."""
        if len(self.requests) >= self.expected_committables:
            raise InvariantViolation("Already received all committables.")
        self.requests.append(CommitRequest(committable))

    @property
    def has_received_all(self) -> bool:
        return len(self.requests) == self.expected_committables

    @property
    def is_finished(self) -> bool:
        """Returns True if no request is pending."""
        return not self.pending_requests

    @property
    def pending_requests(self) -> list[CommitRequest[C]]:
        """The requests to pass to the committer, in the order of their arrival."""
        return [request for request in self.requests if not request.is_finished]

    @property
    def successful_committables(self) -> list[C]:
        return [request.committable for request in self.requests if request.state is CommitRequestState.COMMITTED]

    def merge(self, other: SubtaskCommittableManager[C]) -> SubtaskCommittableManager[C]:
        """Returns the manager of both; the requests of ``other`` follow (rule 12.133)."""
        if other.subtask != self.subtask:
            raise InvariantViolation("Different subtasks.")
        if other.checkpoint_id != self.checkpoint_id:
            raise InvariantViolation("Different checkpoints.")
        expected = self.expected_committables + other.expected_committables
        return SubtaskCommittableManager(self.subtask, self.checkpoint_id, expected, self.requests + other.requests)

    def copy(self) -> SubtaskCommittableManager[C]:
        requests = [request.copy() for request in self.requests]
        return SubtaskCommittableManager(self.subtask, self.checkpoint_id, self.expected_committables, requests)

    def __repr__(self) -> str:
        return (
            f"SubtaskCommittableManager(requests={self.requests}, expected_committables={self.expected_committables}, "
            f"checkpoint_id={self.checkpoint_id}, subtask={self.subtask})"
        )
