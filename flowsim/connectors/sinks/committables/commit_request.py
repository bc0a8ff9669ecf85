"""A request to commit one committable, and its outcome. Flink: CommitRequestImpl, CommitRequestState."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Generic, Protocol, TypeVar

from flowsim.errors import FlowsimError

C = TypeVar("C")
"""A committable: what a committer needs to make written data visible, e.g. the name of a staged file."""


class CommitFailed(FlowsimError):
    """A committer failed for an unknown reason, or did not commit after all retries; the task fails (rule 12.131)."""


class CommitRequestState(Enum):
    """The state of a request. Flink: CommitRequestState."""

    RECEIVED = "RECEIVED"
    RETRY = "RETRY"
    FAILED = "FAILED"
    COMMITTED = "COMMITTED"

    @property
    def is_final(self) -> bool:
        """Returns True if the request is not passed to a committer again."""
        return self in (CommitRequestState.FAILED, CommitRequestState.COMMITTED)


class CommitRequest(Generic[C]):
    """One committable on its way through a committer (rule 12.131). Flink: CommitRequestImpl.

    A committer that signals nothing has committed it.
    """

    __slots__ = ("committable", "number_of_retries", "state")

    def __init__(
        self, committable: C, number_of_retries: int = 0, state: CommitRequestState = CommitRequestState.RECEIVED
    ) -> None:
        self.committable: C = committable
        self.number_of_retries: int = number_of_retries
        self.state: CommitRequestState = state

    @property
    def is_finished(self) -> bool:
        return self.state.is_final

    def signal_failed_with_known_reason(self, error: BaseException) -> None:
        """Drops the committable: the data is lost, and the job goes on."""
        self.state = CommitRequestState.FAILED

    def signal_failed_with_unknown_reason(self, error: BaseException) -> None:
        """Raises CommitFailed, which fails the task."""
        self.state = CommitRequestState.FAILED
        raise CommitFailed(f"Failed to commit {self.committable}") from error

    def retry_later(self) -> None:
        """Passes the committable to the committer again, after the others of this call."""
        self.state = CommitRequestState.RETRY
        self.number_of_retries += 1

    def update_and_retry_later(self, committable: C) -> None:
        """As ``retry_later``, with another committable, e.g. after a part was committed."""
        self.committable = committable
        self.retry_later()

    def signal_already_committed(self) -> None:
        """Ends the request: an earlier attempt committed it."""
        self.state = CommitRequestState.COMMITTED

    def select(self) -> None:
        """Called before the request is passed to the committer."""
        self.state = CommitRequestState.RECEIVED

    def set_committed_if_no_error(self) -> None:
        """Called after the committer returned."""
        if self.state is CommitRequestState.RECEIVED:
            self.state = CommitRequestState.COMMITTED

    def copy(self) -> CommitRequest[C]:
        return CommitRequest(self.committable, self.number_of_retries, self.state)

    def __repr__(self) -> str:
        return (
            f"CommitRequest(state={self.state.name}, number_of_retries={self.number_of_retries}, "
            f"committable={self.committable!r})"
        )


class Committer(Protocol[C]):
    """Makes committables visible, once each: a commit may be repeated after a failure. Flink: Committer."""

    def commit(self, requests: Sequence[CommitRequest[C]]) -> None:
        """Commits the requests, and signals those that it did not commit. An exception fails the task."""

    def close(self) -> None:
        """Called exactly once after the committer was created, also after a failure."""
